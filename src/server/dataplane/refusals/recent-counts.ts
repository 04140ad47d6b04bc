/**
 * Counts of the last 60 seconds and the last 60 minutes, including the current ones. Counting takes an addition and clears slots
 * that have passed; nothing is allocated after the start.
 */

const SLOTS = 60;

/** Tally of events. `second` is the time in whole seconds of a monotonic clock. */
export class Tally {
  readonly #seconds = new Slots();
  readonly #minutes = new Slots();

  count(second: number): void {
    this.#seconds.count(second);
    this.#minutes.count(Math.floor(second / SLOTS));
  }

  lastMinute(second: number): number {
    return this.#seconds.sum(second);
  }

  lastHour(second: number): number {
    return this.#minutes.sum(Math.floor(second / SLOTS));
  }
}

class Slots {
  readonly #counts = new Uint32Array(SLOTS);
  /** Newest unit of time that was written. */
  #last = Number.NEGATIVE_INFINITY;

  count(at: number): void {
    if (at - this.#last >= SLOTS) this.#counts.fill(0);
    else for (let passed = this.#last + 1; passed <= at; passed++) this.#counts[passed % SLOTS] = 0;
    this.#last = Math.max(this.#last, at);
    this.#counts[at % SLOTS] = (this.#counts[at % SLOTS] as number) + 1;
  }

  /** Returns the sum of unit `at` and the 59 before it. There are no units before 0. */
  sum(at: number): number {
    let sum = 0;
    for (let unit = Math.max(at - SLOTS, this.#last - SLOTS, -1) + 1; unit <= this.#last; unit++) {
      sum += this.#counts[unit % SLOTS] as number;
    }
    return sum;
  }
}
