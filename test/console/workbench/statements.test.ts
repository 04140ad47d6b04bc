/** Statements written by the console itself, run by the gateway's own engine. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Context } from "../../../src/console/model/context.ts";
import type { Data } from "../../../src/console/model/data.ts";
import type { TableState } from "../../../src/console/model/state.ts";
import { listingIn, tableOfView } from "../../../src/console/store/listing.ts";
import { rowsStatement } from "../../../src/console/store/rows-statement.ts";
import { VIEWS } from "../../../src/console/views/all.ts";
import { complete } from "../../../src/console/workbench/complete-sql.ts";
import { EXAMPLES } from "../../../src/console/workbench/result-hints.ts";
import { describeTables } from "../../../src/server/admin/query/index.ts";
import { ALL_TABLES, fixedRows, never, openTestEngine } from "../../server/admin/query/support.ts";

const engine = openTestEngine(fixedRows());
after(() => engine.close());

const UNTOUCHED: TableState = {
  cursorId: undefined,
  cursorAt: 0,
  offset: 0,
  sort: undefined,
  filter: "",
  marks: new Set(),
  isWide: false,
  scrolled: 0,
  isNarrowed: false,
};

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
  const rows: Readonly<Record<string, readonly unknown[]>> = fixedRows();
  const known = (id: string): unknown => rows[id.slice("list_".length)];
  const data: Data = {
    get: ({ id }) =>
      known(id) === undefined
        ? undefined
        : ({ value: known(id), freshAt: 0, requestedAt: 0, failure: undefined } as never),
  };
  const context = (subject?: string): Context => ({
    data,
    now: Date.parse("2026-01-10T00:00:00Z"),
    subject,
    isReadOnly: false,
    isAscii: false,
    endpointFlags: "",
    tail: undefined,
    verification: undefined,
  });
  const opened = VIEWS.flatMap((view) =>
    view.body.kind === "table" && view.body.query !== undefined
      ? [{ view, body: view.body, query: view.body.query }]
      : [],
  );

  /** Returns the keys of the rows on the screen, and of those the statement finds; both sorted. */
  async function keysOf(
    { view, body, query }: (typeof opened)[number],
    changes: Partial<TableState>,
    subject?: string,
  ) {
    const of: TableState = { ...UNTOUCHED, ...changes };
    const listing = listingIn(tableOfView(view, body, context(subject)), body, of);
    const { sql, isFiltered } = rowsStatement(query, listing, of, subject !== undefined);
    assert.ok(isFiltered);
    const columns = [...query.key, ...query.columns].join(", ");
    const { rows: found } = await run(sql.replace(/^SELECT .*? FROM /, `SELECT ${columns} FROM `));
    const keyOf = (row: Readonly<Record<string, unknown>>): string =>
      query.key.map((name) => String(row[name] ?? null)).join(" ");
    const shown = listing.order.map((at) => keyOf(listing.table.jsonOf(at) as Record<string, unknown>));
    const selected = found.map((values) => values.slice(0, query.key.length).map(String).join(" "));
    return { sql, shown: shown.sort(), selected: selected.sort() };
  }

  const words = (json: unknown): readonly string[] =>
    [...JSON.stringify(json).matchAll(/[\w.%-]{2,}/g)].map(([word]) => word);

  for (const of of opened) {
    it(`has the rows of ${of.view.id}: all, filtered by text, by pattern, inverted, and narrowed`, async () => {
      const all = tableOfView(of.view, of.body, context());
      const some = Array.from({ length: Math.min(all.count, 6) }, (_, at) => words(all.jsonOf(at))).flat();
      const texts = [...new Set(some)].slice(0, 40);
      const filters = ["", ...texts, ...texts.slice(0, 8).flatMap((text) => [`!${text}`, `/${text}|zz/`])];
      const none = ["no such row", "it's", "100%_\\"];
      for (const filter of [...filters, ...none]) {
        const { sql, shown, selected } = await keysOf(of, { filter });
        assert.deepEqual(selected, shown, `${filter}: ${sql}`);
      }
      const narrowed = await keysOf(of, { isNarrowed: true });
      assert.deepEqual(narrowed.selected, narrowed.shown, narrowed.sql);
    });
  }

  it("uses the columns of the filter and of the operator's sort", async () => {
    const keys = opened.find(({ view }) => view.id === "keys");
    assert.ok(keys);
    const [first] = rows["keys"] as readonly { readonly name: string; readonly id: string }[];
    assert.ok(first);
    const { sql } = await keysOf(keys, {
      filter: `name=${first.name},`,
      sort: { column: "profile", isDescending: true },
    });
    assert.match(sql, new RegExp(`WHERE name = '${first.name}' ORDER BY profile DESC$`));
    const { sql: ofId, shown } = await keysOf(keys, {}, first.id);
    assert.deepEqual(shown, [first.name]);
    assert.match(ofId, new RegExp(`WHERE name IN \\('${first.name}'\\)`));
  });

  it("are there for most tables", () => assert.ok(opened.length >= 15));
});

describe("completion over the gateway's own tables", () => {
  const { items } = describeTables(ALL_TABLES);

  it("offers every column of each table under the gateway's name", async () => {
    for (const { name, columns } of items) {
      const sql = `select t. from ${name} t`;
      const candidates = complete(sql, 9, items)?.candidates ?? [];
      assert.deepEqual(
        candidates,
        columns.map((column) => column.name),
      );
      const { columns: found } = await run(`select ${candidates.map((word) => `t.${word}`).join(", ")} from ${name} t`);
      assert.equal(found.length, columns.length);
    }
  });

  it("offers functions that the gateway calls", async () => {
    const { rows } = await run("select count(*), max(lower(name)) from keys");
    assert.equal(rows.length, 1);
    const candidates = complete("select  from keys", 7, items)?.candidates ?? [];
    for (const word of ["count(", "max(", "lower("]) assert.ok(candidates.includes(word));
  });
});
