/**
 * Counts over the last 60 seconds, in slots of one second each, the current one included. To record costs an addition
 * and, once a second, the clearing of one slot; nothing is allocated after the start.
 */
import { BUCKETS, bucketOf } from "./latencies.ts";

export const WINDOW_SECONDS = 60;

/** What is counted: one place in a slot each, before the buckets of the times. */
const COUNTED = ["attempts", "failures", "retries", "failoversIn", "failoversOut"] as const;
export type Counted = (typeof COUNTED)[number];

const PLACE: Readonly<Record<Counted, number>> = {
  attempts: 0,
  failures: 1,
  retries: 2,
  failoversIn: 3,
  failoversOut: 4,
};
const SLOT_LENGTH = COUNTED.length + BUCKETS;

export interface WindowTotals extends Readonly<Record<Counted, number>> {
  /** Cost units. */
  readonly units: number;
  /** Of `latencies.ts`. */
  readonly firstBytes: Float64Array;
}

/** `second`: of a clock that never goes back, whole. */
export class Window {
  readonly #counts = new Uint32Array(WINDOW_SECONDS * SLOT_LENGTH);
  /** One charge may be more than a count of 32 bits holds. */
  readonly #units = new Float64Array(WINDOW_SECONDS);
  /** The second that a slot was last written in; before any that can be asked about, where it never was. */
  readonly #seconds = new Float64Array(WINDOW_SECONDS).fill(Number.NEGATIVE_INFINITY);

  count(what: Counted, second: number): void {
    const at = this.#slot(second) + PLACE[what];
    this.#counts[at] = (this.#counts[at] as number) + 1;
  }

  firstByte(ms: number, second: number): void {
    const at = this.#slot(second) + COUNTED.length + bucketOf(ms);
    this.#counts[at] = (this.#counts[at] as number) + 1;
  }

  spent(units: number, second: number): void {
    this.#slot(second);
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
    const of = (what: Counted): number => sums[PLACE[what]] as number;
    return {
      attempts: of("attempts"),
      failures: of("failures"),
      retries: of("retries"),
      failoversIn: of("failoversIn"),
      failoversOut: of("failoversOut"),
      units,
      firstBytes: sums.subarray(COUNTED.length),
    };
  }

  /** The last second in which anything was counted; minus infinity where nothing was. */
  lastSecond(): number {
    return Math.max(...this.#seconds);
  }

  #slot(second: number): number {
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
