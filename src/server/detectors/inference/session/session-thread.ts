/**
 * A session's thread or process, as seen by its caller, and the calls that it makes through the caller. A thread is never
 * terminated from outside, but told to end: the runtime aborts the whole process if its thread is terminated while a graph is
 * loaded or runs.
 */

import { beginNativeCall, startThread } from "../../../../base/index.ts";
import { callsOf } from "./process-calls.ts";
import type {
  FromSession,
  Question,
  SessionProblem,
  SessionReply,
  SessionSpec,
  SessionWorker,
  ToSession,
} from "./protocol.ts";
import type { AskServer } from "./served/server-calls.ts";

/** Heap limits in MiB, for objects; tensors and weights are not included. A long text has tokens of some hundred bytes each. */
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32 };

export interface SessionThread {
  /** Resolves with the reason why the graph cannot be used, if there is one; rejects if the thread ends before. */
  readonly opened: Promise<SessionProblem | undefined>;
  /** True if it crashed or was told to end. */
  readonly isEnded: boolean;
  /** Reason of a crash; `undefined` if it has not crashed, or was told to end. */
  readonly failure: Error | undefined;
  /** Resolves once it has ended; after an order to end, when its graph does not run. */
  readonly gone: Promise<void>;
  /** Rejects when the thread ends. */
  readonly ask: (question: Question) => Promise<SessionReply>;
  readonly cancel: (id: number) => void;
  readonly end: () => void;
}

export type StartSessionThread = (spec: SessionSpec) => SessionWorker;

export const startSessionWorker = (spec: SessionSpec, limits: Partial<typeof LIMITS> = {}): SessionWorker =>
  startThread(
    {
      source: new URL("./worker.ts", import.meta.url),
      built: new URL("./server/detectors/inference/session/worker.js", import.meta.url),
    },
    { argv: [], env: {}, stdin: false, workerData: spec, resourceLimits: { ...LIMITS, ...limits } },
  );

/** A process may be killed during a native call. */
const NO_CALL = (): void => undefined;

interface Asked {
  readonly resolve: (message: SessionReply) => void;
  readonly reject: (error: Error) => void;
  readonly endCall: () => void;
}

/** `server` is for a served graph. */
export function openThread(spec: SessionSpec, start: StartSessionThread, server?: AskServer): SessionThread {
  const worker = start(spec);
  const calls = callsOf(worker, server);
  const kind = worker.pid === undefined ? "thread" : "process";
  /** Questions without an answer, even if it is no longer needed. */
  const asked = new Map<number, Asked>();
  let isEnded = false;
  let failure: Error | undefined;
  const over = (error: Error): void => {
    isEnded = true;
    calls.close();
    for (const { reject } of asked.values()) reject(error);
  };
  worker.on("error", (error) => {
    failure = error instanceof Error ? error : new Error(String(error));
  });
  const gone = new Promise<void>((resolve) => {
    worker.on("exit", () => {
      over(failure ?? new Error(`the ${kind} ended`));
      for (const { endCall } of asked.values()) endCall();
      asked.clear();
      resolve();
    });
  });
  worker.on("message", (message: FromSession) => {
    if (message.kind === "call" || message.kind === "hang-up") {
      calls.take(message);
      return;
    }
    const one = asked.get(message.id);
    asked.delete(message.id);
    // Idle threads do not keep the process alive.
    if (asked.size === 0) worker.unref();
    one?.endCall();
    one?.resolve(message);
  });
  const answerTo = (id: number): Promise<SessionReply> =>
    new Promise((resolve, reject) => {
      if (isEnded) {
        reject(failure ?? new Error(`the ${kind} ended`));
        return;
      }
      asked.set(id, { resolve, reject, endCall: worker.pid === undefined ? beginNativeCall() : NO_CALL });
      worker.ref();
    });
  const tell = (message: ToSession): void => worker.postMessage(message);
  const opened = answerTo(0).then((message) => (message.kind === "opened" ? message.problem : undefined));
  opened.catch(() => undefined);
  return {
    opened,
    gone,
    get isEnded() {
      return isEnded;
    },
    get failure() {
      return failure;
    },
    ask(question) {
      const answer = answerTo(question.id);
      if (!isEnded) tell(question);
      return answer;
    },
    cancel: (id) => tell({ kind: "cancel", id }),
    end() {
      tell({ kind: "end" });
      over(new Error(`the ${kind} was ended`));
    },
  };
}
