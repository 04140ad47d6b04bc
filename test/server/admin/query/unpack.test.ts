/**
 * `usage` is sent to the worker packed, and the worker unpacks only what the statement distinguishes: the answer equals
 * that over every row. Also the time of a grouped statement on the largest ledger.
 */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { QueryResult, TableName } from "../../../../src/admin-api/index.ts";
import { usageList } from "../../../../src/server/admin/handlers/usage.ts";
import type { Ports } from "../../../../src/server/admin/ports.ts";
import type { QuerySource } from "../../../../src/server/admin/query/index.ts";
import {
  CHUNK_ROWS,
  usedChunkRowKey,
  usedChunkRows,
  usedNamesRowKey,
  usedNamesRows,
} from "../../../../src/server/core/state/commands/used-rows.ts";
import {
  COUNTS,
  FIXED_NAMES,
  HOURS_A_DAY,
  KEPT_DAYS,
  KEPT_HOURS,
  MAX_CALLER_ROWS,
  packRows,
} from "../../../../src/server/core/state/index.ts";
import { randomFloor } from "../../../support/random-length.ts";
import { NOW, never, openTestEngine, type Rows } from "./support.ts";

const NOW_HOUR = Math.floor(NOW / 3_600_000);
const TODAY = Math.floor(NOW_HOUR / HOURS_A_DAY);

interface Period {
  readonly span: "h" | "d";
  readonly at: number;
  /** Traffic type, caller, profile, provider, model, counts. */
  readonly rows: readonly (readonly number[])[];
}

/** The list over rows in the format of the state. */
function sourceOver(periods: readonly Period[], names: readonly string[]): QuerySource {
  const written = new Map<string, string>();
  const chunksOf = new Map<Period["rows"], readonly string[]>();
  for (const { span, at, rows } of periods) {
    const chunks = chunksOf.get(rows) ?? inChunks(rows).map((chunk) => packRows(chunk));
    chunksOf.set(rows, chunks);
    for (const [chunk, packed] of chunks.entries()) {
      written.set(usedChunkRowKey({ span, at, chunk }), usedChunkRows.write({ span, at, chunk, rows: packed }));
    }
    written.set(usedNamesRowKey({ span, at }), usedNamesRows.write({ span, at, names }));
  }
  const keys = [...written.keys()].sort();
  const view = {
    version: () => 1,
    watch: () => () => undefined,
    get: (key: string) => written.get(key),
    *scan(prefix: string) {
      for (const key of keys) if (key.startsWith(prefix)) yield [key, written.get(key)] as const;
    },
  };
  return usageList({ cluster: { view } } as unknown as Pick<Ports, "cluster">) as QuerySource;
}

const inChunks = (rows: Period["rows"]): readonly Period["rows"][] =>
  Array.from({ length: Math.ceil(rows.length / CHUNK_ROWS) }, (_, at) =>
    rows.slice(at * CHUNK_ROWS, (at + 1) * CHUNK_ROWS),
  );

const NAMES = ["ci", "web", "it's", "10", "null"];

const count = fc.oneof(fc.constantFrom(0, 1), fc.nat({ max: 1_000_000 }));
const name = fc.nat({ max: FIXED_NAMES.length + NAMES.length - 1 });
const row = fc
  .tuple(
    fc.nat({ max: 2 }),
    name,
    name,
    name,
    name,
    fc.array(count, { minLength: COUNTS.length, maxLength: COUNTS.length }),
  )
  .map(([hop, caller, profile, provider, model, counts]) => [hop, caller, profile, provider, model, ...counts]);
const period = fc.record({
  span: fc.constantFrom("h" as const, "d" as const),
  ago: fc.nat({ max: 3 }),
  rows: fc.array(row, { minLength: 1, maxLength: 6 }),
});
const ledger = fc
  .uniqueArray(period, { maxLength: 5, selector: ({ span, ago }) => `${span}${ago}` })
  .map((periods) =>
    periods.map(
      ({ span, ago, rows }): Period => ({ span, at: span === "h" ? NOW_HOUR - ago * 7 : TODAY - 9 - ago, rows }),
    ),
  );

