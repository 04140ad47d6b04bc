import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cellsOf } from "../../../src/base/index.ts";
import type { WorkbenchState } from "../../../src/console/model/state.ts";
import type { Line } from "../../../src/console/model/text.ts";
import { drawWorkbench } from "../../../src/console/workbench/draw-workbench.ts";
import { EMPTY_WORKBENCH } from "../../../src/console/workbench/workbench.ts";
import { NOW, on, press, pressAll, RESULT, TABLES, textsOf, typed, withResult, withText } from "./support.ts";

const draw = (
  workbench: WorkbenchState,
  size: { columns?: number; rows?: number; isAscii?: boolean } = {},
): readonly Line[] => drawWorkbench(workbench, TABLES, { columns: 80, rows: 14, isAscii: false, now: NOW, ...size });

const trimmed = (lines: readonly Line[]): readonly string[] => textsOf(lines).map((text) => text.trimEnd());

const rule = (text: string, right = "", columns = 80): string => {
  const end = right === "" ? "" : ` ${right} ──`;
  return `── ${text} ${"─".repeat(columns - text.length - 4 - end.length)}${end}`;
};

describe("workbench on the screen", () => {
  it("starts with instructions and the tables that the caller may read", () => {
    const lines = trimmed(draw(EMPTY_WORKBENCH));
    assert.equal(lines[0], "sql>");
    assert.equal(lines[1], "─".repeat(80));
    assert.match(lines[2] ?? "", /^One SELECT/);
    assert.equal(lines.filter((line) => line.startsWith("  select ")).length, 3);
    assert.ok(lines.includes("you may read 4 tables:  backends  budgets  keys  profiles"));
  });

  it("shows a statement of several lines, its parameters and its result", () => {
    const workbench = { ...withResult(), ...pick("select name, used\nfrom t where a = ?"), params: ["ok"] };
    assert.deepEqual(trimmed(draw(workbench, { rows: 9 })), [
      "sql> select name, used",
      "   > from t where a = ?",
      "params:  1 = ok",
      rule("3 rows of n1  11ms  index 88,412", "table"),
      " name     used  tags",
      '>acme       12  ["a","b"]',
      " ∅     1000000  []",
      "            -3  ∅",
      "",
    ]);
  });

  it("draws only ASCII on a terminal without Unicode", () => {
    for (const workbench of [withResult(), EMPTY_WORKBENCH, withText("select 'é'")]) {
      for (const text of textsOf(draw(workbench, { isAscii: true }))) assert.match(text, /^[\x20-\x7e]*$/);
    }
    assert.ok(trimmed(draw(withResult(), { isAscii: true })).includes(" NULL  1000000  []"));
  });

  it("marks the cursor by an inverse cell, also after the last character", () => {
    const inverse = (workbench: WorkbenchState) =>
      draw(workbench)
        .flat()
        .filter(({ isInverse }) => isInverse)
        .map(({ text }) => text);
    assert.deepEqual(inverse(withText("select", 0)), ["s"]);
    assert.deepEqual(inverse(withText("select")), [" "]);
    assert.deepEqual(inverse(withText("a\nb", 1)), [" "]);
    assert.deepEqual(inverse(withText("日本", 1)), ["本"]);
    assert.deepEqual(inverse({ ...withText("select"), isEditing: false }), []);
  });

  it("wraps long lines and scrolls to the cursor", () => {
    const lines = trimmed(draw(withText(`select ${"x".repeat(100)}`), { rows: 10 }));
    assert.deepEqual(lines.slice(0, 2), [`sql> select ${"x".repeat(67)}`, `     ${"x".repeat(33)}`]);
    const tall = withText(Array.from({ length: 50 }, (_, at) => `line ${at}`).join("\n"));
    const shown = trimmed(draw(tall, { rows: 10 })).slice(0, 4);
    assert.deepEqual(shown, ["   > line 46", "   > line 47", "   > line 48", "   > line 49"]);
    assert.equal(trimmed(draw({ ...tall, edit: { ...tall.edit, at: 0 } }, { rows: 10 }))[0], "sql> line 0");
  });

  it("shows the completions with the selected one, and pages through many", () => {
    const open = press(withText("select * from b"), "tab").workbench;
    const line = draw(open)[1] ?? [];
    assert.match(textsOf([line])[0] ?? "", /^backends {2}budgets .* 1\/2$/);
    assert.deepEqual(
      line.filter(({ isInverse }) => isInverse).map(({ text }) => text),
      ["backends"],
    );
    const many = pressAll(withText("select  from keys", 7), [...Array.from({ length: 20 }, () => "tab")]).workbench;
    const chosen = (draw(many, { columns: 60 })[1] ?? []).filter(({ isInverse }) => isInverse);
    assert.equal(chosen.length, 1);
  });

  it("shows how many parameters are missing", () => {
    assert.match(trimmed(draw(withText("select ?, ?")))[1] ?? "", /^params: {2}2 wanted, 0 given: ctrl-p$/);
    const editing = pressAll(withText("select ?"), ["ctrl-p", ...typed("a\nb")]).workbench;
    assert.deepEqual(trimmed(draw(editing)).slice(0, 3), ["sql> select ?", "  1> a", "  2> b"]);
  });

  it("asks for a name in a separate line and lists matching files", () => {
    const saved = {
      ...withText("x"),
      statements: new Map([
        ["hot", "x"],
        ["hotter", "y"],
        ["cold", "z"],
      ]),
    };
    const asking = pressAll(saved, ["ctrl-g", "h"]).workbench;
    assert.equal(trimmed(draw(asking))[1], "load the statement: h    hot  hotter");
  });

  it("shows how long a statement runs, and the gateway's error if it fails", () => {
    const running = press(withText("select 1"), "ctrl-r").workbench;
    const lines = drawWorkbench(running, TABLES, { columns: 80, rows: 6, isAscii: false, now: NOW + 4_000 });
    assert.equal(trimmed(lines)[1], rule("running 4s  Esc cancels"));
    const message = `There is no column \`x\u001b[2J\`; ${"word ".repeat(30)}end.`;
    const failed = trimmed(draw(on(running, { kind: "query_failed", id: 7, message })));
    assert.equal(failed[1], rule("failed"));
    assert.match(failed[2] ?? "", /^There is no column `x\\u001b\[2J`; word/);
    assert.match(failed.slice(3).join(" ").trimEnd(), /end\.$/);
  });

  it("shows the result as the JSON document that is exported", () => {
    const json = pressAll(withResult(), ["ctrl-o"]).workbench;
    const lines = trimmed(draw(json));
    assert.equal(lines[2], " [");
    assert.equal(lines[3], '>{"name":"acme","used":12,"tags":["a","b"]},');
    assert.equal(lines[6], " ]");
  });

  it("never cuts a number, scrolls by columns and says which are visible", () => {
    const wide = {
      columns: Array.from({ length: 12 }, (_, at) => ({ name: `column_${at}`, type: "integer" as const })),
      rows: [Array.from({ length: 12 }, (_, at) => 1_000_000_000_000 + at)],
      index: 1,
    };
    for (const column of [0, 5, 11]) {
      const workbench = { ...withResult(wide), result: { row: 0, offset: 0, column, isJson: false } };
      const lines = trimmed(draw(workbench));
      const numbers = (lines[3] ?? "").slice(1).trim().split(/ +/);
      assert.equal(numbers[0], String(1_000_000_000_000 + column));
      for (const number of numbers) assert.match(number, /^10000000000\d\d$/);
      assert.ok((lines[1] ?? "").includes(`columns ${column + 1}-${column + numbers.length} of 12`), lines[1]);
    }
  });

  it("shortens texts before it drops a column", () => {
    const columns = ["a", "b"].map((name) => ({ name, type: "text" as const }));
    const workbench = withResult({ columns, rows: [["x".repeat(200), "yes"]], index: 1 });
    assert.match(trimmed(draw(workbench))[3] ?? "", /^>x{73}… {2}yes$/);
  });

  it("keeps the row under the cursor visible on a lower screen", () => {
    const many = { ...RESULT, rows: Array.from({ length: 100 }, (_, at) => [`row-${at}`, at, null]) };
    const { workbench } = pressAll(withResult(many), ["G"]);
    for (const rows of [5, 9, 30])
      assert.ok(trimmed(draw(workbench, { rows })).some((text) => text.startsWith(">row-99")));
  });

  it("says that there are no rows", () => {
    assert.ok(trimmed(draw(withResult({ ...RESULT, rows: [] }))).includes(" no rows"));
  });

  it("escapes control sequences", () => {
    const hostile = "a\u001b[2J\u202e\u0007\ud800";
    const result = { columns: [{ name: hostile, type: "text" as const }], rows: [[hostile]], index: 1 };
    const states = [
      withResult(result),
      { ...withResult(result), result: { row: 0, offset: 0, column: 0, isJson: true } },
      { ...withText(hostile), params: [hostile] },
      { ...withText("x"), asking: { kind: "save" as const, edit: { text: hostile, at: 1 } } },
    ];
    const tables = [{ name: hostile, description: "", columns: [] }];
    for (const workbench of [...states, EMPTY_WORKBENCH]) {
      const lines = drawWorkbench(workbench, tables, { columns: 80, rows: 12, isAscii: false, now: NOW });
      for (const text of textsOf(lines)) assert.doesNotMatch(text, /[\x00-\x1f\x7f-\x9f\u202e]|\p{Surrogate}/u);
    }
  });

  it("fills exactly the given size", () => {
    const states = [EMPTY_WORKBENCH, withResult(), press(withText("select ? from b"), "tab").workbench];
    for (const workbench of states) {
      for (const rows of [0, 1, 2, 3, 5, 40]) {
        for (const columns of [1, 2, 7, 20, 56, 120]) {
          const lines = draw(workbench, { rows, columns });
          assert.equal(lines.length, rows);
          for (const text of textsOf(lines)) assert.ok(cellsOf(text) <= columns, `${columns}: ${text}`);
        }
      }
    }
  });
});

const pick = (text: string) => ({ edit: { text, at: 0 } });
