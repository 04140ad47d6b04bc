/**
 * Clock, which is passed in as a dependency. Do not mix its two readings: `now` is comparable between machines and may
 * jump; `monotonic` never goes back but means nothing outside this process, so durations are measured with it.
 */

export interface Clock {
  /** Returns milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Returns milliseconds, with fractions, since an arbitrary moment of this process. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/**
 * Returns milliseconds of the machine's monotonic clock. Unlike `performance.now()` it has the same origin in every thread and
 * process of the machine, so processes can exchange times as offsets from it.
 */
export const machineMonotonic = (): number => threadOrigin + performance.now();

/**
 * Origin of this thread's `performance.now()` on that clock. Measured once, because a big integer for each reading
 * costs more than the reading. The smallest of several differences is the most accurate: that of two readings with
 * nothing in between.
 */
const threadOrigin = Math.min(...Array.from({ length: 10 }, measureOrigin));

function measureOrigin(): number {
  const threadMs = performance.now();
  return Number(process.hrtime.bigint()) / 1e6 - threadMs;
}

/**
 * Creates a clock from `originMs`, the wall clock time at which the machine's monotonic clock was zero. The system
 * clock is used while that returns `undefined`.
 */
export function clockFrom(originMs: () => number | undefined): Clock {
  return {
    now() {
      const origin = originMs();
      return origin === undefined ? Date.now() : Math.round(origin + machineMonotonic());
    },
    monotonic: systemClock.monotonic,
  };
}
