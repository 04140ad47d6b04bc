import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { complete } from "../../../src/console/workbench/complete-sql.ts";
import { tokenizeSql } from "../../../src/console/workbench/sql-tokens.ts";
import { FUNCTIONS, RESERVED } from "../../../src/console/workbench/sql-words.ts";
import { FUNCTION_NAMES } from "../../../src/server/admin/query/functions.ts";
import { TABLES } from "./support.ts";

/** `|` is the cursor. */
function wordsAt(marked: string): readonly string[] {
  const at = marked.indexOf("|");
  return complete(marked.slice(0, at) + marked.slice(at + 1), at, TABLES)?.candidates ?? [];
}

const NAMES = TABLES.map(({ name }) => name);
const KEYS = ["id", "name", "profile", "status"];

const EXACT: readonly (readonly [sql: string, words: readonly string[]])[] = [
  ["|", ["select", "with"]],
  ["sel|", ["select"]],
  ["SEL|", ["SELECT"]],
  ["select * from |", NAMES],
  ["select * from b|", ["backends", "budgets"]],
  ["select * from keys k join pro|", ["profiles"]],
  ["select * from keys, bud|", ["budgets"]],
  ["select k.| from keys k", KEYS],
  ["select k.st| from keys as k where 1 = 1", ["status"]],
  ["select keys.pro| from keys", ["profile"]],
  ["select * from keys k join budgets b on b.key = k.na|", ["name"]],
  ["select * from keys k join budgets b on b.|", ["budget", "bucket", "key", "used", "limit"]],
  ["select error| from backends", ["error_ratio"]],
  ["select * from backends where st|", ["state"]],
  ["select * from backends order by err|", ["error_ratio"]],
  ["select * from backends order |", ["by"]],
  ["select * from backends order by name nulls |", ["first", "last"]],
  ["select * from keys where name is |", ["null", "not null", "true", "false"]],
  ["select * from keys left |", ["join"]],
  ["select * from keys join profiles using (|", ["name"]],
  ["select na| from keys k join profiles p on p.name = k.profile", ["k.name", "p.name"]],
  ["select bu| from keys k join profiles p on p.name = k.profile", ["budget"]],
  ["select b.limit, b.us| from budgets b", ["used"]],
  ["select used, limit, buc| from budgets", ["bucket"]],
  ["select name from keys union |", ["select", "all"]],
  ["select * from (|", ["select", "with"]],
  ["select name from keys where profile in (select na| from profiles)", ["name", "keys.name"]],
  ["select name from keys union select bud| from budgets", ["budget"]],
  ["with hot as (select budget, sum(used) as total from budgets) select * from h|", ["hot"]],
  ["with hot as (select budget, sum(used) as total from budgets) select hot.| from hot", ["budget", "total"]],
  ["with hot (a, b) as (select 1, 2) select h.| from hot h", ["a", "b"]],
  ["select t.| from (select name n, state from backends) t", ["n", "state"]],
  ["select name as |", []],
  ["select 'from |'", []],
  ["select 'from |", []],
  ["select 1 -- from |", []],
  ["select /* from | */ 1", []],
  ['select "na|', []],
  ["select 12|", []],
  ["select x.| from nowhere x", []],
  ["select json_a|", ["json_array_length("]],
];

describe("completion", () => {
  for (const [sql, candidates] of EXACT) it(`offers for ${sql}`, () => assert.deepEqual(wordsAt(sql), candidates));

  it("puts columns before functions and keywords", () => {
    const candidates = wordsAt("select | from keys");
    assert.deepEqual(candidates.slice(0, 4), KEYS);
    assert.ok(candidates.includes("count(") && candidates.includes("distinct"));
  });

  it("offers what may follow a table", () => {
    const candidates = wordsAt("select * from keys |");
    for (const word of ["where", "join", "left join", "order by", "limit"]) assert.ok(candidates.includes(word), word);
    assert.ok(!candidates.includes("name"));
  });

  it("reads only the SELECT around the cursor and its enclosing ones", () => {
    assert.ok(!wordsAt("select | from backends union select name from keys").includes("profile"));
    const inner = wordsAt("select name from profiles p where exists (select 1 from keys k where |)");
    assert.ok(inner.includes("profile") && inner.includes("budget") && inner.includes("p."));
  });

  it("quotes names where needed, and omits those that cannot be quoted", () => {
    const column = (name: string) => ({ name, type: "text" as const, description: "" });
    const items = [{ name: "odd", description: "", columns: [column('a"b c'), column("x\u001b[2J"), column("plain")] }];
    assert.deepEqual(complete("select odd. from odd", 11, items)?.candidates, ['"a""b c"', "plain"]);
  });

  it("offers exactly the gateway's functions", () => {
    assert.deepEqual([...FUNCTIONS].sort(), [...FUNCTION_NAMES].sort());
  });

  it("offers only words that begin with the typed text, for any text", () => {
    const piece = fc.constantFrom(
      ..."select from where join on using group order by ( ) , . ; ? ' \" -- /* */ \n keys k backends name * = as with in is left union".split(
        " ",
      ),
      " ",
      "é",
      "𝒳",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.nat(), (pieces, seed) => {
        const sql = pieces.join(seed % 2 === 0 ? " " : "");
        const at = seed % (sql.length + 1);
        const found = complete(sql, at, TABLES);
        if (found === undefined) return;
        const prefix = sql.slice(found.from, at).toLowerCase();
        assert.ok(found.from <= at && found.candidates.length > 0 && found.candidates.length <= 200);
        for (const word of found.candidates) assert.ok(`.${word.toLowerCase()}`.includes(`.${prefix}`), word);
      }),
      { numRuns: 2_000 },
    );
  });

  it("takes little time for a statement of many tables", () => {
    const sql = `select na from ${Array.from({ length: 3_000 }, () => "keys").join(",")}`;
    assert.ok((complete(sql, 9, TABLES)?.candidates.length ?? 0) > 0);
  });

  it("quickly gives up on a statement with too many tokens", () => {
    const sql = `select ${"(".repeat(30_000)}`;
    assert.equal(complete(sql, sql.length, TABLES), undefined);
  });
});

describe("tolerant tokenizer", () => {
  it("cover any text except blanks, in order and without overlaps", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (sql) => {
        let end = 0;
        for (const { from, to } of tokenizeSql(sql)) {
          assert.ok(from >= end && to > from && sql.slice(end, from).trim() === "");
          end = to;
        }
        assert.equal(sql.slice(end).trim(), "");
      }),
    );
  });

  it("mark unterminated strings, names and comments", () => {
    const open = (sql: string) => tokenizeSql(sql).at(-1)?.isOpen;
    for (const sql of ["'a", "'a''", '"a', "/* a", "/*/", "-- a"]) assert.equal(open(sql), true, sql);
    for (const sql of ["'a'", "'a'''", '"a"', "/* a */", "/**/", "a"]) assert.equal(open(sql), false, sql);
  });

  it("reserve the words that the gateway reserves", () => {
    for (const word of ["select", "from", "where", "limit", "offset", "nulls", "escape"]) assert.ok(RESERVED.has(word));
  });
});
