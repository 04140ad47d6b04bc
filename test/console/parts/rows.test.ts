/** Rows and the tokens that stand for them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createPaintedRows } from "../../../src/console/parts/rows.ts";

test("a row has one token for as long as it is painted alike, and tokens are filled with the rows", () => {
  const rows = createPaintedRows();
  const [first, second] = [rows.tokenOf(0, "\u001b[31mred\u001b[39m $& $1"), rows.tokenOf(11, "日")];
  assert.equal(rows.tokenOf(0, "\u001b[31mred\u001b[39m $& $1"), first);
  assert.notEqual(rows.tokenOf(11, "月"), second);
  assert.equal(rows.fill(`<${first}>\n<${second}>`), "<\u001b[31mred\u001b[39m $& $1>\n<月>");
});

test("what looks like a token in a row is not filled", () => {
  const rows = createPaintedRows();
  rows.tokenOf(1, "other");
  assert.equal(rows.fill(rows.tokenOf(0, "\u{e000}1.1\u{e001}")), "\u{e000}1.1\u{e001}");
});
