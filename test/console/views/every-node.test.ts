/** Measurements of several nodes merged into one row, and the way from a row to its requests. */

import assert from "node:assert/strict";
import test from "node:test";
import type { RefusalRecord } from "../../../src/admin-api/index.ts";
import { coverageText, mergedRows } from "../../../src/console/model/nodes.ts";
import { filterOf } from "../../../src/console/store/filter.ts";
import { VIEWS } from "../../../src/console/views/all.ts";
import { attentionOf } from "../../../src/console/views/attention.ts";
import { budgetsView } from "../../../src/console/views/budgets.ts";
import { anyOf, callerFilter, profileFilter } from "../../../src/console/views/keys-filters.ts";
import { overviewView } from "../../../src/console/views/overview.ts";
import { providersView } from "../../../src/console/views/providers.ts";
import {
  at,
  backend,
  bodyOf,
  budget,
  cellOf,
  contextOf,
  dataOf,
  MEMBERS,
  NOW,
  rowsShown,
  STATUS,
  startOf,
  suspension,
  tableOfView,
  textsOf,
  whyOf,
} from "./traffic-fixtures.ts";

const part = (node: string, more: Parameters<typeof backend>[1] = {}) => backend("acme", { node, ...more });
const PARTS = [
  part("n1", { rate: 6, error_ratio: 0, in_flight: 1, ttfb_p50_ms: 100, ttfb_p95_ms: 200, retries: 1 }),
  part("n2", {
    rate: 2,
    error_ratio: 0.8,
    in_flight: 2,
    state: "failing",
    ttfb_p50_ms: 300,
    ttfb_p95_ms: null,
    retries: 7,
  }),
  part("n3", {
    rate: 0,
    error_ratio: null,
    in_flight: 0,
    state: "idle",
    ttfb_p50_ms: null,
    ttfb_p95_ms: null,
    retries: 0,
  }),
];
const CLUSTER = { list_backends: [...PARTS, backend("beta")], list_cluster_members: MEMBERS, get_status: STATUS };
const context = contextOf(CLUSTER);

test("a provider is one row over all nodes: sums, the worst state, the slowest node's first byte", () => {
  const [row, other] = mergedRows(context.data, "backends");
  assert.deepEqual(row?.record, {
    ...part("n1, n2, n3"),
    ...{ state: "failing", rate: 8, error_ratio: 0.2, in_flight: 3, ttfb_p50_ms: 300, ttfb_p95_ms: 200, retries: 8 },
    units_per_minute: 3 * 77_110,
  });
  assert.deepEqual([other?.parts.length, other?.record], [1, backend("beta")]);
  assert.deepEqual(
    rowsShown(providersView, context).map(([name, , state, rate, errors]) => [name, state, rate, errors]),
    [
      ["acme", "!FAILING", "8.0", "20.0"],
      ["beta", " ok", "9.1", "0.2"],
    ],
  );
});

test("a column shows where nodes differ, and the pane and JSON have each node's part", () => {
  assert.deepEqual(cellOf(providersView, context, "acme", "nodes"), { text: "FAILING n2", tone: "fail" });
  assert.deepEqual(cellOf(providersView, context, "beta", "nodes"), { text: "1", tone: "dim" });
  const alike = contextOf({ list_backends: [part("n1"), part("n2", { state: "idle" })] });
  assert.equal(cellOf(providersView, alike, "acme", "nodes").text, "2");
  const alone = contextOf({ list_backends: [part("n1")] });
  assert.ok(!tableOfView(providersView, alone).columns.some(({ id }) => id === "nodes"));
  assert.ok(
    textsOf(bodyOf(providersView).pane?.("acme", context) ?? []).includes(
      "nodes     n1 ok 6.0/s 0.0 %   n2 FAILING 2.0/s 80.0 %   n3 idle 0.0/s   ",
    ),
  );
  const table = tableOfView(providersView, context);
  assert.deepEqual(table.jsonOf(0), PARTS);
});

test("an alert names the only node on which a provider fails, with its numbers", () => {
  const [item] = attentionOf(context);
  assert.match(item?.text ?? "", /^only on n2: 80\.0 % of attempts fail, 2\.0\/s/);
  const [everywhere] = attentionOf(
    contextOf({ list_backends: PARTS.map((row) => ({ ...row, state: "failing" as const })) }),
  );
  assert.match(everywhere?.text ?? "", /^20\.0 % of attempts fail, 8\.0\/s/);
});

test("the title says which nodes the numbers cover", () => {
  const of = (more: object) => coverageText(dataOf({ ...CLUSTER, ...more }), { id: "list_backends" });
  assert.equal(of({}), "of all 3 nodes");
  assert.equal(of({ list_cluster_members: MEMBERS.slice(0, 1) }), "of n1");
  assert.equal(coverageText(dataOf({ ...CLUSTER, list_budgets: [] }), { id: "list_budgets" }), "of all 3 nodes");
  assert.equal(coverageText(dataOf({ ...CLUSTER, list_keys: [] }), { id: "list_keys" }), undefined);
  const missing = {
    value: PARTS,
    freshAt: NOW,
    requestedAt: NOW,
    failure: undefined,
    gaps: { unanswered: ["n3"], cut: [] },
  };
  const data = dataOf(CLUSTER);
  const gapped = { get: ((need) => (need.id === "list_backends" ? missing : data.get(need))) as typeof data.get };
  assert.equal(coverageText(gapped, { id: "list_backends" }), "of 2 of 3 nodes");
});

