/** Worker threads with typed messages, from both sides: the thread as its caller sees it, and its caller as the thread does. */

import { parentPort, type TransferListItem, type WorkerOptions } from "node:worker_threads";
import { startThread, type ThreadModule } from "./start-thread.ts";

/** Thread that takes messages of type `To`. */
export interface Thread<To> {
  post(message: To, transfer?: readonly TransferListItem[]): void;
  /** Sets whether the process stays alive for the thread; it does at first. */
  hold(isHeld: boolean): void;
  /** Stops the thread, whatever it does. Resolves once it has ended. */
  end(): Promise<void>;
}

export interface ThreadListener<From> {
  onMessage(message: From): void;
  /** Called once, when the thread has ended. `error`: what it threw; `undefined` if it ended by itself or was stopped. */
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
    hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    async end() {
      await worker.terminate();
    },
  };
}

/** Caller of a thread, from within: it sends messages of type `To` and takes those of type `From`. */
export interface ThreadCaller<To, From> {
  onMessage(listener: (message: To) => void): void;
  post(message: From, transfer?: readonly TransferListItem[]): void;
  /** Takes no further message, so that the thread ends once it has nothing left to do. */
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
