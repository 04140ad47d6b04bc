/** Rows and the tokens that stand for them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf } from "../../../src/base/index.ts";
import { createPaintedRows, TOKEN_CELLS } from "../../../src/console/parts/rows.ts";

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
  assert.equal(rows.fill(rows.tokenOf(0, "\ue001\ue800")), "\ue001\ue800");
});

test("tokens are as wide as they are said to be, however often a row was painted", () => {
  const rows = createPaintedRows();
  const painted = Array.from({ length: 10_000 }, (_, turn) => `turn ${turn}`);
  for (const row of [0, 999]) {
    const tokens = painted.map((text) => rows.tokenOf(row, text));
    assert.equal(Math.max(...tokens.map(cellsOf)), TOKEN_CELLS);
    assert.ok(tokens.every((token, at) => token !== tokens[at + 1]));
    assert.equal(rows.fill(tokens.at(-1) ?? ""), "turn 9999");
  }
});
