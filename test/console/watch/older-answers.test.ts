/** Lists of nodes of an earlier and of a later version, which coexist with this one during an upgrade. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TABLES, type TableName } from "../../../src/admin-api/index.ts";
import { listParser } from "../../../src/console/watch/answer-parsers.ts";
import type { Row } from "../../../src/console/watch/read-rules.ts";

/** Columns of the first version that ran beside another. */
const FIRST: Readonly<Partial<Record<TableName, Row>>> = {
  backends: {
    ...{ name: "one", dialect: "compat", state: "ok", suspended_until: null, rate: 1, error_ratio: 0 },
    ...{ ttfb_p50_ms: 1, ttfb_p95_ms: 2, in_flight: 0, retries: 0, failovers_in: 0, failovers_out: 0 },
    ...{ units_per_minute: 0, subsets: [], members: 0 },
  },
  budgets: {
    ...{ budget: "day", bucket: "shared", key: null, limit: 10, used: 1, reserved: 0, granted: 0, remaining: 9 },
    ...{ window: "24h", resets_at: "2026-01-01T00:00:00.000Z", status: "ok", holders: [] },
  },
  cluster_members: {
    ...{ id: "n1", role: "leader", voter: true, raft_addr: "", forward_addr: "", state: "reachable" },
    ...{ last_contact_ms: null, applied: 1, lag: 0, version: "1" },
  },
};

const parse = (table: TableName, items: readonly Row[], known: readonly Row[] = []) =>
  listParser(table)(JSON.stringify({ items, index: 1 }), () => known);

for (const [name, row] of Object.entries(FIRST)) {
  const table = name as TableName;
  test(`${table}: the columns of an earlier version are a valid row, and an unchanged row keeps its identity`, async () => {
    const answer = await parse(table, [row]);
    const [read] = answer?.rows ?? [];
    assert.deepEqual({ ...read, ...row }, read);
    const columns = Object.entries(TABLES[table].keys).flatMap(([name, { presence }]) =>
      presence === "optional" ? [] : [name],
    );
    assert.deepEqual(Object.keys(read ?? {}).sort(), columns.sort());
    assert.equal((await parse(table, [row], answer?.rows))?.rows, answer?.rows);
  });

  test(`${table}: a row without a column of the first version is invalid; a column of a later version is ignored`, async () => {
    for (const missing of Object.keys(row)) {
      const { [missing]: _, ...others } = row;
      assert.equal(await parse(table, [others]), undefined, missing);
    }
    const later = await parse(table, [{ ...row, of_a_later_version: { a: 1 } }]);
    assert.deepEqual(later?.rows[0]?.["of_a_later_version"], { a: 1 });
  });
}
