/** Limits of a statement, and that a stopped one leaves nothing behind. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import type { QueryResult } from "../../../../src/admin-api/index.ts";
import { GatewayError, nullLog } from "../../../../src/base/index.ts";
import type { QuerySource } from "../../../../src/server/admin/query/index.ts";
import { ALL_TABLES, never, openParsingEngine, openTestEngine, sourceOf, type TestEngine } from "./support.ts";

const KEYS = Array.from({ length: 1_000 }, (_, n) => ({
  id: `id${n}`,
  name: `key-${n}`,
  profile: n % 3 === 0 ? null : `p${n % 7}`,
  metadata: { team: `t${n % 11}` },
  created_at: "2026-01-01T00:00:00.000Z",
  expires_at: null,
  last_used_at: null,
  status: "active",
}));

const run = (engine: TestEngine, sql: string, signal = never()): Promise<QueryResult> =>
  engine.run({ sql, params: [], tables: ALL_TABLES, signal });

async function refusalOf(work: Promise<unknown>): Promise<{ readonly code: string; readonly reason: unknown }> {
  const error = await work.then(
    () => assert.fail("it was not refused"),
    (it: unknown) => it,
  );
  assert.ok(error instanceof GatewayError, String(error));
  const { details } = error as { details?: { readonly reason?: unknown } };
  return { code: error.code, reason: details?.reason };
}

const ENDLESS = "SELECT count(*) FROM keys a, keys b, keys c, keys d";

describe("limits of a statement", () => {
  const engine = openTestEngine({ keys: KEYS }, { runLimitMs: 5_000 });
  after(() => engine.close());

  it("stop one that runs too long, and run the next", async () => {
    assert.deepEqual(await refusalOf(run(engine, ENDLESS)), { code: "invalid", reason: "time" });
    assert.deepEqual((await run(engine, "SELECT count(*) FROM keys")).rows, [[1_000]]);
  });

  /** Far longer than any of these takes to be stopped. */
  const patient = openTestEngine({ keys: KEYS }, { runLimitMs: 60_000 });
  after(() => patient.close());

  it("stop one whose answer has too many rows", async () => {
    const few = "SELECT a.id FROM keys a, keys b WHERE b.name < 'key-19'";
    assert.deepEqual(await refusalOf(run(patient, few)), { code: "invalid", reason: "rows" });
  });

  const doubled = (times: number): string =>
    Array.from({ length: times }).reduce<string>((it) => `replace(${it}, 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaa')`, "'a'");

  for (const [what, sql] of Object.entries({
    "a text that grows with each step": `SELECT ${doubled(12)}`,
    "a text concatenated with itself": `WITH a (x) AS (SELECT '${"x".repeat(1_000)}'), b (x) AS (SELECT x||x||x||x||x||x||x||x FROM a), c (x) AS (SELECT x||x||x||x||x||x||x||x FROM b), d (x) AS (SELECT x||x||x||x||x||x||x||x FROM c) SELECT x||x||x||x||x||x||x||x FROM d`,
    "many long texts": `SELECT max(length(a.name || '${"x".repeat(2_000)}')) FROM keys a, keys b`,
    "all names joined into one text": "SELECT group_concat(a.metadata || b.metadata) FROM keys a, keys b",
    "rows that are only sorted": "SELECT a.id FROM keys a, keys b, keys c ORDER BY a.name || b.name LIMIT 1",
    "one group per row":
      "SELECT count(*) FROM (SELECT a.id, b.id AS o, c.id AS p FROM keys a, keys b, keys c GROUP BY 1, 2, 3) t",
    "a long JSON text parsed again for each row": `WITH a (x) AS (SELECT '{"a":"' || replace('${"a".repeat(1_000)}', 'a', '${"y".repeat(1_000)}') || '"}') SELECT k.id, a.x ->> 'a' FROM keys k, a`,
    "values that are counted once each": "SELECT count(DISTINCT a.id || b.id) FROM keys a, keys b, keys c",
  })) {
    it(`stop ${what} before memory runs out`, async () => {
      assert.deepEqual(await refusalOf(run(patient, sql)), { code: "invalid", reason: "memory" });
      assert.deepEqual((await run(patient, "SELECT 1")).rows, [[1]]);
    });
  }

  const LONG = `WITH a (x) AS (SELECT replace('${"a".repeat(1_000)}', 'a', '${"y".repeat(1_000)}'))`;

  for (const [what, sql, rows] of [
    [
      "ordering rows by a long text",
      `${LONG} SELECT k.name FROM keys k, a ORDER BY a.x DESC, k.name LIMIT 2`,
      [["key-0"], ["key-1"]],
    ],
    ["the minimum of long texts", `${LONG} SELECT length(min(a.x)) FROM keys k, a`, [[1_000_000]]],
    ["measuring long texts", `${LONG} SELECT max(instr('🦀' || substr(a.x, 3), 'y')) FROM a`, [[2]]],
    [
      "comparing a long text with a long pattern",
      `${LONG} SELECT count(*) FROM a WHERE a.x LIKE a.x AND a.x LIKE a.x || '%'`,
      [[1]],
    ],
  ] as const) {
    it(`allow ${what} without a copy per row`, async () => {
      const engine = openTestEngine({ keys: KEYS.slice(0, 300) }, { runLimitMs: 30_000 });
      try {
        await run(engine, "SELECT 1");
        const before = process.memoryUsage().rss;
        assert.deepEqual((await run(engine, sql)).rows, rows);
        const grownMb = (process.memoryUsage().rss - before) / 2 ** 20;
        assert.ok(grownMb < 200, `${grownMb} MB`);
      } finally {
        await engine.close();
      }
    });
  }

  it("read only the named columns", async () => {
    const row = Object.defineProperty({ name: "a" }, "metadata", {
      enumerable: true,
      get: () => assert.fail("metadata was read"),
    });
    const careful = openTestEngine({ keys: [row] });
    try {
      assert.deepEqual((await run(careful, "SELECT k.name, count(*) FROM keys k GROUP BY name")).rows, [["a", 1]]);
    } finally {
      await careful.close();
    }
  });
});

