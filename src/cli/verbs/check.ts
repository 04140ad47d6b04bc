/**
 * `gateway check`: compiles the configuration as the gateway does, checks this machine and its files, then sends a test
 * request to each provider, issuer, server and agent. It writes nothing, and listens only briefly to test whether ports
 * are free. Prints one line per answer on stdout; status 1 if any of them is a failure. Source: specification document
 * 1, "gateway check".
 */
import { createInstruments, nullLog, systemClock } from "../../base/index.ts";
import { formatProblem } from "../../server/core/config/index.ts";
import { openPresenter } from "../../server/credentials/index.ts";
import { readForwardProxies } from "../../server/forward-proxy/index.ts";
import {
  issuersOf,
  type LoadedNode,
  loadNode,
  proxiedUpstreams,
  readNameServers,
  readNode,
  unprotectedCredentialWarning,
} from "../../server/node/index.ts";
import { absentModelAnswers } from "../check/absent-model-checks.ts";
import { acmeAnswers, acmeProbes } from "../check/acme-checks.ts";
import { issuerProbes, libraryAnswers, listenerAnswers, policyAnswers } from "../check/admin-api-checks.ts";
import { callerAnswers } from "../check/caller-notes.ts";
import { listenerText } from "../check/certificate-checks.ts";
import { credentialProbes } from "../check/credential-checks.ts";
import { detectorProbes } from "../check/detector-checks.ts";
import { directoryAnswers, diskDirectories } from "../check/directory-checks.ts";
import { inspectorAnswers, onlyInspects } from "../check/inspector-notes.ts";
import { localFileAnswers } from "../check/local-file-checks.ts";
import { machineAnswers } from "../check/machine-checks.ts";
import { prefilterAnswers } from "../check/matching-library-check.ts";
import { frontedProbes } from "../check/mcp-and-agent-checks.ts";
import { permissionAnswers } from "../check/permission-checks.ts";
import { poolProbes } from "../check/pool-checks.ts";
import type { Answer, Probe, ProbeLimits } from "../check/probe.ts";
import { providerProbes } from "../check/provider-checks.ts";
import { reconcileProbes } from "../check/reconcile-checks.ts";
import type { FlagsOf } from "../parse-flags.ts";
import { isWarning } from "../problem-lines.ts";
import { type ExitStatus, type Io, resolvePath } from "../process-io.ts";
import type { checkFlags } from "../verb-flags.ts";

/** Maximum number of concurrent probes. */
const CONCURRENT_PROBES = 8;
/** Maximum delay of a timer in Node.js; a longer one fires at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

type Report = (answers: readonly Answer[]) => void;

export async function run(options: FlagsOf<typeof checkFlags>, _: readonly string[], io: Io): Promise<ExitStatus> {
  const path = resolvePath(io, options.config);
  let failures = 0;
  const report: Report = (answers) => {
    for (const answer of answers) {
      if (answer.verdict === "fail") failures += 1;
      print(io, answer);
    }
  };
  const loaded = await loadNode(path, io.env);
  if (loaded.kind === "refused") {
    report(loaded.problems.map(problemAnswer));
    const { nodeFile } = await readNode(path, io.env);
    if (nodeFile !== undefined) report((await policyAnswers(nodeFile, path)).filter(({ verdict }) => verdict !== "ok"));
    return 1;
  }
  const { node } = loaded;
  report(configurationAnswers(node, path));
  report(nodeAnswers(node, path));
  report(proxyAnswers(node, io.env));
  report(await policyAnswers(node.nodeFile, path));
  report(await localFileAnswers(node.nodeFile, path, io.env));
  if (!options.offline) {
    io.watchReader();
    await checkMachine(node, path, io, report);
    await checkPeers(node, path, Math.min(options.timeout, MAX_TIMEOUT_MS), io, report);
  } else if (node.compiled.prepare !== undefined) report([UNTRIED_MODELS]);
  return failures === 0 ? 0 : 1;
}

/** Returns the summary of the compiled configuration, its warnings, and the secrets that only the cluster may have. */
function configurationAnswers(node: LoadedNode, path: string): readonly Answer[] {
  const subject = "configuration";
  const sealedElsewhere = "not in `secrets_dir`, so it must be a sealed secret of the cluster (`gateway secrets put`)";
  return [
    { verdict: "ok", subject, message: `${path}: ${contentsOf(node)}` },
    ...node.warnings.map((message): Answer => ({ verdict: "note", subject, message })),
    ...Array.from(
      node.assumedSecrets,
      (name): Answer => ({ verdict: "note", subject: `secret ${name}`, message: sealedElsewhere }),
    ),
  ];
}

