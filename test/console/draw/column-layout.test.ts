import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fitColumns, GAP, type Placed, scrollColumns } from "../../../src/console/draw/column-layout.ts";
import type { ColumnHead } from "../../../src/console/model/table.ts";

const head = (id: string, change: Partial<ColumnHead> = {}): ColumnHead => ({
  id,
  head: id.toUpperCase(),
  letter: "x",
  width: 10,
  align: "left",
  priority: 1,
  cut: "end",
  ...change,
});

const widthOf = (placed: readonly Placed[]): number =>
  placed.reduce((sum, { cells }) => sum + cells, 0) + GAP * (placed.length - 1);
const idsOf = (placed: readonly Placed[]): string => placed.map(({ head: { id } }) => id).join(" ");
const none = (heads: readonly ColumnHead[]): readonly number[] => heads.map(() => 0);

test("columns are dropped by priority until the rest fits, the rightmost first among equals", () => {
  const heads = [head("a"), head("b", { priority: 3 }), head("c", { priority: 2 }), head("d", { priority: 3 })];
  assert.equal(idsOf(fitColumns(heads, none(heads), 46)), "a b c d");
  assert.equal(idsOf(fitColumns(heads, none(heads), 45)), "a b c");
  assert.equal(idsOf(fitColumns(heads, none(heads), 33)), "a c");
  assert.equal(idsOf(fitColumns(heads, none(heads), 5)), "a");
});

test("spare width is shared by flexible columns in proportion", () => {
  const heads = [head("a", { width: { least: 10, flex: 2 } }), head("b"), head("c", { width: { least: 10, flex: 1 } })];
  assert.deepEqual(
    fitColumns(heads, none(heads), 64).map(({ cells }) => cells),
    [30, 10, 20],
  );
});

test("a cut text takes only the cells it needs, from columns of lower priority", () => {
  const heads = [
    head("what", { width: 9 }),
    head("kind", { width: 8, priority: 3 }),
    head("says", { width: { least: 20, flex: 1 }, wanted: 40 }),
    head("acts", { width: 20, priority: 4 }),
  ];
  const idsFor = (content: number, cells: number) => idsOf(fitColumns(heads, [9, 8, content, 20], cells));
  assert.equal(idsFor(20, 63), "what kind says acts");
  assert.equal(idsFor(21, 63), "what kind says");
  assert.equal(idsFor(42, 63), "what kind says");
  assert.equal(idsFor(200, 62), "what kind says", "beyond what it wants it is cut");
  assert.equal(idsFor(200, 60), "what says");
  assert.equal(idsFor(200, 31), "what says");
});

test("a column of numbers is as wide as its widest number", () => {
  const heads = [head("a", { width: { least: 4, flex: 1 } }), head("n", { align: "right", width: 5 })];
  assert.deepEqual(
    fitColumns(heads, [4, 16], 40).map(({ cells }) => cells),
    [22, 16],
  );
});

test("no text is cut while another column has room that it does not need", () => {
  const heads = [head("a", { width: { least: 10, flex: 1 } }), head("b"), head("c", { width: { least: 8, flex: 1 } })];
  const cells = (contents: readonly number[]) => fitColumns(heads, contents, 62).map((placed) => placed.cells);
  assert.deepEqual(cells([10, 10, 8]), [25, 10, 23]);
  assert.deepEqual(cells([12, 14, 20]), [21, 14, 23], "of the column that has most to spare");
  assert.deepEqual(cells([12, 40, 25]), [12, 21, 25], "what lacks least is whole first");
});

test("when scrolled, the first column stays and the others move", () => {
  const heads = ["name", "b", "c", "d", "e"].map((id) => head(id));
  const at = (scrolled: number) => scrollColumns(heads, none(heads), 34, scrolled);
  assert.equal(idsOf(at(0).placed), "name b c");
  assert.deepEqual([idsOf(at(2).placed), at(2).from, at(2).to], ["name d e", 3, 4]);
  assert.equal(idsOf(at(99).placed), "name e");
});

test("fitted columns are never wider than the room, and a kept number is never narrower than itself", () => {
  const column = fc.record({
    width: fc.oneof(
      fc.integer({ min: 1, max: 30 }),
      fc.record({ least: fc.integer({ min: 1, max: 30 }), flex: fc.integer({ min: 1, max: 4 }) }),
    ),
    align: fc.constantFrom("left" as const, "right" as const),
    priority: fc.integer({ min: 1, max: 9 }),
    content: fc.integer({ min: 0, max: 24 }),
  });
  fc.assert(
    fc.property(
      fc.array(column, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 36, max: 116 }),
      (columns, room) => {
        const heads = columns.map(({ width, align, priority }, at) => head(`c${at}`, { width, align, priority }));
        const contents = columns.map(({ content }) => content);
        const placed = fitColumns(heads, contents, room);
        assert.ok(placed.length >= 1);
        assert.ok(widthOf(placed) <= room);
        for (const {
          at,
          head: { align },
          cells,
        } of placed) {
          if (align === "right") assert.ok(cells >= (contents[at] ?? 0));
        }
        if (placed.some(({ head: { width } }) => typeof width !== "number")) assert.equal(widthOf(placed), room);
        const wide = scrollColumns(heads, contents, room, columns.length % 4);
        assert.ok(widthOf(wide.placed) <= room);
      },
    ),
  );
});
