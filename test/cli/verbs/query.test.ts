/** `gateway query` as typed, with a server that answers in the API's format. */

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { paramOf } from "../../../src/admin-api/index.ts";
import { execute } from "../../../src/cli/main.ts";
import { bufferIo } from "../buffer-io.ts";
import { json, refusal, standIn } from "../fake-gateway.ts";

const RESULT = {
  columns: [
    { name: "name", type: "text" },
    { name: "used", type: "integer" },
    { name: "metadata", type: "json" },
  ],
  rows: [
    ["alpha", 5, '{"a":1}'],
    ["naïve\n", 12_345, null],
    [null, null, null],
  ],
  index: 41,
};

test("rows are printed as a table, with nothing on stderr", async (t) => {
  const { socket, requests } = await standIn(t, (_asked, response) => json(response, 200, RESULT));
  const io = bufferIo({ env: { GATEWAY_ADMIN_SOCKET: socket } });
  assert.equal(await execute(["query", "select * from budgets"], io), 0);
  assert.deepEqual(requests, [
    { method: "POST", url: "/admin/v1/query", type: "application/json", body: '{"sql":"select * from budgets"}' },
  ]);
  assert.equal(
    io.out(),
    `name      used  metadata
alpha        5  {"a":1}
naïve\\n  12345
\n`,
  );
  assert.equal(io.err(), "");
});

test("in a terminal lines are cut to its width and the rows are counted", async (t) => {
  const { socket } = await standIn(t, (_asked, response) =>
    json(response, 200, { ...RESULT, rows: [["a".repeat(50), 1, null]] }),
  );
  const io = bufferIo({ isTerminal: () => true, columns: () => 30 });
  assert.equal(await execute(["query", "-socket", socket, "select 1"], io), 0);
  assert.equal(io.out(), "name            used  metadata\naaaaaaaaaaaaa…     1\n");
  assert.equal(io.err(), "(1 row)\n");
});

test("-o rows prints the answer as one document with NULL, in any terminal", async (t) => {
  const { socket } = await standIn(t, (_asked, response) => json(response, 200, { more: "later", ...RESULT }));
  for (const isTerminal of [true, false]) {
    const io = bufferIo({ isTerminal: () => isTerminal, columns: () => 10 });
    assert.equal(await execute(["query", "-socket", socket, "-o", "rows", "select 1"], io), 0);
    assert.deepEqual(JSON.parse(io.out()), RESULT);
    assert.deepEqual(Object.keys(JSON.parse(io.out())), ["columns", "rows", "index"]);
    assert.equal(io.err(), "");
  }
  const empty = await standIn(t, (_asked, response) => json(response, 200, { columns: [], rows: [], index: 0 }));
  const io = bufferIo();
  assert.equal(await execute(["query", "-socket", empty.socket, "-o=rows", "select 1"], io), 0);
  assert.deepEqual(JSON.parse(io.out()), { columns: [], rows: [], index: 0 });
});

test("-o json prints an object per row, with JSON columns as values", async (t) => {
  const { socket } = await standIn(t, (_asked, response) => json(response, 200, RESULT));
  const io = bufferIo();
  assert.equal(await execute(["query", "-socket", socket, "-o", "json", "select 1"], io), 0);
  assert.equal(
    io.out(),
    `[
{"name":"alpha","used":5,"metadata":{"a":1}},
{"name":"naïve\\n","used":12345,"metadata":null},
{"name":null,"used":null,"metadata":null}
]
`,
  );
});

const JSON_CELLS: readonly (readonly [cell: unknown, text: string])[] = [
  ['{"id":12345678901234567890}', '{"id":12345678901234567890}'],
  ['"5"', '"5"'],
  ["[1,\n2]", "[1,2]"],
  ["no JSON", '"no JSON"'],
  [["a"], '["a"]'],
];

for (const [cell, text] of JSON_CELLS) {
  test(`-o json keeps ${JSON.stringify(cell)} in a JSON column`, async (t) => {
    const answer = { columns: [{ name: "a", type: "json" }], rows: [[cell]], index: 1 };
    const { socket } = await standIn(t, (_asked, response) => json(response, 200, answer));
    const io = bufferIo();
    assert.equal(await execute(["query", "-socket", socket, "-o", "json", "select 1"], io), 0);
    assert.equal(io.out(), `[\n{"a":${text}}\n]\n`);
  });
}

test("-o json prints an empty list for no rows, and refuses duplicate column names", async (t) => {
  const empty = await standIn(t, (_asked, response) => json(response, 200, { ...RESULT, rows: [] }));
  const io = bufferIo();
  assert.equal(await execute(["query", "-socket", empty.socket, "-o", "json", "select 1"], io), 0);
  assert.equal(io.out(), "[]\n");
  const [name] = RESULT.columns;
  const twice = { columns: [name, name], rows: [["a", "b"]], index: 1 };
  const { socket } = await standIn(t, (_asked, response) => json(response, 200, twice));
  const refused = bufferIo();
  assert.equal(await execute(["query", "-socket", socket, "-o", "json", "select 1"], refused), 2);
  assert.equal(refused.out(), "");
  assert.match(
    refused.err(),
    /two columns are named 'name', which JSON objects cannot represent: rename one with AS, or give -o rows/,
  );
});

