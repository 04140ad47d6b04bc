/**
 * Checks of `gateway check` for models that are not in the cache: asks the hub what a start would download, and
 * downloads nothing. Source: design decisions, section 12.
 */
import { anySignal } from "../../base/index.ts";
import { ModelError, openModelStore } from "../../server/models/index.ts";
import { type LoadedNode, modelCacheDirectory } from "../../server/node/index.ts";
import { buildOf } from "../build.ts";
import { sizeText } from "../progress-line.ts";
import type { Answer, ProbeLimits } from "./probe.ts";

/** Checks the models. `path`: of the node file. Rejects with the signal's reason. */
export async function absentModelAnswers(
  { awaits, nodeFile }: LoadedNode,
  path: string,
  { timeoutMs, signal }: ProbeLimits,
): Promise<readonly Answer[]> {
  if (awaits.length === 0) return [];
  const directory = await modelCacheDirectory(nodeFile, path);
  const time = { now: Date.now, monotonic: () => performance.now() };
  const store = openModelStore({ directory, userAgent: `gateway/${buildOf().version}`, ...time });
  try {
    const answers = awaits.map(async ({ model, parts }): Promise<Answer> => {
      const subject = `model ${model.name}`;
      try {
        const limit = anySignal([signal, AbortSignal.timeout(timeoutMs)]);
        const { files } = await store.resolve(model, parts, limit);
        const size = sizeText(files.reduce((sum, file) => sum + file.size, 0));
        return {
          verdict: "fail",
          subject,
          message: `not in ${directory}: the gateway would download ${size} at its start`,
        };
      } catch (error) {
        signal.throwIfAborted();
        const isSlow = error instanceof DOMException && error.name === "TimeoutError";
        if (!isSlow && !(error instanceof ModelError)) throw error;
        const reason = isSlow ? "the hub did not answer in time" : (error as Error).message;
        return { verdict: "fail", subject, message: `not in ${directory}, and it cannot be downloaded: ${reason}` };
      }
    });
    return await Promise.all(answers);
  } finally {
    await store.close();
  }
}