/** Checks that need native libraries, model files or free ports of this machine. */
async function checkMachine(node: LoadedNode, path: string, io: Io, report: Report): Promise<void> {
  const { nodeFile } = node;
  report(await modelAnswers(node, io.signal));
  report(await directoryAnswers(nodeFile, path));
  report(await permissionAnswers(nodeFile, path));
  report(await machineAnswers(nodeFile, path, diskDirectories(nodeFile, path), io.env));
  report(await libraryAnswers(nodeFile));
  report(await prefilterAnswers(node.deployment.document));
}

/** Sends test requests to everything that the configuration names. Throws the signal's reason if it is aborted. */
async function checkPeers(node: LoadedNode, path: string, timeoutMs: number, io: Io, report: Report): Promise<void> {
  const { nodeFile } = node;
  const { providers } = node.compiled.snapshot;
  const issuers = issuersOf(nodeFile, path, io.env);
  const presenter = openPresenter({
    issuer: (name) => issuers.find((it) => it.name === name),
    env: io.env,
    clock: systemClock,
    instruments: createInstruments(),
    // The answers already contain what the log would say.
    log: nullLog,
  });
  const nameServers = readNameServers(io.env, "GATEWAY_DNS_SERVERS");
  const { proxies } = readForwardProxies(io.env);
  const probes = [
    ...providers.flatMap((provider) => providerProbes(provider, presenter, { nameServers, proxies })),
    ...providers.flatMap((provider) => poolProbes(provider, nameServers)),
    ...issuerProbes(nodeFile, path, io.env),
    ...credentialProbes(node, presenter),
    ...frontedProbes(node, presenter, proxies),
    ...detectorProbes(node, io.env),
    ...reconcileProbes(node, proxies),
    ...acmeProbes(nodeFile, { env: io.env, nameServers }),
  ];
  const limits = { timeoutMs, signal: io.signal };
  report(await absentModelAnswers(node, path, limits));
  await runProbes(probes, limits, io, (answer) => report([answer])).finally(() => presenter.close());
  // An interrupted run has no result.
  io.signal.throwIfAborted();
}

const UNTRIED_MODELS: Answer = {
  verdict: "note",
  subject: "models",
  message: "not tested: run the check without `-offline` to load models and native libraries",
};

/** Loads and runs each local model once. For a model on a server, only the tokenizer is loaded. */
async function modelAnswers({ compiled: { prepare } }: LoadedNode, signal: AbortSignal): Promise<readonly Answer[]> {
  if (prepare === undefined) return [];
  const problems = await prepare(signal);
  const message = "loaded, and each local model was run once";
  return problems.length === 0
    ? [{ verdict: "ok", subject: "models", message }]
    : problems.map(formatProblem).map(problemAnswer);
}

/** Converts a line of the loader to an answer. */
const problemAnswer = (message: string): Answer => ({
  verdict: isWarning(message) ? "note" : "fail",
  subject: "configuration",
  message,
});

