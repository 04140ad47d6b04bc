import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  cleanStatement,
  historyOf,
  historyText,
  MAX_HISTORY,
  MAX_MEMORY_BYTES,
  statementsOf,
  statementsText,
  trimHistory,
  whyTooMany,
  withRemembered,
} from "../../../src/console/workbench/saved-statements.ts";

describe("stored history", () => {
  it("has each statement once, at most the newest five hundred", () => {
    const many = Array.from({ length: 700 }, (_, at) => `select ${at % 650}`);
    const kept = trimHistory(many);
    assert.equal(kept.length, MAX_HISTORY);
    assert.equal(kept.at(-1), "select 49");
    assert.equal(new Set(kept).size, MAX_HISTORY);
  });

  it("has at most 256 KiB, and omits longer statements", () => {
    const long = "\u0001".repeat(60_000);
    const kept = trimHistory([
      "select 1",
      long,
      ...Array.from({ length: 10 }, (_, at) => `${at}${"é".repeat(30_000)}`),
    ]);
    assert.ok(Buffer.byteLength(historyText(kept)) <= MAX_MEMORY_BYTES);
    assert.ok(kept.length >= 4 && !kept.includes(long));
  });

  it("is read back unchanged", () => {
    const statement = fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 40 })
      .map(cleanStatement)
      .filter((text) => text.trim() !== "");
    fc.assert(
      fc.property(fc.uniqueArray(statement, { maxLength: 30 }), (statements) => {
        assert.deepEqual(historyOf(historyText(trimHistory(statements))), trimHistory(statements));
      }),
    );
  });

  it("is read from any text without an error", () => {
    assert.deepEqual(historyOf('"a"\nnull\n["b"]\n"c\n\n"\\ud800 \\u001b[2J"\n"  "\n"d"'), ["a", "\ufffd [2J", "d"]);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        for (const statement of historyOf(text)) assert.ok(statement.isWellFormed());
        assert.ok(statementsOf(text).size <= 200);
      }),
    );
  });
});

describe("stored statements", () => {
  it("are read back unchanged, whatever their names", () => {
    const statements = new Map([
      ["__proto__", "select 1"],
      ["constructor", "select\n2"],
      ["7", "select 3"],
    ]);
    assert.deepEqual(new Map([...statementsOf(statementsText(statements))].sort()), new Map([...statements].sort()));
  });

  it("ignore entries that are not named statements", () => {
    const text = JSON.stringify({ "a b": "x", ok: "y", list: ["z"], empty: " ", "": "w", long: "v".repeat(65_537) });
    assert.deepEqual([...statementsOf(text)], [["ok", "y"]]);
    for (const other of ["", "[]", "null", '"a"', "{", "7"]) assert.equal(statementsOf(other).size, 0);
  });

  it("are merged with those of another console; only a deleted one is removed", () => {
    const save = (kept: string, as: string, statement: string): string =>
      withRemembered(kept, { name: "statements", as, statement });
    const both = save(save("", "mine", "select 1"), "yours", "select 2");
    assert.deepEqual(Object.fromEntries(statementsOf(both)), { mine: "select 1", yours: "select 2" });
    assert.deepEqual([...statementsOf(save(both, "mine", ""))], [["yours", "select 2"]]);
    const full = statementsText(new Map(Array.from({ length: 200 }, (_, at) => [`s${at}`, "x"])));
    const names = [...statementsOf(save(full, "one-more", "select 3")).keys()];
    assert.deepEqual([names.length, names[0], names.at(-1)], [200, "s1", "one-more"]);
  });

  it("are refused when they are too many or too long together", () => {
    const many = new Map(Array.from({ length: 201 }, (_, at) => [`s${at}`, "x"]));
    assert.match(whyTooMany(many) ?? "", /200/);
    const long = new Map(Array.from({ length: 5 }, (_, at) => [`s${at}`, "x".repeat(60_000)]));
    assert.match(whyTooMany(long) ?? "", /256 KiB/);
    assert.equal(whyTooMany(new Map([["a", "x"]])), undefined);
  });
});
