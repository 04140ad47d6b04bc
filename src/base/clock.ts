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

/**
 * Milliseconds of the machine's monotonic clock. Unlike `performance.now()` it counts from the same moment in every
 * thread and process of a machine, so that a time can be told from one to another as an offset from it.
 */
export const machineMonotonic = (): number => Number(process.hrtime.bigint()) / 1e6;

/** A clock that goes by `originMs`, the time at which the machine's monotonic clock was zero; `undefined`: by the system's. */
export function clockFrom(originMs: () => number | undefined): Clock {
  return {
    now() {
      const origin = originMs();
      return origin === undefined ? Date.now() : Math.round(origin + machineMonotonic());
    },
    monotonic: systemClock.monotonic,
  };
}
