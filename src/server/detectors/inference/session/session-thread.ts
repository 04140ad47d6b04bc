/**
 * Thread or process of a session, as its caller uses it, and the calls that it makes through the caller. A thread is
 * asked to end and never terminated: the runtime aborts the whole process if its thread is terminated while a graph is
 * loaded or running.
 */

import { beginNativeCall, startThread } from "../../../../base/index.ts";
import { createServerCalls } from "./process-calls.ts";
import type { AskServer } from "./served/server-calls.ts";
import type {
  FromSession,
  Question,
  SessionProblem,
  SessionReply,
  SessionSpec,
  SessionWorker,
  ToSession,
} from "./session-protocol.ts";

/**
 * Heap limits in MiB, which apply to objects and not to tensors and weights. Each token of a long text takes a few
 * hundred bytes.
 */
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32 };

export interface SessionThread {
  /** Resolves with the reason why the graph cannot be used, if there is one; rejects if the thread ends before. */
  readonly opened: Promise<SessionProblem | undefined>;
  /** True after it crashed or was asked to end. */
  readonly isEnded: boolean;
  /** Reason of a crash; `undefined` if it has not crashed, or was asked to end. */
  readonly failure: Error | undefined;
  /** Resolves once the thread has ended. It ends only when its graph is not running. */
  readonly gone: Promise<void>;
  /** Asks the thread. Rejects if the thread ends. */
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

/** Replaces the tracking of native calls for a process, which may be killed during a call. */
const NO_CALL = (): void => undefined;

interface Asked {
  readonly resolve: (message: SessionReply) => void;
  readonly reject: (error: Error) => void;
  readonly endCall: () => void;
}

/** Starts the thread of a session. `server` is set for a served graph. */
export function openThread(spec: SessionSpec, start: StartSessionThread, server?: AskServer): SessionThread {
  const worker = start(spec);
  const calls = createServerCalls(worker, server);
  const kind = worker.pid === undefined ? "thread" : "process";
  /** Unanswered questions, including those that are no longer needed. */
  const asked = new Map<number, Asked>();
  let isEnded = false;
  let failure: Error | undefined;
  const rejectAll = (error: Error): void => {
    isEnded = true;
    calls.close();
    for (const { reject } of asked.values()) reject(error);
  };
  worker.on("error", (error) => {
    failure = error instanceof Error ? error : new Error(String(error));
  });
  const gone = new Promise<void>((resolve) => {
    worker.on("exit", () => {
      rejectAll(failure ?? new Error(`the ${kind} ended`));
      for (const { endCall } of asked.values()) endCall();
      asked.clear();
      resolve();
    });
  });
  worker.on("message", (message: FromSession) => {
    if (message.kind === "call" || message.kind === "hang-up") {
      calls.onMessage(message);
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
  const send = (message: ToSession): void => worker.postMessage(message);
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
      if (!isEnded) send(question);
      return answer;
    },
    cancel: (id) => send({ kind: "cancel", id }),
    end() {
      send({ kind: "end" });
      rejectAll(new Error(`the ${kind} was ended`));
    },
  };
}
