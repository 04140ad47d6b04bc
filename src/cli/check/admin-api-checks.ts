/** Checks of `gateway check` for the admin API: its listeners, its policy, and the issuers whose tokens it trusts. */
import { openPeerCredentials } from "../../server/admin/index.ts";
import { type IssuerOptions, probeIssuer } from "../../server/auth/index.ts";
import type { NodeFile } from "../../server/core/config/index.ts";
import { issuersOf, readPolicy, resolveBeside } from "../../server/node/index.ts";
import { isExposed } from "../sign-in/index.ts";
import { auditDirOf } from "./directory-checks.ts";
import type { Answer, Probe, ProbeLimits } from "./probe.ts";

const note = (message: string): Answer => ({ verdict: "note", subject: "node", message });

/** Describes the listeners of the admin API and where their audit trail is kept. `path`: of the node file. */
export function listenerAnswers(nodeFile: NodeFile, path: string): readonly Answer[] {
  const auditDir = auditDirOf(nodeFile, path);
  const key =
    auditDir === undefined
      ? "signs it with a temporary key, and does not store it, since neither `audit.dir` nor `cluster.data_dir` is set"
      : `and stores its key and journal in ${auditDir}`;
  const trail = note(`writes its audit trail to stderr, ${key}`);
  const { listen = "", local_socket: socket, issuers = [], policy_file: policy } = nodeFile.admin ?? {};
  if (socket === undefined && listen === "") return [note("serves no admin API, since `admin` is not set"), trail];
  const callers =
    issuers.length === 0
      ? "every caller on this machine, without a token"
      : `callers with a token from ${issuers.map(({ issuer }) => issuer).join(", ")}`;
  return [
    ...(socket === undefined ? [] : [note(`serves the admin API on the socket ${resolveBeside(path, socket)}`)]),
    ...(listen === "" ? [] : [note(`serves the admin API on ${listen} in plain HTTP to ${callers}`)]),
    ...(isOpenListener(listen)
      ? [note(`other machines can reach ${listen}, and tokens travel unencrypted: put a TLS proxy in front of it`)]
      : []),
    note(
      policy === undefined
        ? "permits every operation to every admin caller, since `admin.policy_file` is not set"
        : `authorizes admin callers with the policy ${resolveBeside(path, policy)}`,
    ),
    trail,
  ];
}

/** Returns whether other machines can reach the listener. */
function isOpenListener(listen: string): boolean {
  if (listen === "") return false;
  const url = `http://${listen.startsWith(":") ? "0.0.0.0" : ""}${listen}`;
  return !URL.canParse(url) || isExposed(new URL(url));
}

/** Compiles the admin policy as the gateway does. `path`: of the node file. */
export async function policyAnswers(nodeFile: NodeFile, path: string): Promise<readonly Answer[]> {
  const subject = "admin policy";
  const policy = await readPolicy(nodeFile, path);
  if (policy === undefined) return [];
  if (policy.kind === "refused") return policy.problems.map((message) => ({ verdict: "fail", subject, message }));
  return [
    { verdict: "ok", subject, message: `${policy.file} compiles` },
    ...policy.warnings.map((message): Answer => ({ verdict: "note", subject, message })),
  ];
}

/** Loads the native library of the admin socket, as the gateway does. */
export async function libraryAnswers({ admin }: NodeFile): Promise<readonly Answer[]> {
  if (admin?.local_socket === undefined) return [];
  const subject = "library koffi";
  try {
    await openPeerCredentials();
    return [{ verdict: "ok", subject, message: "loaded; it identifies the callers of the admin socket" }];
  } catch (error) {
    return [{ verdict: "fail", subject, message: error instanceof Error ? error.message : String(error) }];
  }
}

/** Returns one probe per issuer, which fetches its discovery document and keys. */
export function issuerProbes(
  nodeFile: NodeFile,
  path: string,
  env: Readonly<Record<string, string | undefined>>,
): readonly Probe[] {
  return issuersOf(nodeFile, path, env).map((issuer) => ({
    subject: `issuer ${issuer.name}`,
    run: (limits) => askIssuer(issuer, limits),
  }));
}

async function askIssuer(issuer: IssuerOptions, limits: ProbeLimits): Promise<Answer> {
  const subject = `issuer ${issuer.name}`;
  const probe = await probeIssuer(issuer, limits);
  if (probe.kind === "failed") return { verdict: "fail", subject, message: `${probe.step}: ${probe.message}` };
  const { jwksUrl, keys } = probe;
  const plain = isExposed(new URL(jwksUrl))
    ? "; it is fetched in plain HTTP, so others can change it on the way: use https"
    : "";
  return { verdict: "ok", subject, message: `${jwksUrl} has ${keys === 1 ? "1 key" : `${keys} keys`}${plain}` };
}
