/**
 * `gateway check`: the configuration compiled as the gateway compiles it, then each provider asked to answer. It starts
 * no listener and writes nothing. One line an answer; status 1 when any of them is a failure.
 */
import { request as undiciRequest } from "undici";
import { type LoadedNode, loadNode, STAND_IN } from "../server/node/index.ts";
import { doorAnswers, issuerProbes, policyAnswers } from "./check-admin.ts";
import type { Answer } from "./check-answer.ts";
import type { FlagsOf } from "./flags.ts";
import { type ExitStatus, type Io, resolvePath } from "./io.ts";
import type { checkFlags } from "./specs.ts";

type Provider = LoadedNode["compiled"]["snapshot"]["providers"][number];
type Channel = Provider["channels"][number];

/** Probes under way at once. */
const CONCURRENT_PROBES = 8;

export async function run(options: FlagsOf<typeof checkFlags>, _: readonly string[], io: Io): Promise<ExitStatus> {
  const path = resolvePath(io, options.config);
  const loaded = await loadNode(path, io.env);
  if (loaded.kind === "refused") {
    for (const problem of loaded.problems) print(io, { verdict: "fail", subject: "configuration", words: problem });
    return 1;
  }
  const { node } = loaded;
  const { providers } = node.compiled.snapshot;
  print(io, { verdict: "ok", subject: "configuration", words: `${path}: ${count(providers.length, "provider")}` });
  for (const warning of node.warnings) print(io, { verdict: "note", subject: "configuration", words: warning });
  for (const name of node.unseen) {
    const words = "in no file of `secrets_dir`: the cluster must hold it, sealed";
    print(io, { verdict: "note", subject: `secret ${name}`, words });
  }
  let failures = 0;
  const tell = (answers: readonly Answer[]): void => {
    for (const answer of answers) {
      if (answer.verdict === "fail") failures++;
      print(io, answer);
    }
  };
  tell(nodeAnswers(node));
  tell(await policyAnswers(node.nodeFile, path));
  if (options.offline) return failures === 0 ? 0 : 1;

  const limits = { timeoutMs: options.timeout, signal: io.signal };
  const probes = [
    ...providers.flatMap((provider) =>
      provider.channels.map((channel) => () => ask(provider, channel, options.timeout, io)),
    ),
    ...issuerProbes(node.nodeFile, path).map((probe) => () => probe(limits)),
  ];
  for (let at = 0; at < probes.length; at += CONCURRENT_PROBES) {
    tell(await Promise.all(probes.slice(at, at + CONCURRENT_PROBES).map((probe) => probe())));
    if (io.signal.aborted) return 130;
  }
  return failures === 0 ? 0 : 1;
}

/** What the node half leaves out, as what the gateway will do. */
function nodeAnswers({ nodeFile, deployment, compiled }: LoadedNode): readonly Answer[] {
  const { defaultProvider } = compiled.snapshot;
  const note = (words: string): Answer => ({ verdict: "note", subject: "node", words });
  return [
    note(`serves plain HTTP on ${nodeFile.listen}: no \`tls\``),
    note(nodeFile.metrics_listen === "none" ? "serves no metrics" : `serves metrics on ${nodeFile.metrics_listen}`),
    ...doorAnswers(nodeFile),
    note("hands out no address of its own: no `public_url`"),
    ...(nodeFile.deployment === undefined
      ? [note("serves once its deployment has arrived through the admin API: no `deployment`")]
      : []),
    note(
      deployment.document?.auth === undefined
        ? "admits every request without a credential: no `auth`"
        : "asks every request for a credential",
    ),
    note(
      defaultProvider === undefined
        ? "refuses models that no provider claims, and requests without a model: no default provider"
        : `sends what no provider claims to ${defaultProvider.name}`,
    ),
  ];
}

/** The models list: cheap, side-effect free, and present on nearly every server of either dialect. */
async function ask(provider: Provider, channel: Channel, timeoutMs: number, io: Io): Promise<Answer> {
  const subject = `provider ${provider.name}${provider.channels.length > 1 ? ` (${channel.id})` : ""}`;
  const url = channel.origin + channel.pathOf("/v1/models");
  const headers = [...channel.credential, ...provider.addedHeaders];
  if (`${url}\n${headers.join("\n")}`.includes(STAND_IN)) {
    return { verdict: "note", subject, words: "not asked: what it is asked with is sealed in the cluster" };
  }
  if (channel.dialect === "messages") headers.push("anthropic-version", "2023-06-01");
  const startedAt = performance.now();
  try {
    const answer = await undiciRequest(url, {
      headers,
      signal: AbortSignal.any([io.signal, AbortSignal.timeout(timeoutMs)]),
    });
    await answer.body.dump({ limit: 1 << 20 });
    const words = `${url} answered ${answer.statusCode} in ${Math.round(performance.now() - startedAt)} ms`;
    return judge(subject, words, answer.statusCode, channel.credential.length > 0);
  } catch (error) {
    const { code, name, message } = error as NodeJS.ErrnoException;
    const why = name === "TimeoutError" ? `no answer within ${timeoutMs} ms` : (code ?? message);
    return { verdict: "fail", subject, words: `${url}: ${why}` };
  }
}

function judge(subject: string, words: string, status: number, hasCredential: boolean): Answer {
  if (status === 401 || status === 403) {
    return hasCredential
      ? { verdict: "fail", subject, words: `${words}: it refuses the credential` }
      : { verdict: "ok", subject, words: `${words}: it wants a credential, which clients bring themselves` };
  }
  if (status >= 500) return { verdict: "fail", subject, words };
  if (status === 404 || status === 405) return { verdict: "ok", subject, words: `${words}: it lists no models` };
  return { verdict: status >= 400 && status !== 429 ? "fail" : "ok", subject, words };
}

function print(io: Io, { verdict, subject, words }: Answer): void {
  io.stdout.write(`${verdict.padEnd(4)}  ${subject}: ${words}\n`);
}

function count(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}
