/** Each table of `query` equals its list: the same rows and columns, for any values and column names. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { TABLES, type TableName } from "../../../../src/admin-api/index.ts";
import type { JsonSchema } from "../../../../src/base/index.ts";
import { nullLog } from "../../../../src/base/index.ts";
import { describeTables, type QuerySource } from "../../../../src/server/admin/query/index.ts";
import { ALL_TABLES, never, openParsingEngine, openTestEngine } from "./support.ts";

const AWKWARD = ["", "constructor", "__proto__", "a`b", "a'b", '"', "\\", "null", "0", "1", "é", "𝒳", "\u0000", "\n"];

function valuesOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const types: readonly unknown[] = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]];
  return fc.oneof(...types.map((type) => ofType(type, schema)));
}

function ofType(type: unknown, schema: JsonSchema): fc.Arbitrary<unknown> {
  switch (type) {
    case "null":
      return fc.constant(null);
    case "string":
      if (Array.isArray(schema["enum"])) return fc.constantFrom(...schema["enum"].filter((it) => it !== null));
      if (schema["format"] === "date-time") return fc.date({ noInvalidDate: true }).map((it) => it.toISOString());
      return fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom(...AWKWARD));
    case "integer":
      return fc.oneof(fc.maxSafeInteger(), fc.integer({ min: 0, max: 5 })).map((it) => it + 0);
    case "number":
      return fc.double({ noNaN: true, noDefaultInfinity: true }).map((it) => it + 0);
    case "boolean":
      return fc.boolean();
    case "array":
      return fc.array(valuesOf(schema["items"] as JsonSchema), { maxLength: 3 });
    case "object":
      return fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/), fc.string(), { maxKeys: 3 });
    default:
      throw new Error(`no values for the type ${String(type)}`);
  }
}

const rowsOf = (table: TableName): fc.Arbitrary<readonly Readonly<Record<string, unknown>>[]> =>
  fc.array(
    fc.record(Object.fromEntries(Object.entries(TABLES[table].keys).map(([name, { json }]) => [name, valuesOf(json)]))),
    { maxLength: 8 },
  );

const cell = (value: unknown): unknown => (typeof value === "object" && value !== null ? JSON.stringify(value) : value);

describe("tables", () => {
  let rows: readonly unknown[] = [];
  const source: QuerySource = { version: () => 1, take: () => () => rows };
  const engine = openParsingEngine({
    sources: new Map(ALL_TABLES.map((name) => [name, source])),
    index: () => 1,
    now: () => 0,
    log: nullLog,
  });
  after(() => engine.close());

  for (const table of ALL_TABLES) {
    it(`${table} has the columns and rows of its list`, async () => {
      const names = Object.keys(TABLES[table].keys);
      await fc.assert(
        fc.asyncProperty(rowsOf(table), async (made) => {
          rows = made;
          const all = await engine.run({ sql: `SELECT * FROM ${table}`, params: [], tables: [table], signal: never() });
          assert.deepEqual(
            all.columns.map(({ name }) => name),
            names,
          );
          assert.deepEqual(
            all.rows,
            made.map((row) => names.map((name) => cell(row[name]))),
          );
        }),
        { numRuns: 20 },
      );
    });
  }
});

describe("columns", () => {
  const made = Object.fromEntries(
    ALL_TABLES.map((table) => [
      table,
      fc.sample(
        rowsOf(table).filter((it) => it.length > 0),
        { numRuns: 1, seed: 7 },
      )[0] ?? [],
    ]),
  );
  const engine = openTestEngine(made);
  after(() => engine.close());

  it("can be named in every position, quoted or not, whatever keyword they are", async () => {
    for (const table of ALL_TABLES) {
      for (const column of Object.keys(TABLES[table].keys)) {
        const values = (made[table] ?? []).map((row) => cell(row[column]));
        for (const name of [column, `"${column}"`, column.toUpperCase(), `${table}.${column}`]) {
          const run = (sql: string) => engine.run({ sql, params: [], tables: [table], signal: never() });
          assert.deepEqual(
            (await run(`SELECT ${name} FROM ${table}`)).rows,
            values.map((value) => [value]),
            name,
          );
          const counted = await run(
            `SELECT ${name}, count(${name}) FROM ${table} WHERE ${name} = ${name} GROUP BY ${name} ORDER BY ${name} LIMIT 99`,
          );
          assert.equal(
            counted.rows.reduce((sum, row) => sum + Number(row[1]), 0),
            values.filter((it) => it !== null).length,
          );
          const renamed = await run(
            `SELECT max(it) AS ${name.replace(/.*\./, "")} FROM (SELECT ${name} AS it FROM ${table}) s`,
          );
          assert.equal(renamed.columns.length, 1);
        }
      }
    }
  });

  it("are described with their types, only for tables that the caller may read", () => {
    const { items } = describeTables(["keys", "budgets"]);
    assert.deepEqual(
      items.map(({ name }) => name),
      ["budgets", "keys"],
    );
    const columns = items[1]?.columns.map(({ name, type }) => `${name} ${type}`);
    assert.deepEqual(columns, [
      "id text",
      "name text",
      "profile text",
      "metadata json",
      "created_at text",
      "expires_at text",
      "last_used_at text",
      "status text",
    ]);
    assert.ok(items.every((item) => item.description !== "" && item.columns.every((it) => it.description !== "")));
  });
});
