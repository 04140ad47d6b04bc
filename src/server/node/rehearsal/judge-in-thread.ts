/** Runs one rehearsal in a thread, which is terminated if it takes too long or its caller leaves. */
import { openThread, withResolvers } from "../../../base/index.ts";
import { refusal } from "../../admin/index.ts";
import type { RehearsalResult } from "../../rehearsal/index.ts";
import type { RehearsalAnswer, RehearsalQuestion } from "./rehearsal-protocol.ts";

/** Heap limits in MiB. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
/** Time beyond the judging limit, in milliseconds, for loading and between two slices. */
const GRACE_MS = 10_000;

const MODULE = {
  source: new URL("./worker.ts", import.meta.url),
  built: new URL("./server/node/rehearsal/worker.js", import.meta.url),
};

/** Judges a rehearsal. Rejects with `busy` if it takes too long, and with the signal's reason. */
export async function judgeInThread(question: RehearsalQuestion, signal: AbortSignal): Promise<RehearsalResult> {
  signal.throwIfAborted();
  const answered = withResolvers<RehearsalResult>();
  const thread = openThread<never, RehearsalAnswer>(
    MODULE,
    { argv: [], env: {}, stdin: false, workerData: question, resourceLimits: RESOURCE_LIMITS },
    {
      onMessage(message) {
        if (message.kind === "done") answered.resolve(message.result);
        else answered.reject(new Error(`the rehearsal failed: ${message.message}`));
      },
      onEnd: (error) => answered.reject(error ?? new Error("the thread of the rehearsal ended")),
    },
  );
  const timer = setTimeout(
    () => answered.reject(refusal("busy", "The rehearsal took too long and was stopped; ask for a shorter `since`.")),
    question.timeoutMs + GRACE_MS,
  );
  const onAbort = (): void => answered.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await answered.promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    await thread.terminate();
  }
}
