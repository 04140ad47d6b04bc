/** Timers and random numbers, as a value that is passed in. */

export interface Timing {
  /** Calls `action` once, after `ms`; the returned function cancels it. Never keeps the process alive. */
  after(ms: number, action: () => void): () => void;
  /** Returns a uniform random number in [0, 1). */
  random(): number;
}

export const systemTiming: Timing = {
  after(ms, action) {
    const timer = setTimeout(action, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
