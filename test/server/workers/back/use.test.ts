/** Callers' usage, summed before it is reported: the ledger equals one with separate reports. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Use } from "../../../../src/server/core/budgets/index.ts";
import { unpackRows } from "../../../../src/server/core/state/commands/used-packing.ts";
import { COUNTS, FIXED_NAMES } from "../../../../src/server/core/state/index.ts";
import { createAccumulator } from "../../../../src/server/usage/accumulator.ts";
import { sendUsage, takeUsage } from "../../../../src/server/workers/index.ts";
import { eventually } from "../../../e2e/support/wait.ts";
import { openPair } from "../support/pair.ts";

const MOST = 10_000;
/** Hour, provider, kind, answers, five classes of tokens, and streams without usage. */
const METERED_WIDTH = 10;

const few = (...names: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...names);
const count = fc.nat(1_000);
const uses: fc.Arbitrary<readonly Use[]> = fc.array(
  fc.record({
    hop: fc.constantFrom("llm", "mcp", "a2a"),
    caller: few("", "a", "b", "a\u0000p", "a\u0000p\u0000m"),
    profile: few("", "p"),
    provider: few("one", "two"),
    model: few("", "m", "m\u0000n"),
    kind: fc.constantFrom("tokens", "media"),
    requests: fc.constantFrom(0, 1),
    failed: fc.constantFrom(0, 1),
    tokens: fc.option(
      fc.record({
        inputTokens: count,
        outputTokens: count,
        cachedInputTokens: count,
        cacheCreationInputTokens: count,
        reasoningTokens: count,
      }),
      { nil: undefined },
    ),
    unmeasured: fc.constantFrom(0, 1),
    units: count,
  }),
  { minLength: 1, maxLength: 60 },
);

/** Returns the rows of one report by name, sorted. */
function reported(accumulator: ReturnType<typeof createAccumulator>): unknown {
  const taken = accumulator.take();
  if (taken === undefined) return undefined;
  const { names, rows, metered } = taken.report;
  const nameOf = (number: number): string => [...FIXED_NAMES, ...names][number] ?? "none";
  const found = unpackRows(rows, 6 + COUNTS.length, MOST).map(([hour, hop, ...others]) => [
    hour,
    hop,
    ...others.slice(0, 4).map(nameOf),
    ...others.slice(4),
  ]);
  const counted = unpackRows(metered, METERED_WIDTH, MOST).map(([hour, provider = 0, ...others]) => [
    hour,
    nameOf(provider),
    ...others,
  ]);
  return [taken.requests, [...found, ...counted].map((row) => row.join()).sort()];
}

test("usage summed and reported gives the same total", async () => {
  await using pair = await openPair();
  let accumulator = createAccumulator(() => 0);
  takeUsage(pair.node, { add: (use) => accumulator.add(use) });
  const { add } = sendUsage(pair.worker);
  let done = 0;
  pair.worker.on("ended", (number) => pair.worker.send("done", number, true));
  pair.node.on("done", (number) => {
    done = Number(number);
  });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(uses, async (input) => {
      const direct = createAccumulator(() => 0);
      accumulator = createAccumulator(() => 0);
      for (const use of input) {
        direct.add(use);
        add(use);
      }
      run += 1;
      pair.node.send("flush", null, true);
      pair.node.send("ended", run, true);
      await eventually("the end of the run", () => done === run);
      assert.deepEqual(reported(accumulator), reported(direct));
    }),
    { numRuns: 50 },
  );
});
