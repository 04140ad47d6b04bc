import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { objectLines, type QueryResult } from "../../../src/admin-api/index.ts";
import { csvOf, exportOf, jsonLineOf, tsvOf, whyNoObjects } from "../../../src/console/workbench/export-result.ts";
import { RESULT } from "./support.ts";

/** Strict RFC 4180 parser; a field has a flag for its quotes. */
function parseCsv(text: string): readonly (readonly { readonly text: string; readonly isQuoted: boolean }[])[] {
  const rows: { text: string; isQuoted: boolean }[][] = [];
  let row: { text: string; isQuoted: boolean }[] = [];
  let at = 0;
  while (at < text.length) {
    let field = "";
    const isQuoted = text[at] === '"';
    if (isQuoted) {
      for (at += 1; ; at += 1) {
        if (at >= text.length) throw new Error("a quote is open");
        if (text[at] !== '"') field += text[at];
        else if (text[at + 1] === '"') {
          field += '"';
          at += 1;
        } else break;
      }
      at += 1;
    } else {
      while (at < text.length && text[at] !== "," && text[at] !== "\r") {
        if (text[at] === '"' || text[at] === "\n") throw new Error("a bare quote or line feed");
        field += text[at++];
      }
    }
    row.push({ text: field, isQuoted });
    if (text[at] === ",") {
      at += 1;
      if (at === text.length || text[at] === "\r") row.push({ text: "", isQuoted: false });
    }
    if (text[at] === "\r") {
      if (text[at + 1] !== "\n") throw new Error("a lone carriage return");
      at += 2;
      rows.push(row);
      row = [];
    }
  }
  return rows;
}

const resultOf = (columns: number, rows: readonly (readonly unknown[])[]): QueryResult => ({
  columns: Array.from({ length: columns }, (_, at) => ({ name: `c${at}`, type: "unknown" as const })),
  rows,
  index: 1,
});

describe("result as CSV", () => {
  it("has a header, CRLF, empty fields for NULL and quotes for the empty text", () => {
    assert.equal(csvOf(RESULT), 'name,used,tags\r\nacme,12,"[""a"",""b""]"\r\n,1000000,[]\r\n"",-3,\r\n');
  });

  it("keeps texts that look like formulas unchanged", () => {
    assert.equal(csvOf(resultOf(4, [["=1+1", "+2", "-3", "@a"]])), "c0,c1,c2,c3\r\n=1+1,+2,-3,@a\r\n");
  });

  it("is read back unchanged", () => {
    const value = fc.oneof(
      fc.string({ unit: "binary", maxLength: 12 }),
      fc.constantFrom("", " ", ",", '"', '""', "\r", "\n", "\r\n", "a,b", "\t"),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    );
    const rows = fc.integer({ min: 1, max: 4 }).chain((columns) =>
      fc.record({
        columns: fc.constant(columns),
        rows: fc.array(fc.array(value, { minLength: columns, maxLength: columns }), { maxLength: 5 }),
      }),
    );
    fc.assert(
      fc.property(rows, ({ columns, rows: values }) => {
        const [head, ...read] = parseCsv(csvOf(resultOf(columns, values)));
        assert.equal(head?.length, columns);
        const expected = values.map((row) =>
          row.map((cell) => (cell === null ? null : typeof cell === "string" ? cell : JSON.stringify(cell))),
        );
        const found = read.map((row) => row.map(({ text, isQuoted }) => (text === "" && !isQuoted ? null : text)));
        assert.deepEqual(found, expected);
      }),
    );
  });
});

describe("result as JSON", () => {
  it("equals the output of `gateway query -o json`: one object per row and line", () => {
    const text = exportOf(RESULT, "result.json");
    assert.equal(text, [...objectLines(RESULT)].join(""));
    assert.deepEqual(JSON.parse(text), [
      { name: "acme", used: 12, tags: ["a", "b"] },
      { name: null, used: 1_000_000, tags: [] },
      { name: "", used: -3, tags: null },
    ]);
    assert.equal(exportOf({ ...RESULT, rows: [] }, "x"), "[]\n");
  });

  it("has the lines shown on the screen", () => {
    const lines = Array.from({ length: RESULT.rows.length + 2 }, (_, at) => jsonLineOf(RESULT, at));
    assert.equal(`${lines.join("\n")}\n`, exportOf(RESULT, "x.json"));
  });

  it("is chosen by the name of the file", () => {
    assert.ok(exportOf(RESULT, "A.CSV").startsWith("name,"));
    assert.ok(exportOf(RESULT, "csv").startsWith("["));
  });

  it("escapes control characters without changing the value", () => {
    const text = exportOf(resultOf(1, [["\u009b2J\u202e"]]), "x.json");
    assert.ok(!/[\u009b\u202e]/.test(text));
    assert.deepEqual(JSON.parse(text), [{ c0: "\u009b2J\u202e" }]);
  });

  it("is refused with a remedy if two columns have the same name", () => {
    assert.equal(whyNoObjects(RESULT), undefined);
    const twice = resultOf(2, [[1, 2]]);
    const columns = twice.columns.map((column) => ({ ...column, name: "\u001bn" }));
    assert.equal(
      whyNoObjects({ ...twice, columns }),
      "two columns are named '\\u001bn', and an object has one: name them apart by AS",
    );
  });
});

describe("row for the clipboard", () => {
  it("has its columns separated by tabs and no other tab or line end", () => {
    assert.equal(tsvOf(["a\tb", 1, null, "c\nd\\", true]), "a\\tb\t1\t\tc\\nd\\\\\ttrue");
  });
});
