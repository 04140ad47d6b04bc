/**
 * Counts over the last 60 seconds, in slots of one second each, including the current one. Recording takes an addition and, once
 * a second, clears one slot; nothing is allocated after the start.
 */
import { BUCKETS, bucketOf } from "./latencies.ts";

export const WINDOW_SECONDS = 60;

/** Counters of a slot; the buckets of first-byte times follow them. */
const COUNTERS = ["attempts", "failures", "retries", "failoversIn", "failoversOut"] as const;
export type CounterName = (typeof COUNTERS)[number];

const COUNTER_INDEX: Readonly<Record<CounterName, number>> = {
  attempts: 0,
  failures: 1,
  retries: 2,
  failoversIn: 3,
  failoversOut: 4,
};
const SLOT_LENGTH = COUNTERS.length + BUCKETS;

interface WindowTotals extends Readonly<Record<CounterName, number>> {
  /** Sum of cost units. */
  readonly units: number;
  /** First-byte times, as a histogram of `latencies.ts`. */
  readonly firstBytes: Float64Array;
}

/** Sliding window of counts. `second` is the time in whole seconds of a monotonic clock. */
export class SlidingWindow {
  readonly #counts = new Uint32Array(WINDOW_SECONDS * SLOT_LENGTH);
  /** Cost units per slot. They are stored separately, because one charge may exceed 32 bits. */
  readonly #units = new Float64Array(WINDOW_SECONDS);
  /** Second in which each slot was last written; minus infinity if never. */
  readonly #seconds = new Float64Array(WINDOW_SECONDS).fill(Number.NEGATIVE_INFINITY);

  count(counter: CounterName, second: number): void {
    const at = this.#startOfSlot(second) + COUNTER_INDEX[counter];
    this.#counts[at] = (this.#counts[at] as number) + 1;
  }

  recordFirstByte(ms: number, second: number): void {
    const at = this.#startOfSlot(second) + COUNTERS.length + bucketOf(ms);
    this.#counts[at] = (this.#counts[at] as number) + 1;
  }

  addUnits(units: number, second: number): void {
    this.#startOfSlot(second);
    const slot = second % WINDOW_SECONDS;
    this.#units[slot] = (this.#units[slot] as number) + units;
  }

  totals(second: number): WindowTotals {
    const sums = new Float64Array(SLOT_LENGTH);
    let units = 0;
    for (const [slot, written] of this.#seconds.entries()) {
      if (written <= second - WINDOW_SECONDS) continue;
      units += this.#units[slot] as number;
      const start = slot * SLOT_LENGTH;
      for (let at = 0; at < SLOT_LENGTH; at++) sums[at] = (sums[at] as number) + (this.#counts[start + at] as number);
    }
    const sumOf = (what: CounterName): number => sums[COUNTER_INDEX[what]] as number;
    return {
      attempts: sumOf("attempts"),
      failures: sumOf("failures"),
      retries: sumOf("retries"),
      failoversIn: sumOf("failoversIn"),
      failoversOut: sumOf("failoversOut"),
      units,
      firstBytes: sums.subarray(COUNTERS.length),
    };
  }

  /** Returns the last second in which anything was counted, or minus infinity if nothing was. */
  lastSecond(): number {
    return Math.max(...this.#seconds);
  }

  #startOfSlot(second: number): number {
    const slot = second % WINDOW_SECONDS;
    const start = slot * SLOT_LENGTH;
    if (this.#seconds[slot] !== second) {
      this.#seconds[slot] = second;
      this.#counts.fill(0, start, start + SLOT_LENGTH);
      this.#units[slot] = 0;
    }
    return start;
  }
}
