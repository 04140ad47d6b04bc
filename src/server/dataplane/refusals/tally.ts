/**
 * How often something happened in the last 60 seconds and in the last 60 minutes, those that run included. To count costs
 * an addition, and the clearing of slots that have passed; nothing is allocated after the start.
 */

const SLOTS = 60;

/** `second`: of a clock that never goes back, whole. */
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
  /** The newest unit of time that was written. */
  #last = Number.NEGATIVE_INFINITY;

  count(at: number): void {
    if (at - this.#last >= SLOTS) this.#counts.fill(0);
    else for (let passed = this.#last + 1; passed <= at; passed++) this.#counts[passed % SLOTS] = 0;
    this.#last = Math.max(this.#last, at);
    this.#counts[at % SLOTS] = (this.#counts[at % SLOTS] as number) + 1;
  }

  /** Of the unit `at` and the 59 before; there is none before 0. */
  sum(at: number): number {
    let sum = 0;
    for (let unit = Math.max(at - SLOTS, this.#last - SLOTS, -1) + 1; unit <= this.#last; unit++) {
      sum += this.#counts[unit % SLOTS] as number;
    }
    return sum;
  }
}
