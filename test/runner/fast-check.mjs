/**
 * fast-check with properties a tenth as long where `GATEWAY_TEST_LENGTH` is `short`. The bundler (bundle.mjs) puts this in
 * the place of the package in every test file.
 */
import fc from "fast-check";

const isShort = process.env.GATEWAY_TEST_LENGTH === "short";

/** Runs of a property that names no number, as fast-check has it. */
const DEFAULT_RUNS = 100;
/** Least number of random cases of a shortened property, besides its examples. */
const LEAST_RUNS = 10;

function shortened(parameters = {}) {
  const full = parameters.numRuns ?? DEFAULT_RUNS;
  const least = LEAST_RUNS + (parameters.examples?.length ?? 0);
  return { ...parameters, numRuns: Math.min(full, Math.max(least, Math.ceil(full / 10))) };
}

const short = { ...fc, assert: (property, parameters) => fc.assert(property, shortened(parameters)) };

export default isShort ? short : fc;
