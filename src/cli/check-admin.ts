/** What `gateway check` asks about the admin plane: its doors, its policy, and the issuers whose tokens are trusted. */
import { type IssuerOptions, probeIssuer } from "../server/auth/index.ts";
import type { NodeFile } from "../server/core/config/index.ts";
import { issuersOf, readPolicy } from "../server/node/index.ts";
import type { Answer } from "./check-answer.ts";

const note = (words: string): Answer => ({ verdict: "note", subject: "node", words });

/** The doors, as the gateway will open them. */
export function doorAnswers({ admin }: NodeFile): readonly Answer[] {
  const { listen = "", local_socket: socket, issuers = [], policy_file: policy } = admin ?? {};
  if (socket === undefined && listen === "") return [note("opens no admin door: no `admin`")];
  const callers =
    issuers.length === 0
      ? "whoever reaches this machine's loopback, without a token"
      : `callers with a token of ${issuers.map(({ issuer }) => issuer).join(", ")}`;
  return [
    ...(socket === undefined ? [] : [note(`serves the admin API on the socket ${socket}`)]),
    ...(listen === "" ? [] : [note(`serves the admin API on ${listen}, plain HTTP, to ${callers}`)]),
    note(
      policy === undefined
        ? "permits every operation to every admin caller: no `policy_file`"
        : `decides over admin callers by ${policy}`,
    ),
  ];
}

/** Compiled as the gateway compiles it; `path`: of the node file. */
export async function policyAnswers(nodeFile: NodeFile, path: string): Promise<readonly Answer[]> {
  const subject = "admin policy";
  const policy = await readPolicy(nodeFile, path);
  if (policy === undefined) return [];
  if (policy.kind === "refused") return policy.problems.map((words) => ({ verdict: "fail", subject, words }));
  return [
    { verdict: "ok", subject, words: `${policy.file} compiles` },
    ...policy.warnings.map((words): Answer => ({ verdict: "note", subject, words })),
  ];
}

/** Discovery and keys of each issuer. */
export function issuerProbes(nodeFile: NodeFile, path: string): readonly ((limits: ProbeLimits) => Promise<Answer>)[] {
  return issuersOf(nodeFile, path).map((issuer) => (limits) => askIssuer(issuer, limits));
}

export interface ProbeLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

async function askIssuer(issuer: IssuerOptions, limits: ProbeLimits): Promise<Answer> {
  const subject = `issuer ${issuer.name}`;
  const probe = await probeIssuer(issuer, limits);
  if (probe.kind === "failed") return { verdict: "fail", subject, words: `${probe.step}: ${probe.message}` };
  const { jwksUrl, keys } = probe;
  const plain = jwksUrl.startsWith("http:") ? "; in plain HTTP, which anybody on the way can change" : "";
  return { verdict: "ok", subject, words: `${jwksUrl} has ${keys === 1 ? "1 key" : `${keys} keys`}${plain}` };
}
