/** SQL semantics of NULL, joins, groups and sets, compared with plain loops over random rows. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { nullLog } from "../../../../src/base/index.ts";
import { never, openParsingEngine } from "./support.ts";

interface Left {
  readonly name: string;
  readonly profile: string | null;
}
interface Right {
  readonly budget: string;
  readonly key: string | null;
  readonly limit: number;
  readonly used: number;
}

const WORDS = ["a", "b", "constructor", "__proto__", "1", "", "a`b"];
const word = fc.constantFrom(...WORDS);
const lefts = fc.array(fc.record<Left>({ name: word, profile: fc.option(word) }), { maxLength: 8 });
const rights = fc.array(
  fc.record<Right>({
    budget: word,
    key: fc.option(word),
    limit: fc.integer({ min: 0, max: 3 }),
    used: fc.integer({ min: 0, max: 3 }),
  }),
  { maxLength: 8 },
);

type Cells = readonly unknown[];
const distinct = (rows: readonly Cells[]): readonly Cells[] => [
  ...new Map(rows.map((row) => [JSON.stringify(row), row])).values(),
];
const has = (rows: readonly Cells[], row: Cells): boolean =>
  rows.some((it) => JSON.stringify(it) === JSON.stringify(row));
const sum = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((all, it) => all + it, 0);

/** A statement over `keys` k and `budgets` b, and its equivalent as loops. Rows are compared without order. */
const STATEMENTS: Readonly<Record<string, (keys: readonly Left[], budgets: readonly Right[]) => readonly Cells[]>> = {
  "SELECT k.name, b.used FROM keys k JOIN budgets b ON k.profile = b.key": (keys, budgets) =>
    keys.flatMap((k) => budgets.filter((b) => k.profile !== null && b.key === k.profile).map((b) => [k.name, b.used])),
  "SELECT k.name, b.used FROM keys k, budgets b WHERE k.profile = b.key AND b.used > 1": (keys, budgets) =>
    keys.flatMap((k) =>
      budgets.filter((b) => k.profile !== null && b.key === k.profile && b.used > 1).map((b) => [k.name, b.used]),
    ),
  "SELECT k.name, b.used FROM keys k LEFT JOIN budgets b ON k.profile = b.key AND b.used > 1": (keys, budgets) =>
    keys.flatMap((k): readonly Cells[] => {
      const found = budgets.filter((b) => k.profile !== null && b.key === k.profile && b.used > 1);
      return found.length === 0 ? [[k.name, null]] : found.map((b) => [k.name, b.used]);
    }),
  "SELECT k.name, b.used FROM keys k LEFT JOIN budgets b ON k.profile = b.key AND k.name < b.budget": (keys, budgets) =>
    keys.flatMap((k): readonly Cells[] => {
      const found = budgets.filter((b) => k.profile !== null && b.key === k.profile && k.name < b.budget);
      return found.length === 0 ? [[k.name, null]] : found.map((b) => [k.name, b.used]);
    }),
  "SELECT k.name FROM keys k LEFT JOIN budgets b ON k.profile = b.key AND b.limit = b.used WHERE b.key IS NULL": (
    keys,
    budgets,
  ) =>
    keys
      .filter((k) => !budgets.some((b) => k.profile !== null && b.key === k.profile && b.limit === b.used))
      .map((k) => [k.name]),
  "SELECT a.name, c.name FROM keys a JOIN budgets b ON b.key = a.name LEFT JOIN keys c ON c.profile = b.budget": (
    keys,
    budgets,
  ) =>
    keys.flatMap((a) =>
      budgets
        .filter((b) => b.key === a.name)
        .flatMap((b) => {
          const found = keys.filter((c) => c.profile === b.budget);
          return found.length === 0 ? [[a.name, null]] : found.map((c) => [a.name, c.name]);
        }),
    ),
  "SELECT profile, count(*), count(profile), count(DISTINCT name) FROM keys GROUP BY profile": (keys) =>
    distinct(keys.map((k) => [k.profile])).map(([profile]) => {
      const group = keys.filter((k) => k.profile === profile);
      const names = new Set(group.map((k) => k.name)).size;
      return [profile, group.length, profile === null ? 0 : group.length, names];
    }),
  "SELECT key, limit, sum(used), min(used), max(budget), avg(used) FROM budgets GROUP BY key, limit HAVING sum(used) > 1":
    (_keys, budgets) =>
      distinct(budgets.map((b) => [b.key, b.limit]))
        .map(([key, limit]) => {
          const group = budgets.filter((b) => b.key === key && b.limit === limit);
          const used = group.map((b) => b.used);
          const total = sum(used) ?? 0;
          const last = group
            .map((b) => b.budget)
            .sort()
            .at(-1);
          return [key, limit, total, Math.min(...used), last, total / used.length];
        })
        .filter((row) => Number(row[2]) > 1),
  "SELECT sum(used), count(*), min(key) FROM budgets WHERE limit > 1": (_keys, budgets) => {
    const group = budgets.filter((b) => b.limit > 1);
    const names = group.flatMap((b) => (b.key === null ? [] : [b.key])).sort();
    return [[sum(group.map((b) => b.used)), group.length, names[0] ?? null]];
  },
  "SELECT DISTINCT profile, name FROM keys": (keys) => distinct(keys.map((k) => [k.profile, k.name])),
  "SELECT profile FROM keys UNION SELECT key FROM budgets": (keys, budgets) =>
    distinct([...keys.map((k) => [k.profile]), ...budgets.map((b) => [b.key])]),
  "SELECT profile FROM keys UNION ALL SELECT key FROM budgets": (keys, budgets) => [
    ...keys.map((k) => [k.profile]),
    ...budgets.map((b) => [b.key]),
  ],
  "SELECT profile FROM keys EXCEPT SELECT key FROM budgets": (keys, budgets) =>
    distinct(keys.map((k) => [k.profile])).filter(
      (row) =>
        !has(
          budgets.map((b) => [b.key]),
          row,
        ),
    ),
  "SELECT profile FROM keys INTERSECT SELECT key FROM budgets": (keys, budgets) =>
    distinct(keys.map((k) => [k.profile])).filter((row) =>
      has(
        budgets.map((b) => [b.key]),
        row,
      ),
    ),
  "SELECT name FROM keys WHERE profile IN (SELECT key FROM budgets)": (keys, budgets) =>
    keys.filter((k) => k.profile !== null && budgets.some((b) => b.key === k.profile)).map((k) => [k.name]),
  "SELECT name FROM keys WHERE profile NOT IN (SELECT key FROM budgets)": (keys, budgets) =>
    keys
      .filter(
        (k) =>
          budgets.length === 0 || (k.profile !== null && budgets.every((b) => b.key !== null && b.key !== k.profile)),
      )
      .map((k) => [k.name]),
  "SELECT name FROM keys k WHERE NOT EXISTS (SELECT 1 FROM budgets b WHERE b.key = k.profile AND b.used >= 1)": (
    keys,
    budgets,
  ) =>
    keys
      .filter((k) => !budgets.some((b) => k.profile !== null && b.key === k.profile && b.used >= 1))
      .map((k) => [k.name]),
  "SELECT name, (SELECT sum(used) FROM budgets b WHERE b.key = k.profile) FROM keys k": (keys, budgets) =>
    keys.map((k) => [k.name, sum(budgets.filter((b) => k.profile !== null && b.key === k.profile).map((b) => b.used))]),
  "SELECT profile, (SELECT count(*) FROM budgets b WHERE b.key = k.profile) FROM keys k GROUP BY profile": (
    keys,
    budgets,
  ) =>
    distinct(keys.map((k) => [k.profile])).map(([profile]) => [
      profile,
      budgets.filter((b) => profile !== null && b.key === profile).length,
    ]),
  "WITH t AS (SELECT key, sum(used) AS total FROM budgets GROUP BY key) SELECT a.key FROM t a JOIN t b ON a.key = b.key WHERE a.total > 2":
    (_keys, budgets) =>
      distinct(budgets.filter((b) => b.key !== null).map((b) => [b.key])).filter(
        ([key]) => (sum(budgets.filter((b) => b.key === key).map((b) => b.used)) ?? 0) > 2,
      ),
};

