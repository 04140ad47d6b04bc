/** Columns of the usual kinds: text, order and alignment. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { countColumn, momentColumn, textColumn } from "../../../src/console/format/column-kinds.ts";

const NOW = Date.parse("2026-11-20T14:02:07Z");
const PLACE = { head: "LAST USED", letter: "l", width: 9, priority: 2 } as const;

test("a text is escaped, sorts by its value and is left-aligned", () => {
  const column = textColumn<string>({ ...PLACE, cut: "middle" }, (row) => row);
  assert.deepEqual(column.cell("a\u001b[2Jb", NOW).text.includes("\u001b"), false);
  assert.equal(column.sortKey("b"), "b");
  assert.deepEqual([column.id, column.align, column.cut], ["last used", "left", "middle"]);
});

test("a number has thousands separators, sorts by value and is right-aligned", () => {
  const column = countColumn<number>(PLACE, (row) => row);
  assert.deepEqual(column.cell(4_812_330, NOW), { text: "4,812,330", tone: "plain" });
  assert.equal(column.sortKey(4_812_330), 4_812_330);
  assert.equal(column.align, "right");
});

test("an unknown value is a dash and sorts last", () => {
  for (const column of [textColumn<null>(PLACE, () => null), countColumn<null>(PLACE, () => null)]) {
    assert.deepEqual(column.cell(null, NOW), { text: "-", tone: "dim" });
    assert.equal(column.sortKey(null), null);
  }
});

test("a time is shown by the clock and sorts by its value", () => {
  const column = momentColumn<string>(PLACE, (row) => row);
  assert.equal(column.cell("2026-11-20T13:58:40.000Z", NOW).text, "13:58:40Z");
  assert.equal(column.cell("2026-11-19T13:58:40.000Z", NOW).text, "2026-11-19 13:58Z");
  assert.equal(column.sortKey("2026-11-20T13:58:40.000Z"), Date.parse("2026-11-20T13:58:40Z"));
});
