/**
 * Time as a value that is passed in. Two readings that must not be mixed: `now` is comparable between machines and may
 * jump, `monotonic` never goes back and means nothing outside this process, so every span is measured with it.
 */

export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Milliseconds, fractional, since an arbitrary moment of this process. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