/** Runs several probes concurrently, and reports the answers in the order of the probes as soon as possible. */
async function runProbes(
  probes: readonly Probe[],
  limits: ProbeLimits,
  io: Io,
  report: (answer: Answer) => void,
): Promise<void> {
  const answers = new Map<number, Answer>();
  let started = 0;
  let reported = 0;
  const next = async (): Promise<void> => {
    for (let at = started++; at < probes.length && !limits.signal.aborted; at = started++) {
      const answer = await probes[at]?.run(limits);
      if (answer === undefined || limits.signal.aborted) return;
      answers.set(at, answer);
      clearWaiting(io);
      for (let ready = answers.get(reported); ready !== undefined; ready = answers.get(reported)) {
        report(ready);
        reported += 1;
      }
      if (reported < probes.length) showWaiting(`waiting for ${probes[reported]?.subject}`, io);
    }
  };
  if (probes.length > 0) showWaiting(`waiting for ${probes[0]?.subject}`, io);
  await Promise.all(Array.from({ length: Math.min(CONCURRENT_PROBES, probes.length) }, next));
  clearWaiting(io);
}

/** Overwrites the progress line, if stderr is a terminal that supports it. */
function showWaiting(message: string, io: Io): void {
  if (io.isTerminal("stderr") && io.env["TERM"] !== "dumb") io.stderr.write(`\r\u001b[K${message}`);
}

function clearWaiting(io: Io): void {
  showWaiting("", io);
}

/** Returns notes about settings that the node file leaves out, and what the gateway then does. */
function nodeAnswers(node: LoadedNode, path: string): readonly Answer[] {
  const { nodeFile, compiled } = node;
  const { defaultProvider } = compiled.snapshot;
  const note = (message: string): Answer => ({ verdict: "note", subject: "node", message });
  const isRouting = !onlyInspects(node);
  return [
    ...inspectorAnswers(node),
    ...(isRouting ? [note(listenerText(nodeFile)), ...acmeAnswers(nodeFile)] : []),
    note(nodeFile.metrics_listen === "none" ? "serves no metrics" : `serves metrics on ${nodeFile.metrics_listen}`),
    ...listenerAnswers(nodeFile, path),
    ...(nodeFile.deployment === undefined
      ? [note("waits for its deployment document from the admin API, since `deployment` is not set")]
      : []),
    ...(isRouting
      ? [
          ...callerAnswers(compiled.snapshot.governance),
          ...[unprotectedCredentialWarning(compiled.snapshot) ?? []].flat().map(note),
          note(
            defaultProvider === undefined
              ? "refuses models that no provider lists, and requests without a model, since `default_provider` is not set"
              : `sends models that no provider lists to ${defaultProvider.name}`,
          ),
        ]
      : []),
  ];
}

/** Describes the forward proxies of the environment, and what they are used for. */
function proxyAnswers({ nodeFile, compiled, deployment }: LoadedNode, env: Io["env"]): readonly Answer[] {
  const { proxies, problems, warnings } = readForwardProxies(env);
  const { snapshot } = compiled;
  const through = proxiedUpstreams({ nodeFile, snapshot, document: deployment.document }, proxies);
  return [
    ...problems.map((message): Answer => ({ verdict: "fail", subject: "forward proxy", message })),
    ...warnings.map((message): Answer => ({ verdict: "note", subject: "forward proxy", message })),
    ...through.map(({ upstream, proxy }): Answer => {
      return { verdict: "note", subject: upstream, message: `is reached through the forward proxy ${proxy}` };
    }),
  ];
}

/** Counts the configured objects of each kind, in words. Providers are named even if there are none. */
function contentsOf({ compiled }: LoadedNode): string {
  const { providers, governance, guardrails, fronted } = compiled.snapshot;
  const { profiles, budgets, policies } = governance;
  const otherContents = [
    [profiles.length, "profile"],
    [budgets.length, "budget"],
    [policies.rules.length, "access rule"],
    [fronted.all.filter(({ kind }) => kind === "mcp").length, "MCP server"],
    [fronted.all.filter(({ kind }) => kind === "a2a").length, "agent"],
    [guardrails.inForce.detectors.length, "detector"],
    [guardrails.inForce.rules.length, "guardrail rule"],
  ] as const;
  const found = otherContents.filter(([n]) => n > 0).map(([n, noun]) => count(n, noun));
  return [count(providers.length, "provider"), ...found].join(", ");
}

function print(io: Io, { verdict, subject, message }: Answer): void {
  io.stdout.write(`${verdict.padEnd(4)}  ${subject}: ${message}\n`);
}

function count(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}
