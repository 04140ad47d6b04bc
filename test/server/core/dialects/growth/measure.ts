/** Compares the work for an input with the work for one that is several times as large. */
import assert from "node:assert/strict";

/** How many times as large the second input is. */
const FACTOR = 8;
/** Maximum ratio. Work in proportion to the input has 8, quadratic work 64; the difference allows for a busy machine. */
const MAX_RATIO = 24;
/** CPU time in milliseconds below which the work is small enough, whatever the ratio. */
const NEGLIGIBLE = 40;
const MAX_ROUNDS = 8;

/**
 * Asserts that time and output grow no faster than the input. `run` returns the size of its output. The shortest CPU times of several
 * rounds are compared, so that garbage collection and other load on the machine do not count.
 */
export function assertIsLinear<Input>(
  count: number,
  inputOf: (count: number) => Input,
  run: (input: Input) => number,
): void {
  const [small, large] = [inputOf(count), inputOf(FACTOR * count)];
  const less = measure(run, small);
  const more = measure(run, large);
  const most = MAX_RATIO * Math.max(less.size, 1_000);
  assert.ok(more.size <= most, `output of ${less.size} grew to ${more.size}`);
  let [shortest, longest] = [less.time, more.time];
  for (let round = 1; longest > NEGLIGIBLE && longest > MAX_RATIO * shortest; round++) {
    assert.ok(round < MAX_ROUNDS, `${shortest.toFixed(1)} ms grew to ${longest.toFixed(1)} ms`);
    for (let time = 0; time < 3; time++) shortest = Math.min(shortest, measure(run, small).time);
    longest = Math.min(longest, measure(run, large).time);
  }
}

function measure<Input>(run: (input: Input) => number, input: Input): { readonly size: number; readonly time: number } {
  const startedAt = process.cpuUsage();
  const size = run(input);
  const { user, system } = process.cpuUsage(startedAt);
  return { size, time: (user + system) / 1_000 };
}
