/** Random statements, and randomly damaged valid ones: each is answered or refused, and nothing else happens. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { GatewayError } from "../../../../src/base/index.ts";
import { randomFloor } from "../../../support/random-length.ts";
import { ALL_TABLES, fixedRows, never, openTestEngine, readData } from "./support.ts";

const TOKENS = (
  "SELECT SELECT FROM FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET UNION ALL EXCEPT INTERSECT WITH AS DISTINCT JOIN LEFT " +
  "INNER CROSS ON USING AND OR NOT IN IS NULL LIKE ESCAPE BETWEEN CASE WHEN THEN ELSE END CAST EXISTS ASC DESC NULLS FIRST " +
  "true false keys budgets profiles name key limit used profile metadata by status k b t constructor __proto__ toString " +
  "count sum min max avg group_concat upper lower substr length replace round coalesce nullif epoch now json_array_length " +
  "CREATE FUNCTION INTO CSV JSON ATTACH SET DECLARE SOURCE REQUIRE ECHO EXPLAIN integer text real boolean " +
  "( ( ( ) ) ) , , . * * + - / % = <> < > <= >= || ->> -> ; ? 0 1 2 1.5 1e308 9007199254740991 'a' '' '%' '''' '{\"a\":[1]}' " +
  '"name" "limit" "x" `` ` [ ] { } @ $ # : \\ ! ~ & | ^ -- /* */ \u00a0 \u0430 \u0000'
).split(" ");

const soup = fc.array(fc.constantFrom(...TOKENS), { minLength: 1, maxLength: 30 }).map((tokens) => tokens.join(" "));

const valid = (JSON.parse(readData("statements.json")) as readonly { readonly sql: string }[])
  .map(({ sql }) => sql)
  .filter((sql) => !/[?]|--/.test(sql));

const wordsOf = (sql: string): string[] => sql.match(/'(?:[^']|'')*'|"[^"]*"|\d+\.\d+|\w+|->>|<>|<=|>=|\|\||\S/g) ?? [];

/** Words that can replace each other. */
const KINDS = [
  "= <> < > <= >=",
  "+ - * / % ||",
  "0 1 2 7 10 99 100 0.5 1.0 1.5 NULL true '' 'a' 'chat' 'active' '2'",
  "name profile id status metadata created_at last_used_at expires_at key limit used budget state voter lag day class",
  "count sum min max avg group_concat upper lower length round coalesce ifnull nullif epoch replace substr",
  "keys budgets profiles backends models suspensions cluster_members",
  "AND OR",
  "ASC DESC",
  "UNION EXCEPT INTERSECT",
  "JOIN LEFT",
].map((words) => words.split(" "));

/** Returns another word of the same kind, chosen by the number; the word itself without a kind. */
function standIn(word: string, pick: number): string {
  const kind = KINDS.find((words) => words.includes(word)) ?? [word];
  return kind[pick % kind.length] ?? word;
}

/** Valid statements with a few words replaced by others of their kind; many of these are answered. */
const altered = fc
  .tuple(fc.constantFrom(...valid), fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 6 }))
  .map(([sql, changes]) => {
    const words = wordsOf(sql);
    for (const [at, pick] of changes) {
      const index = at % words.length;
      words[index] = standIn(words[index] ?? "", pick);
    }
    return words.join(" ");
  });

/** Damaged valid statements: words dropped, duplicated, replaced or swapped. */
const damaged = fc
  .tuple(
    fc.constantFrom(...valid),
    fc.array(fc.tuple(fc.nat(), fc.constantFrom("cut", "twice", "change", "swap"), fc.constantFrom(...TOKENS)), {
      minLength: 1,
      maxLength: 3,
    }),
  )
  .map(([sql, changes]) => {
    const words = wordsOf(sql);
    for (const [at, change, token] of changes) {
      const index = at % Math.max(1, words.length);
      const [word = "", next = ""] = words.slice(index, index + 2);
      if (change === "cut") words.splice(index, 1);
      else if (change === "twice") words.splice(index, 1, word, word);
      else if (change === "change") words.splice(index, 1, token);
      else words.splice(index, 2, next, word);
    }
    return words.join(" ");
  });

describe("any input", () => {
  const engine = openTestEngine(fixedRows(), { runLimitMs: 1_000 });
  after(() => engine.close());

  /** Returns the number of answered statements. */
  async function fuzz(statements: fc.Arbitrary<string>, numRuns: number): Promise<number> {
    const globals = Reflect.ownKeys(globalThis);
    const files = readdirSync(".");
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(statements, async (sql) => {
        try {
          const { columns, rows } = await engine.run({ sql, params: [], tables: ALL_TABLES, signal: never() });
          assert.ok(rows.every((row) => row.length === columns.length));
          answered += 1;
        } catch (error) {
          assert.ok(error instanceof GatewayError && error.code === "invalid", error as Error);
        }
      }),
      { numRuns },
    );
    assert.deepEqual(Reflect.ownKeys(globalThis), globals);
    assert.deepEqual(readdirSync("."), files);
    return answered;
  }

  it("is answered or refused if it is a random sequence of tokens", async () => {
    await fuzz(soup, 2_000);
    await fuzz(
      soup.map((text) => `SELECT ${text}`),
      2_000,
    );
  });

  it("is answered or refused if it is a damaged valid statement", async () => {
    await fuzz(damaged, 1_500);
    const answered = await fuzz(altered, 2_000);
    assert.ok(answered > randomFloor(200), `only ${answered} were answered`);
  });

  it("is answered or refused if it has random characters", async () => {
    await fuzz(fc.string({ unit: "binary", maxLength: 60 }), 500);
    await fuzz(
      fc.string({ unit: "grapheme", maxLength: 60 }).map((text) => `SELECT '${text}`),
      500,
    );
  });
});
