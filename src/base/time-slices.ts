/** Runs background work in time slices, so that other work is not delayed. */

/** Length of a slice in milliseconds. Other work waits at most for this time plus one step. */
const SLICE_MS = 5;

/**
 * Runs the steps in slices of a few milliseconds, one slice per turn of the event loop, until `isOver`. Does not keep the
 * process alive.
 */
export function runInSlices(steps: Iterator<unknown>, isStopped: () => boolean): void {
  const turn = (): void => {
    const began = performance.now();
    while (!isStopped()) {
      if (steps.next().done === true) return;
      if (performance.now() - began < SLICE_MS) continue;
      setImmediate(turn).unref();
      return;
    }
  };
  setImmediate(turn).unref();
}