const refusal = (more: Partial<RefusalRecord>): RefusalRecord => ({
  node: "n1",
  caller_kind: "key",
  caller: "ci",
  code: "policy_denied",
  cause: "rule",
  cause_name: "no-opus",
  last_minute: 12,
  last_hour: 30,
  first_at: at(-600),
  last_at: at(-30),
  last_request: "r-1",
  ...more,
});

const refused = (...rows: readonly Partial<RefusalRecord>[]) =>
  attentionOf(contextOf({ list_refusals: rows.map(refusal), list_budgets: [budget("day", { status: "refusing" })] }))
    .filter(({ what }) => what === "REFUSED")
    .map(({ severity, kind, name, text: message }) => [severity, kind, name, message]);

test("a refused caller is one alert over all nodes", () => {
  assert.deepEqual(refused({}, { node: "n2", last_minute: 3, last_hour: 3 }, { code: "gone", last_minute: 0 }), [
    ["warn", "key", "ci", "no-opus refused 15/min with policy_denied, 33 in the hour, on n1, n2"],
  ]);
});

test("the id of an alert about a refused caller needs no quotes in a shell and stays unique", () => {
  const idOf = (more: Partial<RefusalRecord>): string | undefined =>
    attentionOf(contextOf({ list_refusals: [refusal(more)] })).find(({ what }) => what === "REFUSED")?.id;
  assert.equal(idOf({}), "refused:key:ci:policy_denied:rule:no-opus");
  assert.equal(
    idOf({ caller: null, cause: "credential", cause_name: "unknown_key" }),
    "refused:key::policy_denied:credential:unknown_key",
  );
  const names = ["a b", "a:b", "a%20b", "$(x)", "模型", "é'\"`", "~*?[!]{}", "\ud800"];
  const ids = names.map((caller) => idOf({ caller }) ?? "");
  assert.equal(new Set(ids).size, names.length);
  for (const id of ids) assert.match(id, /^[\p{L}\p{N}._@/+:%-]+$/u);
});

test("refusals by a budget are shown with the budget; scanners and suspended callers are notes", () => {
  assert.deepEqual(refused({ cause: "budget", cause_name: "day" }), []);
  assert.equal(refused({ cause: "budget", cause_name: "of another node" }).length, 1);
  assert.deepEqual(
    refused(
      { caller_kind: "unrecognised", caller: null, last_minute: 900 },
      { cause: "suspension", last_minute: 800 },
      { last_minute: 2 },
    ).map(([severity, , name]) => [severity, name]),
    [
      ["note", "unknown caller"],
      ["note", "ci"],
      ["note", "ci"],
    ],
  );
});

test("hundreds of refused callers take seven rows", () => {
  const rows = refused(...Array.from({ length: 300 }, (_, row) => ({ caller: `key-${row}`, last_minute: row + 1 })));
  assert.equal(rows.length, 7);
  assert.equal(rows[0]?.[2], "key-299");
  assert.equal(rows[6]?.[2], "294 more");
});

test("every view with request subjects leads to their requests", () => {
  const leading = VIEWS.filter(({ offers }) => offers.some(({ verb }) => verb === "requests")).map(({ id }) => id);
  for (const id of "overview providers pool errors keys profiles budgets models mcp a2a suspensions refusals guardrails".split(
    " ",
  ))
    assert.ok(leading.includes(id), id);
});

test("a bucket leads to the requests of its callers", () => {
  const list_profiles = ["standard", "batch (eu)", "other"].map((name, row) => ({
    ...{ name, budget: row < 2 ? "day" : null, allowed_models: [], require_caps: [], access_rules: 0 },
    ...{ detectors: null, keys: 1 },
  }));
  const list_budgets = [budget("day"), budget("own", { bucket: "k1", key: "ci" }), budget("own", { bucket: "digest" })];
  const known = contextOf({ list_budgets, list_profiles });
  const filterIn = (id: string) => {
    const intent = startOf(budgetsView, "requests", known, id);
    assert.ok(intent.kind === "go" && intent.place.view === "requests");
    return intent.filter;
  };
  assert.equal(filterIn("own/k1"), callerFilter("ci"));
  assert.equal(whyOf(budgetsView, "requests", known, "own/digest"), "no request names it");
  const both = filterOf(filterIn("day/shared") ?? "");
  assert.ok(both.kind === "match");
  assert.deepEqual(
    ["standard", "batch (eu)", "other", "batch"].map((name) => both.test(`x ${profileFilter(name)} y`)),
    [true, true, false, false],
  );
});

test("a filter for many names stays a valid pattern", () => {
  const many = filterOf(anyOf(Array.from({ length: 50 }, (_, row) => profileFilter(`profile-${row}`))));
  assert.ok(many.kind === "match" && many.test(profileFilter("profile-0")));
});

test("an alert leads to its requests, or says that there are none", () => {
  const all = contextOf({
    ...CLUSTER,
    list_suspensions: [suspension("corp", { kind: "issuer" })],
    list_refusals: [refusal({})],
  });
  const filters = attentionOf(all).map(({ id }) => [
    id.split(":")[0],
    whyOf(overviewView, "requests", all, id) ??
      (startOf(overviewView, "requests", all, id) as { filter?: string }).filter,
  ]);
  assert.deepEqual(filters, [
    ["provider", "provider=acme,"],
    ["refused", "caller=ci,"],
    ["suspension", "no request names it"],
  ]);
});
