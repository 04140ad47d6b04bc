/** Counts, first-byte times and peak concurrency of attempts since the last reading. */
import { BUCKETS, bucketOf, quantile } from "./latencies.ts";

export interface IntervalReading {
  readonly attempts: number;
  readonly failures: number;
  /** Median time to the first byte of answered attempts, in milliseconds; `null` without any. */
  readonly firstByteP50: number | null;
  readonly firstByteP95: number | null;
  /** Maximum number of concurrent attempts. */
  readonly inFlight: number;
}

export class Interval {
  #attempts = 0;
  #failures = 0;
  #inFlight = 0;
  #peakInFlight = 0;
  readonly #firstBytes = new Float64Array(BUCKETS);

  beginAttempt(): void {
    this.#inFlight++;
    if (this.#inFlight > this.#peakInFlight) this.#peakInFlight = this.#inFlight;
  }

  recordAnswer(ms: number): void {
    this.#attempts++;
    const at = bucketOf(ms);
    this.#firstBytes[at] = (this.#firstBytes[at] as number) + 1;
  }

  recordFailure(): void {
    this.#attempts++;
    this.#failures++;
  }

  endAttempt(): void {
    this.#inFlight--;
  }

  /** Returns the counts since the last call, and resets them. */
  takeReading(): IntervalReading {
    const isQuiet = this.#attempts === 0;
    const reading = {
      attempts: this.#attempts,
      failures: this.#failures,
      firstByteP50: isQuiet ? null : quantile(this.#firstBytes, 0.5),
      firstByteP95: isQuiet ? null : quantile(this.#firstBytes, 0.95),
      inFlight: this.#peakInFlight,
    };
    this.#attempts = 0;
    this.#failures = 0;
    this.#peakInFlight = this.#inFlight;
    if (!isQuiet) this.#firstBytes.fill(0);
    return reading;
  }
}
