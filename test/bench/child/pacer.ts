/**
 * A ticking thread for the generator of a steady load: event-loop timers fire once a millisecond at best, and at a
 * higher rate several requests would be sent at once. It sleeps between its ticks.
 */

import { parentPort, workerData } from "node:worker_threads";

export interface Pace {
  readonly intervalMs: number;
  /** Shared; any value but 0 ends it. */
  readonly end: Int32Array<SharedArrayBuffer>;
}

const { intervalMs, end } = workerData as Pace;
while (Atomics.wait(end, 0, 0, intervalMs) === "timed-out") parentPort?.postMessage(undefined);
