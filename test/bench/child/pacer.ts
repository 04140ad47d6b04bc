/**
 * A thread that ticks, for the generator of a steady load: the timers of an event loop come once a millisecond at best,
 * and at a higher rate than that would send several requests at once. It rests between its ticks.
 */

import { parentPort, workerData } from "node:worker_threads";

export interface Pace {
  readonly intervalMs: number;
  /** Shared; anything but 0 ends it. */
  readonly end: Int32Array<SharedArrayBuffer>;
}

const { intervalMs, end } = workerData as Pace;
while (Atomics.wait(end, 0, 0, intervalMs) === "timed-out") parentPort?.postMessage(undefined);
