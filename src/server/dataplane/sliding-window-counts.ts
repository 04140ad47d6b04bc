/**
 * Counts over the last 60 seconds, in slots of one second each, including the current one. Recording takes an addition and, once
 * a second, clears one slot; nothing is allocated after the first one.
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

/** Slots of a window: 65 KB. */
class Slots {
  readonly counts = new Uint32Array(WINDOW_SECONDS * SLOT_LENGTH);
  /** Cost units per slot. They are stored separately, because one charge may exceed 32 bits. */
  readonly units = new Float64Array(WINDOW_SECONDS);
  /** Second in which each slot was last written; minus infinity if never. */
  readonly seconds = new Float64Array(WINDOW_SECONDS).fill(Number.NEGATIVE_INFINITY);

  /** Returns the position of the slot's counters, which are cleared if they belong to an earlier minute. */
  startOfSlot(second: number): number {
    const slot = second % WINDOW_SECONDS;
    const start = slot * SLOT_LENGTH;
    if (this.seconds[slot] !== second) {
      this.seconds[slot] = second;
      this.counts.fill(0, start, start + SLOT_LENGTH);
      this.units[slot] = 0;
    }
    return start;
  }

  /** Adds the counters of the last 60 seconds to `sums`, and returns the sum of their cost units. */
  addTo(sums: Float64Array, second: number): number {
    let units = 0;
    for (const [slot, written] of this.seconds.entries()) {
      if (written <= second - WINDOW_SECONDS) continue;
      units += this.units[slot] as number;
      const start = slot * SLOT_LENGTH;
      for (let at = 0; at < SLOT_LENGTH; at++) sums[at] = (sums[at] as number) + (this.counts[start + at] as number);
    }
    return units;
  }
}

/** Sliding window of counts. `second` is the time in whole seconds of a monotonic clock. */
export class SlidingWindow {
  /** `undefined` until something is recorded: most providers of a large document are never used. */
  #slots: Slots | undefined;

  count(counter: CounterName, second: number): void {
    this.#increment(COUNTER_INDEX[counter], second);
  }

  recordFirstByte(ms: number, second: number): void {
    this.#increment(COUNTERS.length + bucketOf(ms), second);
  }

  addUnits(units: number, second: number): void {
    const slots = this.#slotsOf();
    slots.startOfSlot(second);
    const slot = second % WINDOW_SECONDS;
    slots.units[slot] = (slots.units[slot] as number) + units;
  }

  totals(second: number): WindowTotals {
    const sums = new Float64Array(SLOT_LENGTH);
    const units = this.#slots?.addTo(sums, second) ?? 0;
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
    return this.#slots === undefined ? Number.NEGATIVE_INFINITY : Math.max(...this.#slots.seconds);
  }

  #increment(counter: number, second: number): void {
    const slots = this.#slotsOf();
    const at = slots.startOfSlot(second) + counter;
    slots.counts[at] = (slots.counts[at] as number) + 1;
  }

  #slotsOf(): Slots {
    this.#slots ??= new Slots();
    return this.#slots;
  }
}
