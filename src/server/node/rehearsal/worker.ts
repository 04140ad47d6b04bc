/** The thread of a rehearsal: compiles both configurations, judges, answers and ends. */
import { workerData } from "node:worker_threads";
import { threadCaller } from "../../../base/index.ts";
import { unpack } from "../../core/rehearsal/index.ts";
import { type ConfigurationSide, type RehearsalResult, rehearse } from "../../rehearsal/index.ts";
import { loadGuardrails, loadRules } from "../../snapshot/index.ts";
import { compileSources } from "../configuration/compile-sources.ts";
import { fromTransferredInputs, type TransferredInputs } from "../worker/transferred-inputs.ts";
import type { RehearsalAnswer, RehearsalQuestion } from "./rehearsal-protocol.ts";

const { post: answer } = threadCaller<never, RehearsalAnswer>();

try {
  answer({ kind: "done", result: await run(workerData as RehearsalQuestion) });
} catch (error) {
  answer({ kind: "fault", message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}

async function run(question: RehearsalQuestion): Promise<RehearsalResult> {
  const { env, nodes, keys, buckets, now, since, timeoutMs } = question;
  const startedAt = performance.now();
  const texts = [question.inForce, question.proposed].flatMap(({ sources }) => sources.map(({ text }) => text));
  const rules = await loadRules(texts);
  const guardrails = await loadGuardrails(texts, { preparesDetectorsLazily: true });
  const sideOf = (inputs: TransferredInputs): ConfigurationSide => {
    const { compiled, deployment } = compileSources({ ...fromTransferredInputs(inputs), env, rules, guardrails });
    if (compiled.kind === "refused" || deployment.asWritten === undefined) {
      throw new Error("a configuration that compiles on the main thread does not compile here");
    }
    const snapshot = compiled.kind === "compiled" ? compiled.snapshot : compiled.rest;
    return { snapshot, document: deployment.asWritten, awaitsModels: compiled.kind === "awaits" };
  };
  const [inForce, proposed] = [sideOf(question.inForce), sideOf(question.proposed)];
  const records = nodes.map(({ node, since: covered, chunks }) => ({
    node,
    since: covered,
    requests: chunks.flatMap((chunk) => [...unpack(chunk)]),
  }));
  const input = { inForce, proposed, nodes: records, keys: new Map(keys), buckets, now, since };
  let result: RehearsalResult | undefined;
  for (const slice of rehearse(input)) {
    result = slice;
    if (performance.now() - startedAt > timeoutMs) break;
  }
  if (result === undefined) throw new Error("nothing was judged");
  return result;
}
