import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cellsOf } from "../../src/base/index.ts";
import { tableLines } from "../../src/cli/table-text.ts";

const text = (name: string) => ({ name, isNumeric: false });
const number = (name: string) => ({ name, isNumeric: true });

const table = (...input: Parameters<typeof tableLines>): string => [...tableLines(...input)].join("");

test("columns are as wide as their widest cell, numbers right-aligned, NULL empty, without trailing blanks", () => {
  const rows = [
    ["alpha", 5, true, null],
    ["b", 1234.5, false, '{"a":1}'],
    [null, null, null, "x"],
  ];
  assert.equal(
    table([text("name"), number("limit"), text("ok"), text("json")], rows),
    `name    limit  ok     json
alpha       5  true
b      1234.5  false  {"a":1}
                      x
`,
  );
});

test("a table without rows prints its column names", () => {
  assert.equal(table([text("name"), number("n")], []), "name  n\n");
  assert.equal(table([], []), "\n");
});

test("a row is one line whatever its cells contain", () => {
  assert.equal(table([text("a"), text("b")], [["x\ny", "\u001b[2J"]]), "a     b\nx\\ny  \\u001b[2J\n");
});

test("wide characters are measured in terminal cells", () => {
  assert.equal(
    table(
      [text("a"), text("b")],
      [
        ["漢字", "x"],
        ["abcd", "y"],
      ],
    ),
    "a     b\n漢字  x\nabcd  y\n",
  );
});

test("in a terminal the widest text is shortened first, and numbers never", () => {
  const columns = [text("id"), text("message"), number("bytes")];
  const rows = [["short", "a message that goes on and on", 123456789012]];
  assert.equal(
    table(columns, rows, 40),
    `id     message                     bytes
short  a message that goe…  123456789012
`,
  );
});

test("a table that cannot fit is cut at the edge", () => {
  const columns = [text("first"), text("second"), text("third")];
  assert.equal(table(columns, [["aaaaaaaaaaaa", "bbbbbbbbbbbb", "cc"]], 15), "first     seco…\naaaaaaa…  bbbb…\n");
});

test("no line is wider than the terminal, and piped output is not cut", () => {
  const value = fc.oneof(fc.string({ unit: "grapheme" }), fc.integer(), fc.constant(null), fc.boolean());
  const rows = fc.array(fc.array(value, { minLength: 3, maxLength: 3 }), { maxLength: 10 });
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 60 }), (input, width) => {
      const columns = [text("a"), number("b"), text("c")];
      for (const line of tableLines(columns, input, width)) assert.ok(cellsOf(line.slice(0, -1)) <= width, line);
      assert.ok(
        !table(
          columns,
          input.map((row) => row.filter((it) => typeof it !== "string")),
        ).includes("…"),
      );
    }),
  );
});
