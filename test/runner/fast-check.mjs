/**
 * fast-check with a tenth of the runs where `GATEWAY_TEST_LENGTH` is `short`. The bundler (bundle.mjs) replaces the
 * package with it in every test file.
 */
import fc from "fast-check";

const isShort = process.env.GATEWAY_TEST_LENGTH === "short";

/** Least number of random cases of a shortened property, besides its examples. */
const MIN_RUNS = 30;

/** A property without a number of runs is short already. */
function shortened(parameters) {
  if (parameters?.numRuns === undefined) return parameters;
  const least = MIN_RUNS + (parameters.examples?.length ?? 0);
  return { ...parameters, numRuns: Math.min(parameters.numRuns, Math.max(least, Math.ceil(parameters.numRuns / 10))) };
}

const short = { ...fc, assert: (property, parameters) => fc.assert(property, shortened(parameters)) };

export default isShort ? short : fc;
