/** Statements that the console itself writes, run by the gateway's own engine. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Context } from "../../../src/console/model/context.ts";
import { VIEWS } from "../../../src/console/views/all.ts";
import { complete } from "../../../src/console/workbench/complete.ts";
import { EXAMPLES } from "../../../src/console/workbench/pages.ts";
import { describeTables } from "../../../src/server/admin/query/index.ts";
import { ALL_TABLES, fixedRows, never, openTestEngine } from "../../server/admin/query/support.ts";

const engine = openTestEngine(fixedRows());
after(() => engine.close());

const run = (sql: string) => engine.run({ sql, params: [], tables: ALL_TABLES, signal: never() });

describe("statements of the console", () => {
  for (const { sql, tables } of EXAMPLES) {
    it(`runs ${sql}`, async () => {
      const { columns } = await run(sql);
      assert.ok(columns.length > 0);
      for (const name of tables) assert.ok(sql.includes(name));
    });
  }

  const ORDERED = [
    "select * from backends order by error_ratio desc",
    "select * from backends where state <> 'ok' order by state, name",
    "select * from budgets order by used desc",
    "select * from budgets order by remaining * 1.0 / limit",
    "select * from keys order by last_used_at desc nulls last",
    "select * from profiles order by name",
    "select * from models",
    "select * from mcp_servers order by name",
    "select * from a2a_agents order by name",
    "select * from suspensions order by created_at desc",
    "select * from secrets order by updated_at desc",
    "select * from sources order by name",
    "select * from cluster_members order by lag desc nulls last",
    "select * from audit_heads order by witnessed_at desc",
    "select * from reconcile order by breaches desc, provider",
    "select * from reconcile_verdicts order by breach desc, day desc",
    "select r.provider, r.judged_to, r.error, v.class, v.ratio, v.breach from reconcile r left join reconcile_verdicts v on v.provider = r.provider and v.day = r.judged_to order by v.breach desc",
  ];
  for (const sql of ORDERED) it(`runs ${sql}`, async () => assert.ok((await run(sql)).columns.length > 0));
});

describe("statements that views open", () => {
  const context: Context = {
    data: { get: () => undefined },
    now: 0,
    subject: "alpha",
    isReadOnly: false,
    isAscii: false,
    doorFlags: "",
    tail: undefined,
    verification: undefined,
  };
  const opened = VIEWS.flatMap(({ id, body }) =>
    body.kind === "table" && body.sql !== undefined ? [{ id, sql: body.sql(context) }] : [],
  );

  for (const { id, sql } of opened) {
    it(`runs that of ${id}`, async () => assert.ok((await run(sql)).columns.length > 0));
  }

  it("are there for most tables", () => assert.ok(opened.length >= 8));
});

describe("completion over the gateway's own tables", () => {
  const { items } = describeTables(ALL_TABLES);

  it("offers for each table every column, and the gateway knows each by that name", async () => {
    for (const { name, columns } of items) {
      const sql = `select t. from ${name} t`;
      const words = complete(sql, 9, items)?.words ?? [];
      assert.deepEqual(
        words,
        columns.map((column) => column.name),
      );
      const { columns: found } = await run(`select ${words.map((word) => `t.${word}`).join(", ")} from ${name} t`);
      assert.equal(found.length, columns.length);
    }
  });

  it("offers functions that the gateway calls", async () => {
    const { rows } = await run("select count(*), max(lower(name)) from keys");
    assert.equal(rows.length, 1);
    const words = complete("select  from keys", 7, items)?.words ?? [];
    for (const word of ["count(", "max(", "lower("]) assert.ok(words.includes(word));
  });
});
