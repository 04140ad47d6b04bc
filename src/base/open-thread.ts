/**
 * Worker threads with typed messages, for both sides: the thread as its caller uses it, and the caller as the thread
 * uses it.
 */

import { parentPort, type TransferListItem, type WorkerOptions } from "node:worker_threads";
import { startThread, type ThreadModule } from "./start-thread.ts";

/** Thread that takes messages of type `To`. */
export interface Thread<To> {
  post(message: To, transfer?: readonly TransferListItem[]): void;
  /** Sets whether the thread keeps the process alive. It does at first. */
  keepProcessAlive(isKeptAlive: boolean): void;
  /** Stops the thread at once. Resolves when it has ended. */
  terminate(): Promise<void>;
}

export interface ThreadListener<From> {
  onMessage(message: From): void;
  /** Called once, when the thread has ended. `error`: what it threw; `undefined` if it ended normally or was stopped. */
  onEnd(error: Error | undefined): void;
}

/** Starts a thread. Throws if its module cannot be compiled. */
export function openThread<To, From>(
  module: ThreadModule,
  options: WorkerOptions,
  { onMessage, onEnd }: ThreadListener<From>,
): Thread<To> {
  const worker = startThread(module, options);
  let thrown: Error | undefined;
  worker.on("message", onMessage);
  worker.on("error", (error: unknown) => {
    thrown = error instanceof Error ? error : new Error(String(error));
  });
  worker.once("exit", () => onEnd(thrown));
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    keepProcessAlive: (isKeptAlive) => (isKeptAlive ? worker.ref() : worker.unref()),
    async terminate() {
      await worker.terminate();
    },
  };
}

/**
 * Caller of a thread, as the thread sees it: the thread sends messages of type `To` to it and receives those of type
 * `From`.
 */
export interface ThreadCaller<To, From> {
  onMessage(listener: (message: To) => void): void;
  post(message: From, transfer?: readonly TransferListItem[]): void;
  /** Receives no further messages, so that the thread ends when it has nothing left to do. */
  close(): void;
}

/** Returns the caller of this thread. Throws on the main thread. */
export function threadCaller<To, From>(): ThreadCaller<To, From> {
  const port = parentPort;
  if (port === null) throw new Error("this module runs in a worker thread only");
  return {
    onMessage: (listener) => void port.on("message", listener),
    post: (message, transfer) => port.postMessage(message, transfer),
    close: () => port.close(),
  };
}
