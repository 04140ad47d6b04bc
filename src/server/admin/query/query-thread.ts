/**
 * The worker, as seen by the main thread. One statement at a time; stopping a statement terminates the thread, and the next
 * statement starts another thread.
 */

import { openThread } from "../../../base/index.ts";
import { refusal } from "../refusal.ts";
import type { FromWorker, ToWorker } from "./query-protocol.ts";

/**
 * Heap limits in MiB. The counts end a statement well before; a heap that runs out within one large allocation would end the
 * process.
 */
const RESOURCE_LIMITS = {
  maxOldGenerationSizeMb: 512,
  maxYoungGenerationSizeMb: 32,
  codeRangeSizeMb: 16,
  stackSizeMb: 4,
};

/**
 * Time limit of the start in milliseconds, less than a statement's own limit: the next statement then finds this thread ended,
 * and gets another one.
 */
const START_TIMEOUT_MS = 25_000;

const MODULE = {
  source: new URL("./worker.ts", import.meta.url),
  built: new URL("./server/admin/query/worker.js", import.meta.url),
};

export interface QueryThread {
  /** Resolves once the thread accepts statements. Rejects if it ends before that, for example because it takes too long. */
  readonly ready: Promise<void>;
  readonly isEnded: boolean;
  send(message: ToWorker): void;
  /** Returns the next message of the worker. Rejects when the thread ends, with `memory` if that is the reason. */
  next(): Promise<FromWorker>;
  /** Sets whether the thread keeps the process alive. */
  keepProcessAlive(isKeptAlive: boolean): void;
  end(): Promise<void>;
}

export function startThread(): QueryThread {
  const options = {
    argv: [],
    env: {},
    execArgv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: RESOURCE_LIMITS,
  };
  let failure: Error | undefined;
  let isEnded = false;
  const queued: FromWorker[] = [];
  let waiting: { readonly resolve: (message: FromWorker) => void; readonly reject: (error: Error) => void } | undefined;

  const {
    post,
    keepProcessAlive,
    terminate: end,
  } = openThread<ToWorker, FromWorker>(MODULE, options, {
    onMessage(message) {
      if (waiting === undefined) queued.push(message);
      else waiting.resolve(message);
      waiting = undefined;
    },
    onEnd(error) {
      isEnded = true;
      failure ??= isOutOfMemory(error) ? outOfMemory() : (error ?? new Error("the query worker ended"));
      waiting?.reject(failure);
      waiting = undefined;
    },
  });

  const next = (): Promise<FromWorker> =>
    new Promise((resolve, reject) => {
      const message = queued.shift();
      if (message !== undefined) resolve(message);
      else if (failure !== undefined && isEnded) reject(failure);
      else waiting = { resolve, reject };
    });
  const limit = setTimeout(() => {
    failure ??= new Error(`the query worker did not start within ${START_TIMEOUT_MS / 1_000} s`);
    void end();
  }, START_TIMEOUT_MS).unref();
  const ready = next()
    .then((message) => {
      if (message.kind !== "ready") throw new Error("the query worker did not start correctly");
    })
    .finally(() => clearTimeout(limit));
  ready.catch(() => undefined);
  return {
    ready,
    get isEnded() {
      return isEnded;
    },
    send: (message) => post(message),
    next,
    keepProcessAlive,
    end,
  };
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";

const outOfMemory = (): Error =>
  refusal("invalid", "The statement needs too much memory: filter before it joins, groups or sorts.", {
    reason: "memory",
  });