const sorted = (rows: readonly Cells[]): readonly string[] => rows.map((row) => JSON.stringify(row)).sort();

describe("statements over random rows", () => {
  let keys: readonly Left[] = [];
  let budgets: readonly Right[] = [];
  const engine = openParsingEngine({
    sources: new Map([
      ["keys", { version: () => 1, take: () => () => keys }],
      ["budgets", { version: () => 1, take: () => () => budgets }],
    ]),
    index: () => 1,
    now: () => 0,
    log: nullLog,
  });
  after(() => engine.close());
  const run = async (sql: string): Promise<readonly Cells[]> =>
    (await engine.run({ sql, params: [], tables: ["keys", "budgets"], signal: never() })).rows;

  for (const [sql, expected] of Object.entries(STATEMENTS)) {
    it(sql, async () => {
      await fc.assert(
        fc.asyncProperty(lefts, rights, async (someKeys, someBudgets) => {
          [keys, budgets] = [someKeys, someBudgets];
          assert.deepEqual(sorted(await run(sql)), sorted(expected(keys, budgets)));
        }),
        { numRuns: 40 },
      );
    });
  }

  it("ORDER BY puts NULLs as requested, sorts numerically and keeps equal rows in order", async () => {
    await fc.assert(
      fc.asyncProperty(
        rights,
        fc.boolean(),
        fc.constantFrom("", "NULLS FIRST", "NULLS LAST"),
        async (rows, isDown, nulls) => {
          budgets = rows;
          const isFirst = nulls === "" ? !isDown : nulls === "NULLS FIRST";
          const order = (a: Right, b: Right): number => {
            if (a.key === b.key) return a.used - b.used;
            if (a.key === null || b.key === null) return (a.key === null) === isFirst ? -1 : 1;
            return a.key < b.key === isDown ? 1 : -1;
          };
          const got = await run(
            `SELECT key, used, budget FROM budgets ORDER BY key ${isDown ? "DESC" : "ASC"} ${nulls}, used`,
          );
          assert.deepEqual(
            got,
            [...rows].sort(order).map((b) => [b.key, b.used, b.budget]),
          );
        },
      ),
      { numRuns: 40 },
    );
  });

  it("numbers of every size sort by value", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { maxLength: 8 }),
        async (values) => {
          budgets = values.map((used) => ({ budget: "", key: null, limit: 0, used: used + 0 }));
          const got = await run("SELECT used FROM budgets ORDER BY used");
          assert.deepEqual(
            got,
            budgets
              .map(({ used }) => used)
              .sort((a, b) => a - b)
              .map((used) => [used]),
          );
        },
      ),
      { numRuns: 40 },
    );
  });
});