const NAMED_COLUMNS = ["hour", "hop", "caller", "profile", "provider", "model"];
const column = fc.constantFrom(...NAMED_COLUMNS);
const counted = fc.constantFrom(...COUNTS);
const either = fc.oneof(column, counted);
const result = fc.oneof(column, fc.constantFrom("substr(hour, 1, 10)", "coalesce(caller, 'nobody')", "upper(model)"));
const text = fc.constantFrom(
  "'ci'",
  "'it''s'",
  "'10'",
  "10",
  "NULL",
  "'2026-01-09T17:00:00Z'",
  "'2026-01'",
  "'2025-12-31'",
  "now()",
  "'other'",
);
const condition: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(either, fc.constantFrom("=", "<>", "<", "<=", ">", ">="), text).map((parts) => parts.join(" ")),
  fc.tuple(text, fc.constantFrom("<", ">="), column).map((parts) => parts.join(" ")),
  fc.tuple(column, text, text).map(([of, a, b]) => `${of} BETWEEN ${a} AND ${b}`),
  fc.tuple(column, text, text).map(([of, a, b]) => `${of} NOT IN (${a}, ${b})`),
  fc.tuple(column, text, text).map(([of, a, b]) => `${of} IN (${a}, ${b})`),
  fc
    .tuple(column, fc.constantFrom("IS NULL", "IS NOT NULL", "LIKE '2026-01-%'", "LIKE 'c_'"))
    .map((it) => it.join(" ")),
  fc.constantFrom(
    "substr(hour, 1, 10) = '2026-01-09'",
    "failed > 0 OR caller = 'ci'",
    "caller = model",
    "exists (SELECT 1 FROM keys WHERE keys.name = caller)",
    "caller IN (SELECT name FROM keys)",
    "epoch(hour) > epoch(now()) - 86400",
    "failed",
  ),
);
const where = fc
  .array(condition, { maxLength: 3 })
  .map((conditions) => (conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`));
const aggregate = fc.oneof(
  counted.map((it) => `sum(${it})`),
  fc.tuple(counted, counted).map(([a, b]) => `sum(${a} + ${b})`),
  fc.tuple(counted, counted).map(([a, b]) => `sum(${a}) - sum(-${b})`),
  fc.tuple(fc.constantFrom("min", "max", "count"), either).map(([of, it]) => `${of}(${it})`),
  either.map((it) => `count(DISTINCT ${it})`),
  fc.constantFrom(
    "count(*)",
    "avg(requests)",
    "group_concat(DISTINCT caller)",
    "sum(DISTINCT failed)",
    "caller",
    "failed",
  ),
);
const grouped = fc
  .record({
    keys: fc.array(result, { maxLength: 3 }),
    values: fc.array(aggregate, { minLength: 1, maxLength: 3 }),
    where,
    having: fc.constantFrom("", " HAVING sum(requests) > 10", " HAVING count(DISTINCT caller) > 1"),
  })
  .map(({ keys, values, where: when, having }) => {
    const by = keys.length === 0 ? "" : ` GROUP BY ${keys.join(", ")}`;
    return `SELECT ${[...keys, ...values].join(", ")} FROM usage${when}${by}${having}`;
  });
const plain = fc
  .tuple(fc.constantFrom("", "DISTINCT "), fc.array(either, { minLength: 1, maxLength: 4 }), where)
  .map(([distinct, columns, when]) => `SELECT ${distinct}${columns.join(", ")} FROM usage${when}`);
const joined = fc
  .tuple(fc.constantFrom("JOIN", "LEFT JOIN"), where)
  .map(
    ([kind, when]) =>
      `SELECT k.name, sum(u.requests) FROM keys k ${kind} usage u ON u.caller = k.name${when.replace(/\b(failed|caller|hour|hop|provider|model|profile)\b/g, "u.$1")} GROUP BY k.name`,
  );
const statement = fc.oneof(
  { weight: 4, arbitrary: grouped },
  { weight: 2, arbitrary: plain },
  joined,
  fc.tuple(grouped, fc.nat({ max: 3 })).map(([it, limit]) => `${it} ORDER BY 1 LIMIT ${limit}`),
  grouped.map((it) => `WITH s AS (${it}) SELECT * FROM s`),
  fc.tuple(plain, plain).map(([a, b]) => `SELECT * FROM (${a}) a, (${b}) b LIMIT 50`),
  fc.constant("SELECT sum(a.requests) FROM usage a JOIN usage b USING (caller, model, hour)"),
);

describe("packed table", () => {
  const other: Rows = { keys: [{ name: "ci" }, { name: "10" }, { name: "nobody" }] };
  let source: QuerySource | undefined;
  const forwarding = (isPacked: boolean): QuerySource => ({
    version: () => 1,
    take: () => source?.take() ?? (() => []),
    ...(isPacked && { parts: async () => (await source?.parts?.()) ?? [] }),
  });
  const engineOver = (isPacked: boolean) => {
    const sources = new Map<TableName, QuerySource>([
      ["usage", forwarding(isPacked)],
      ["keys", { version: () => 1, take: () => () => other.keys ?? [] }],
    ]);
    return openTestEngine({}, { sources });
  };
  const packed = engineOver(true);
  const whole = engineOver(false);
  after(() => Promise.all([packed.close(), whole.close()]));

  const outcome = async (engine: typeof packed, sql: string): Promise<QueryResult | string> => {
    const request = { sql, params: [], tables: ["usage", "keys"] as const, signal: never() };
    return await engine.run(request).catch((error: unknown) => (error as Error).message);
  };

  it("gives the same answers as its unpacked rows", async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(ledger, statement, async (periods, sql) => {
        source = sourceOver(periods, NAMES);
        const expected = await outcome(whole, sql);
        // A row that is left out cannot cause an error.
        if (typeof expected === "string") return;
        answered += expected.rows.length > 0 ? 1 : 0;
        assert.deepEqual(await outcome(packed, sql), expected, sql);
      }),
      { numRuns: Number(process.env["LEDGER_STATEMENTS"] ?? 150) },
    );
    assert.ok(answered > randomFloor(20), `${answered} statements had rows`);
  });
});

describe("ledger at its maximum size", () => {
  const callers = Array.from({ length: 200 }, (_, at) => `caller-${at}`);
  const models = Array.from({ length: 20 }, (_, at) => `a-model-of-the-year-${at}`);
  const names = [...callers, ...models, "a-provider"];
  const number = (of: string): number => FIXED_NAMES.length + names.indexOf(of);
  const rows = Array.from({ length: MAX_CALLER_ROWS }, (_, at) => [
    0,
    number(callers[at % 200] ?? ""),
    0,
    number("a-provider"),
    number(models[(at + Math.floor(at / 200)) % 20] ?? ""),
    ...[40, 1, 120_000, 30_000, 2_000, 9_000, 1_000, 400_000],
  ]);
  const periods = [
    ...Array.from({ length: KEPT_HOURS }, (_, ago): Period => ({ span: "h", at: NOW_HOUR - ago, rows })),
    ...Array.from({ length: KEPT_DAYS }, (_, ago): Period => ({ span: "d", at: TODAY - ago, rows })),
  ];
  const engine = openTestEngine({}, { sources: new Map([["usage", sourceOver(periods, names)]]) });
  after(() => engine.close());
  const run = (sql: string) => engine.run({ sql, params: [], tables: ["usage"], signal: never() });
  /** Corresponds to two seconds on an idle machine. */
  const LIMIT_MS = Number(process.env["LEDGER_LIMIT_MS"] ?? 12_000);
  const all = periods.length * MAX_CALLER_ROWS;

  for (const [title, sql, expected] of [
    ["by caller", "SELECT caller, sum(input_tokens) FROM usage GROUP BY caller", 200],
    ["by caller and model", "SELECT caller, model, sum(requests), sum(units) FROM usage GROUP BY caller, model", 2_000],
    ["of one hour", "SELECT * FROM usage WHERE hour = '2026-01-09T17:00:00Z'", 2_000],
    [
      "of a month, by day and caller",
      "SELECT substr(hour, 1, 10) AS day, caller, sum(requests) FROM usage WHERE hour LIKE '2025-12-%' GROUP BY 1, 2",
      6_200,
    ],
  ] as const) {
    it(`is summed ${title} in time`, async (t) => {
      await run("SELECT 1");
      const began = performance.now();
      let longest = 0;
      let last = began;
      const ticking = setInterval(() => {
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
      }, 1);
      const { rows: answered } = await run(sql);
      clearInterval(ticking);
      const took = performance.now() - began;
      t.diagnostic(`${all} rows, ${took.toFixed(0)} ms, of which the thread was held ${longest.toFixed(1)} ms at most`);
      assert.equal(answered.length, expected);
      assert.ok(took < LIMIT_MS, `${took} ms`);
    });
  }

  it("has the expected size", (t) => {
    const chunks = inChunks(rows).map((chunk, at) => {
      const row = { span: "h", at: NOW_HOUR, chunk: at } as const;
      return [usedChunkRowKey(row), usedChunkRows.write({ ...row, rows: packRows(chunk) })];
    });
    const namesRow = { span: "h", at: NOW_HOUR } as const;
    const period = [...chunks, [usedNamesRowKey(namesRow), usedNamesRows.write({ ...namesRow, names })]];
    const text = period.flat().join("");
    const mib = (bytes: number): string => `${((bytes * periods.length) / 2 ** 20).toFixed(1)} MiB`;
    t.diagnostic(
      `${periods.length} periods of ${MAX_CALLER_ROWS} rows: ${mib(text.length)} in the state and in each view, ` +
        `${mib(gzipSync(text).length)} in a snapshot, ${text.length} bytes a period`,
    );
    t.diagnostic("the worker has 4 MiB of packed rows ahead at most, and 400,000 rows that it makes of them");
    assert.ok(text.length * periods.length < 64 * 2 ** 20);
  });

  it("suggests what to narrow if there are too many groups", async (t) => {
    for (const sql of ["SELECT * FROM usage", "SELECT caller, count(*) FROM usage GROUP BY caller"]) {
      const began = performance.now();
      await assert.rejects(run(sql), /narrow `hour`/);
      t.diagnostic(`refused after ${(performance.now() - began).toFixed(0)} ms`);
    }
    assert.equal((await run("SELECT sum(requests) FROM usage")).rows[0]?.[0], all * 40);
  });
});
