/** Runs one rehearsal in a thread, which is terminated if it takes too long or its caller leaves. */
import { startThread } from "../../../base/index.ts";
import { refusal } from "../../admin/index.ts";
import type { RehearsalResult } from "../../rehearsal/index.ts";
import type { RehearsalAnswer, RehearsalQuestion } from "./protocol.ts";

/** Heap limits in MiB. */
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
/** Time beyond the judging limit, in milliseconds, for loading and between two slices. */
const GRACE_MS = 10_000;

const MODULE = {
  source: new URL("./worker.ts", import.meta.url),
  built: new URL("./server/node/rehearsal/worker.js", import.meta.url),
};

/** Rejects with `busy` when it takes too long, and with the signal's reason. */
export async function judgeApart(question: RehearsalQuestion, signal: AbortSignal): Promise<RehearsalResult> {
  signal.throwIfAborted();
  const worker = startThread(MODULE, {
    argv: [],
    env: {},
    stdin: false,
    workerData: question,
    resourceLimits: LIMITS,
  });
  let timer: NodeJS.Timeout | undefined;
  let abort: (() => void) | undefined;
  try {
    return await new Promise((resolve, reject) => {
      timer = setTimeout(
        () => reject(refusal("busy", "The rehearsal took too long and was stopped; ask for a shorter `since`.")),
        question.limitMs + GRACE_MS,
      );
      abort = () => reject(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      worker.on("message", (message: RehearsalAnswer) => {
        if (message.kind === "done") resolve(message.result);
        else reject(new Error(`the rehearsal failed: ${message.message}`));
      });
      worker.on("error", reject);
      worker.on("exit", () => reject(new Error("the thread of the rehearsal ended")));
    });
  } finally {
    clearTimeout(timer);
    if (abort !== undefined) signal.removeEventListener("abort", abort);
    await worker.terminate();
  }
}