test("-o csv follows RFC 4180 with a header: NULL is an empty field, the empty text is quoted", async (t) => {
  const rows = [...RESULT.rows, ['say "hi", all', -1, ""], [" a ", 0, "=1+1"]];
  const { socket } = await standIn(t, (_asked, response) => json(response, 200, { ...RESULT, rows }));
  const io = bufferIo();
  assert.equal(await execute(["query", "-socket", socket, "-o", "csv", "select 1"], io), 0);
  const lines = [
    "name,used,metadata",
    'alpha,5,"{""a"":1}"',
    '"naïve\n",12345,',
    ",,",
    '"say ""hi"", all",-1,""',
    '" a ",0,=1+1',
  ];
  assert.equal(io.out(), lines.map((line) => `${line}\r\n`).join(""));
  assert.equal(io.err(), "");
});

test("a statement is read from stdin, with the values in order", async (t) => {
  const { socket, requests } = await standIn(t, (_asked, response) => json(response, 200, RESULT));
  const io = bufferIo({
    stdin: Readable.from([Buffer.from("select name from keys\nwhere"), Buffer.from(" name = ?\n")]),
  });
  assert.equal(await execute(["query", "-socket", socket, "-p", "a b", "-p", "5", "-p", "-1", "-"], io), 0);
  assert.deepEqual(JSON.parse(requests[0]?.body ?? ""), {
    sql: "select name from keys\nwhere name = ?\n",
    params: ["a b", 5, -1],
  });
});

test("-tables prints a column per line, or the whole answer as JSON", async (t) => {
  const tables = {
    items: [
      {
        name: "keys",
        description: "Virtual keys.",
        columns: [
          { name: "name", type: "text", description: "Its name." },
          { name: "uses", type: "integer", description: "How often." },
        ],
      },
    ],
  };
  const { socket, requests } = await standIn(t, (_asked, response) => json(response, 200, tables));
  const io = bufferIo();
  assert.equal(await execute(["query", "-socket", socket, "-tables"], io), 0);
  assert.equal(
    io.out(),
    `table  column  type     description
keys   name    text     Its name.
keys   uses    integer  How often.
`,
  );
  const whole = bufferIo();
  assert.equal(await execute(["query", "-socket", socket, "-tables", "-o", "json"], whole), 0);
  assert.deepEqual(JSON.parse(whole.out()), tables);
  const csv = bufferIo();
  assert.equal(await execute(["query", "-socket", socket, "-tables", "-o", "csv"], csv), 0);
  assert.equal(
    csv.out(),
    "table,column,type,description\r\nkeys,name,text,Its name.\r\nkeys,uses,integer,How often.\r\n",
  );
  assert.deepEqual(
    requests.map(({ method, url }) => `${method} ${url}`),
    ["GET", "GET", "GET"].map((method) => `${method} /admin/v1/query/tables`),
  );
});

const USAGE: readonly (readonly [words: readonly string[], message: RegExp])[] = [
  [[], /missing argument: SQL/],
  [["select", "1"], /too many arguments, takes SQL/],
  [["  "], /the statement is empty/],
  [["-"], /the statement is empty/],
  [["-tables", "select 1"], /-tables takes no SQL/],
  [["-tables", "-p", "1"], /-tables takes no -p/],
  [["-o", "xml", "select 1"], /flag '-o' is table, csv, json or rows, not 'xml'/],
];

for (const [args, message] of USAGE) {
  test(`'gateway query ${args.join(" ")}' is a usage error`, async () => {
    const io = bufferIo({ env: { GATEWAY_ADMIN_SOCKET: "/nonexistent" } });
    assert.equal(await execute(["query", ...args], io), 2);
    assert.match(io.err(), message);
  });
}

test("a refused statement is status 1, with the reason", async (t) => {
  const { socket } = await standIn(t, (_asked, response) =>
    json(response, 400, refusal("invalid", "There is no table x.")),
  );
  const io = bufferIo();
  assert.equal(await execute(["query", "-socket", socket, "select * from x"], io), 1);
  assert.deepEqual([io.out(), io.err()], ["", "gateway query: 400 invalid: There is no table x.\n"]);
});

for (const answer of [null, [], { columns: [], rows: [1], index: 0 }, { columns: [], rows: [] }, { items: [{}] }]) {
  test(`an answer of another format is refused: ${JSON.stringify(answer)}`, async (t) => {
    const { socket } = await standIn(t, (_asked, response) => json(response, 200, answer));
    for (const args of [["select 1"], ["-tables"]]) {
      const io = bufferIo();
      assert.equal(await execute(["query", "-socket", socket, ...args], io), 1);
      assert.match(io.err(), /is not an answer to a query/);
    }
  });
}

const PARAMS: readonly (readonly [text: string, value: unknown])[] = [
  ["5", 5],
  ["-0.5", -0.5],
  ["0", 0],
  ["true", true],
  ["false", false],
  ["null", null],
  ['"5"', "5"],
  ['"null"', "null"],
  ['"a\\nb"', "a\nb"],
  ["", ""],
  ["05", "05"],
  ["1.50", "1.50"],
  ["+5", "+5"],
  ["1e3", "1e3"],
  ["-0", "-0"],
  ["9007199254740993", "9007199254740993"],
  ["NaN", "NaN"],
  ["Infinity", "Infinity"],
  ["TRUE", "TRUE"],
  ['"a', '"a'],
  ['"a"b"', '"a"b"'],
  ["alpha", "alpha"],
];

for (const [text, value] of PARAMS) {
  test(`-p ${text} is parsed as ${JSON.stringify(value)}`, () => assert.equal(paramOf(text), value));
}

test("any text can be given in double quotes, and any number as in JSON", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => assert.equal(paramOf(JSON.stringify(text)), text)));
  fc.assert(fc.property(fc.integer(), (number) => assert.equal(paramOf(String(number)), number)));
});
