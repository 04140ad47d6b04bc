/**
 * The worker as the main thread has it. One statement at a time; a statement that has to be stopped ends the thread, and
 * whoever wants another statement starts another thread.
 */

import { Worker } from "node:worker_threads";
import { refusal } from "../refusal.ts";
import type { FromWorker, ToWorker } from "./protocol.ts";

/**
 * MiB. Statements end well before by what is counted of them; a heap that is found full within one large allocation would
 * end the process.
 */
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32, codeRangeSizeMb: 16, stackSizeMb: 4 };

export interface QueryThread {
  /** Resolves once it can be asked; rejects when it ends before. */
  readonly ready: Promise<void>;
  readonly isEnded: boolean;
  send(message: ToWorker): void;
  /** The next message of the worker. Rejects when the thread ends: with `memory` if that is why. */
  next(): Promise<FromWorker>;
  /** Whether the process waits for it. */
  hold(isHeld: boolean): void;
  end(): Promise<void>;
}

export function startThread(): QueryThread {
  const worker = startWorker();
  let failure: Error | undefined;
  let isEnded = false;
  const told: FromWorker[] = [];
  let waiting: { readonly resolve: (message: FromWorker) => void; readonly reject: (error: Error) => void } | undefined;

  worker.on("message", (message: FromWorker) => {
    if (waiting === undefined) told.push(message);
    else waiting.resolve(message);
    waiting = undefined;
  });
  worker.on("error", (error) => {
    failure ??= isOutOfMemory(error) ? outOfMemory() : error instanceof Error ? error : new Error(String(error));
  });
  worker.on("exit", () => {
    isEnded = true;
    failure ??= new Error("the query worker ended");
    waiting?.reject(failure);
    waiting = undefined;
  });

  const next = (): Promise<FromWorker> =>
    new Promise((resolve, reject) => {
      const message = told.shift();
      if (message !== undefined) resolve(message);
      else if (failure !== undefined && isEnded) reject(failure);
      else waiting = { resolve, reject };
    });
  const ready = next().then((message) => {
    if (message.kind !== "ready") throw new Error("the query worker did not begin as it should");
  });
  ready.catch(() => undefined);
  return {
    ready,
    get isEnded() {
      return isEnded;
    },
    send: (message) => worker.postMessage(message),
    next,
    hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    async end() {
      await worker.terminate();
    },
  };
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";

export const outOfMemory = (): Error =>
  refusal("invalid", "The statement needs too much memory: filter before it joins, groups or sorts.", {
    reason: "memory",
  });

/** In the build the worker is a file of its own below the directory of the chunks; from the sources it needs their loader. */
function startWorker(): Worker {
  const options = { argv: [], env: {}, execArgv: [], stdin: false, stdout: true, stderr: true, resourceLimits: LIMITS };
  if (!import.meta.url.endsWith(".ts")) {
    return new Worker(new URL("./server/admin/query/worker.js", import.meta.url), options);
  }
  const file = JSON.stringify(new URL("./worker.ts", import.meta.url).href);
  return new Worker(`import("tsx/esm/api").then((it) => (it.register(), import(${file})));`, {
    ...options,
    eval: true,
  });
}
