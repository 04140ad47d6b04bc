/** Rows of a node of a later version, with states unknown to this console. */
import assert from "node:assert/strict";
import test from "node:test";
import type { KeyRecord, SourceRecord } from "../../../src/admin-api/index.ts";
import type { Context } from "../../../src/console/model/context.ts";
import type { View } from "../../../src/console/model/view.ts";
import { VIEWS } from "../../../src/console/views/all.ts";
import {
  agent,
  backend,
  budget,
  contextOf,
  idsShown,
  member,
  rowsShown,
  STATUS,
  server,
  textsOf,
} from "./traffic-fixtures.ts";

/** A value from the wire, which has no types; a hostile one may contain terminal escapes. */
const LATER = "of\u001blater" as never;
const time = "2026-11-20T14:00:00.000Z";
const KEY: KeyRecord = {
  ...{ id: "abcd1234", name: "ci", profile: null, metadata: {}, created_at: time, expires_at: null },
  ...{ last_used_at: null, status: LATER },
};
const SOURCE: SourceRecord = {
  ...{ name: "base", revision: 1, writer: "api", updated_at: time, by: "a", state: LATER, message: null },
};
const context = contextOf({
  get_status: STATUS,
  list_backends: [backend("one", { state: LATER })],
  list_mcp_servers: [server("one", { state: LATER })],
  list_a2a_agents: [agent("one", { state: LATER })],
  list_budgets: [budget("day", { status: LATER })],
  list_cluster_members: [member("n1", { state: LATER })],
  list_keys: [KEY],
  list_sources: [SOURCE],
});

/** Returns all text of a view, row by row. */
function wordsOf(view: View, at: Context): string {
  const { body } = view;
  if (body.kind === "workbench" || body.kind === "charts") return "";
  if (body.kind === "page") return textsOf(body.lines(at)).join("\n");
  const ids = idsShown(view, at);
  const lines = ids.flatMap((id) => [...(body.pane?.(id, at) ?? []), ...(body.describe?.(id, at) ?? [])]);
  const above = body.above?.(at, { columns: 120, rows: 9 }) ?? [];
  for (const { disabledReason } of view.offers) disabledReason?.({ ids: ids.slice(0, 1) }, at);
  return [...rowsShown(view, at).flat(), ...textsOf(lines), ...textsOf(above)].join("\n");
}

test("an unknown enum value is shown in capitals and escaped", () => {
  for (const id of ["providers", "mcp", "a2a", "budgets", "keys", "cluster", "config"]) {
    const view = VIEWS.find((it) => it.id === id);
    assert.ok(view !== undefined, id);
    const texts = wordsOf(view, context);
    assert.match(texts, /OF\\U001BLATER/, id);
    assert.doesNotMatch(texts, /\u001b/, id);
  }
});

test("no view fails on an unknown enum value", () => {
  for (const view of VIEWS) wordsOf(view, context);
});
