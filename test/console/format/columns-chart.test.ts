/** Charts of columns: heights, gaps, tones and the cursor, and how many values share a cell. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { columnsChart, narrowBands } from "../../../src/console/format/columns-chart.ts";
import { textOfLine } from "../../../src/console/model/text.ts";

const texts = (values: readonly (number | null)[], rows: number, maxValue: number): readonly string[] =>
  columnsChart([{ tone: "plain", values }], { rows, maxValue, cursor: undefined }).map(textOfLine);

test("a column is as high as its value, zero has a mark, and unknown values are gaps", () => {
  assert.deepEqual(texts([0, 1, 4, 8, null], 1, 8), ["·▁▄▇ "], "the topmost eighth parts it from what is above");
  assert.deepEqual(texts([0, 1, 4, 8, 16, null], 2, 16), ["    ▇ ", "·▁▄██ "]);
  assert.deepEqual(texts([0.001], 3, 1_000), [" ", " ", "▁"], "what is there at all shows");
  assert.deepEqual(texts([0, 0], 2, 0), ["  ", "··"]);
  assert.deepEqual(texts([99], 1, 8), ["▇"], "no column is higher than the chart");
});

test("a few failures among many requests are visible at the bottom of the column", () => {
  const [above = [], below = []] = columnsChart(
    [
      { tone: "fail", values: [0, 1] },
      { tone: "plain", values: [999, 999] },
    ],
    { rows: 2, maxValue: 1_000, cursor: undefined },
  );
  assert.deepEqual(
    [above, below].map((line) => line.map(({ tone }) => tone)),
    [["plain"], ["plain", "fail"]],
  );
});

test("the cursor is a line through the chart, dark on a column", () => {
  assert.deepEqual(
    columnsChart([{ tone: "plain", values: [0, 0, 0] }], { rows: 2, maxValue: 3, cursor: 1 }).map(textOfLine),
    [" │ ", "·│·"],
  );
  const lines = columnsChart([{ tone: "plain", values: [3, 3, 3] }], { rows: 3, maxValue: 3, cursor: 1 });
  for (const line of lines)
    assert.deepEqual(
      line.map(({ isInverse = false }) => isInverse),
      [false, true, false],
    );
});

test("a cell with several values shows the largest sum, and the newest cell is complete", () => {
  const of = (values: readonly (number | null)[], factor: number) =>
    narrowBands([{ tone: "plain", values }], factor)[0]?.values;
  assert.deepEqual(of([1, 2, 3], 1), [1, 2, 3]);
  assert.deepEqual(of([9, 1, 3, 5, null], 2), [9, 3, 5]);
  assert.deepEqual(of([null, null], 2), [null]);
  const [low, high] = narrowBands(
    [
      { tone: "fail", values: [5, 1] },
      { tone: "plain", values: [0, 9] },
    ],
    2,
  );
  assert.deepEqual([low?.values, high?.values], [[1], [9]], "of one moment");
});

test("a chart has exactly its rows and a cell per value, for any values", () => {
  const value = fc.option(fc.double({ min: 0, max: 1e12, noNaN: true }), { nil: null });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(value, value), { maxLength: 40 }),
      fc.integer({ min: 1, max: 20 }),
      fc.double({ min: 0, max: 1e12, noNaN: true }),
      (pairs, rows, most) => {
        const bands = [0, 1].map((of) => ({ tone: "warn" as const, values: pairs.map((pair) => pair[of] ?? null) }));
        const lines = columnsChart(bands, { rows, maxValue: most, cursor: 0 }).map(textOfLine);
        assert.equal(lines.length, rows);
        for (const line of lines) assert.match(line, new RegExp(`^[ ·│▁-█]{${pairs.length}}$`));
      },
    ),
  );
});
