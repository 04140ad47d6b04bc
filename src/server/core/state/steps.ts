/** Long computations of the state machine, in steps. */

/** Computation in steps of a few milliseconds, so that its caller can do other work in between. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Runs all steps at once and returns the result. */
export function runSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