describe("stopped statements", () => {
  it("leave no worker behind", async () => {
    const alive = new Set<Worker>();
    let started = 0;
    const onWorker = (worker: Worker): void => {
      started += 1;
      alive.add(worker);
      worker.once("exit", () => alive.delete(worker));
    };
    process.on("worker", onWorker);
    try {
      const engine = openTestEngine({ keys: KEYS }, { runLimitMs: 50 });
      for (let turn = 0; turn < 4; turn++) {
        assert.deepEqual(await refusalOf(run(engine, ENDLESS)), { code: "invalid", reason: "time" });
        // Nothing waits between the end of one and the start of the next.
        const limit = performance.now() + 20_000;
        while ((started < turn + 2 || alive.size !== 1) && performance.now() < limit) await nextTurn();
        assert.deepEqual({ started, alive: alive.size }, { started: turn + 2, alive: 1 });
      }
      await engine.close();
      assert.equal(started, 5);
      assert.equal(alive.size, 0);
    } finally {
      process.off("worker", onWorker);
    }
  });

  it("end when their caller disconnects", async () => {
    const engine = openTestEngine({ keys: KEYS });
    try {
      const caller = new AbortController();
      const under = run(engine, ENDLESS, caller.signal);
      const waiting = run(engine, "SELECT 1", caller.signal);
      const next = run(engine, "SELECT 2");
      caller.abort(new Error("gone"));
      await assert.rejects(under, /gone/);
      await assert.rejects(waiting, /gone/);
      assert.deepEqual((await next).rows, [[2]]);
    } finally {
      await engine.close();
    }
  });

  it("are refused when the engine closes, and afterwards", async () => {
    const engine = openTestEngine({ keys: KEYS });
    const under = refusalOf(run(engine, ENDLESS));
    const waiting = refusalOf(run(engine, "SELECT 1"));
    await engine.close();
    assert.equal((await under).code, "busy");
    assert.equal((await waiting).code, "busy");
    assert.equal((await refusalOf(run(engine, "SELECT 1"))).code, "busy");
  });
});

describe("query queue", () => {
  it("runs one statement, keeps eight waiting in order and refuses the next", async () => {
    const engine = openTestEngine({ keys: KEYS });
    try {
      const done: number[] = [];
      const all = Array.from({ length: 9 }, (_, n) =>
        run(engine, `SELECT ${n}`).then(({ rows }) => done.push(Number(rows[0]?.[0]))),
      );
      assert.deepEqual(await refusalOf(run(engine, "SELECT 9")), { code: "busy", reason: undefined });
      await Promise.all(all);
      assert.deepEqual(done, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    } finally {
      await engine.close();
    }
  });
});

describe("snapshot of a statement", () => {
  /** Two tables whose rows must agree; they change whenever a turn passes while they are read. */
  function openChanging(changes: number): { readonly engine: TestEngine; readonly read: () => Promise<QueryResult> } {
    let version = 0;
    const source = (name: string): QuerySource => ({
      version: () => version,
      async take() {
        const rows = [{ name: `${name}-${version}`, id: String(version) }];
        await nextTurn();
        if (changes > version) version += 1;
        return () => rows;
      },
    });
    const engine = openParsingEngine({
      sources: new Map([
        ["keys", source("k")],
        ["profiles", source("p")],
      ]),
      index: () => 100 + version,
      now: () => 0,
      log: nullLog,
    });
    return { engine, read: () => run(engine, "SELECT k.name, p.name FROM keys k, profiles p") };
  }

  it("covers all rows of an answer and its index", async () => {
    const { engine, read } = openChanging(3);
    try {
      assert.deepEqual(await read(), {
        columns: [
          { name: "name", type: "text" },
          { name: "name", type: "text" },
        ],
        rows: [["k-3", "p-3"]],
        index: 103,
      });
    } finally {
      await engine.close();
    }
  });

  it("is unavailable if the lists keep changing, and the caller is asked to retry", async () => {
    const { engine, read } = openChanging(Number.POSITIVE_INFINITY);
    try {
      assert.deepEqual(await refusalOf(read()), { code: "busy", reason: undefined });
      assert.deepEqual((await run(engine, "SELECT 1")).rows, [[1]]);
    } finally {
      await engine.close();
    }
  });

  it("is awaited without blocking the event loop", async () => {
    const many = Array.from({ length: 40_000 }, (_, n) => ({ name: `k${n}`, id: `${n}` }));
    const engine = openParsingEngine({
      sources: new Map([["keys", sourceOf(many)]]),
      index: () => 1,
      now: () => 0,
      log: nullLog,
      runLimitMs: 60_000,
    });
    let isDone = false;
    try {
      let ticks = 0;
      const counted = (async () => {
        for (; !isDone; ticks++) await nextTurn();
      })();
      const { rows } = await run(engine, "SELECT name, id FROM keys");
      isDone = true;
      await counted;
      assert.equal(rows.length, 40_000);
      assert.ok(ticks > 5);
    } finally {
      // Counting would keep the process alive after a failure.
      isDone = true;
      await engine.close();
    }
  });
});
