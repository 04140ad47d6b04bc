/** Work that nobody waits for, between what somebody waits for. */

/** Others are kept waiting for no longer than this and one step. */
const SLICE_MS = 5;

/** Takes the steps in turns of the loop of their own, each a few milliseconds, until `isOver`. The process does not stay for it. */
export function inSlices(steps: Iterator<unknown>, isOver: () => boolean): void {
  const turn = (): void => {
    const began = performance.now();
    while (!isOver()) {
      if (steps.next().done === true) return;
      if (performance.now() - began < SLICE_MS) continue;
      setImmediate(turn).unref();
      return;
    }
  };
  setImmediate(turn).unref();
}
