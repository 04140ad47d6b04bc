import assert from "node:assert/strict";
import test from "node:test";
import type { RequestRecord } from "../../../src/admin-api/index.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { keysView } from "../../../src/console/views/keys.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import {
  actionsOf,
  bodyOf,
  bucket,
  cellAt,
  columnAt,
  contextOf,
  dialogOf,
  key,
  NOW,
  offerOf,
  profile,
  startOf,
  suspension,
  tableOfView,
  textsOf,
  whyOf,
} from "./keys-fixture.ts";

const KEYS = [
  key({ name: "prod-chat", id: "aaaa0001", profile: "standard", last_used_at: new Date(NOW - 2_000).toISOString() }),
  key({ name: "prod-search", id: "aaaa0002", profile: "standard", metadata: { team: "core" } }),
  key({ name: "ci-main", id: "aaaa0003", profile: "batch", expires_at: "2026-11-23T14:02:07.000Z" }),
  key({ name: "ci-old", id: "aaaa0004", expires_at: "2026-11-08T14:02:07.000Z", status: "expired" }),
  key({ name: "nb-lab", id: "aaaa0005", expires_at: "2027-06-01T00:00:00.000Z", status: "suspended" }),
];
const OWN = bucket({ bucket: "aaaa0001", key: "prod-chat", used: 4_790_551, remaining: 209_449, status: "low" });
const ANSWERS = {
  list_keys: KEYS,
  list_profiles: [profile(), profile({ name: "batch", budget: null })],
  list_budgets: [bucket(), OWN],
  list_suspensions: [suspension({ name: "nb-lab" })],
};
const CONTEXT = contextOf(ANSWERS);
const TABLE = tableOfView(keysView, CONTEXT);

const row = (at: number): readonly string[] => TABLE.columns.map(({ id }) => cellAt(TABLE, at, id));

test("a key is a row with its permissions, usage and expiry", () => {
  assert.deepEqual(
    TABLE.columns.map(({ head }) => head),
    ["NAME", "PROFILE", "STATE", "CREATED", "LAST USED", "BUDGET", "USED %", "EXPIRES", "ID"],
  );
  assert.deepEqual(
    KEYS.map((_, at) => row(at)),
    [
      ["prod-chat", "standard", "active", "2026-08-02", "2s ago", "day-5m", "~95.8", "never", "aaaa0001"],
      ["prod-search", "standard", "active", "2026-08-02", "-", "day-5m", "41.0", "never", "aaaa0002"],
      ["ci-main", "batch", "active", "2026-08-02", "-", "-", "-", "in 3d", "aaaa0003"],
      ["ci-old", "-", "EXPIRED", "2026-08-02", "-", "-", "-", "12d ago", "aaaa0004"],
      ["nb-lab", "-", "SUSPENDED", "2026-08-02", "-", "-", "-", "2027-06-01", "aaaa0005"],
    ],
  );
});

test("the most important columns are kept, and each has its own letter", () => {
  const kept = TABLE.columns.toSorted((a, b) => a.priority - b.priority).slice(0, 4);
  assert.deepEqual(
    kept.map(({ head }) => head),
    ["NAME", "STATE", "USED %", "LAST USED"],
  );
  assert.equal(new Set(TABLE.columns.map(({ letter }) => letter)).size, TABLE.columns.length);
  assert.deepEqual(bodyOf(keysView).sort, { column: "name", isDescending: false });
});

test("keys that are refused, expire within a week or have a nearly spent bucket need attention", () => {
  assert.deepEqual(
    KEYS.map((_, at) => TABLE.isBad(at)),
    [true, false, true, true, true],
  );
  const spent = contextOf({
    list_keys: KEYS,
    list_profiles: [profile()],
    list_budgets: [bucket({ used: 5_000_000, remaining: 0, status: "exhausted" })],
  });
  assert.equal(tableOfView(keysView, spent).isBad(1), true);
  assert.equal(cellAt(tableOfView(keysView, spent), 1, "used %"), "!100.0");
});

test("unused, unspent and never-ending values sort as unknown", () => {
  const sortKeys = (id: string): readonly unknown[] => KEYS.map((_, at) => TABLE.sortKey(at, columnAt(TABLE, id)));
  assert.deepEqual(sortKeys("last used"), [NOW - 2_000, null, null, null, null]);
  assert.deepEqual(sortKeys("used %"), [4_790_551 / 5_000_000, 0.41, null, null, null]);
  assert.deepEqual(sortKeys("budget"), ["day-5m", "day-5m", null, null, null]);
});

test("a key's own bucket shows its budget while profiles are not known", () => {
  const { list_profiles: _, ...others } = ANSWERS;
  const table = tableOfView(keysView, contextOf(others));
  assert.deepEqual(
    ["budget", "used %"].map((id) => cellAt(table, 0, id)),
    ["day-5m", "~95.8"],
  );
  assert.deepEqual(
    ["budget", "used %"].map((id) => cellAt(table, 1, id)),
    ["-", "-"],
  );
});

test("the pane shows profile, buckets and metadata", () => {
  const pane = bodyOf(keysView).pane;
  assert.deepEqual(textsOf(pane?.("prod-search", CONTEXT) ?? []), [
    "prod-search  id aaaa0002  active  made 2026-08-02 10:00Z  last used -  never expires",
    "profile   standard  models acme-*, pool-*  require_caps tools",
    "          budget day-5m  2 access rules of its own, in addition to those of the deployment  detectors all",
    "budget    day-5m (shared)  ########............  41.0 %  2,050,000 of 5,000,000 in 24h, resets in 9h 57m",
    "metadata  team=core",
  ]);
  assert.match(textsOf(pane?.("nb-lab", CONTEXT) ?? [])[1] ?? "", /SUSPENDED "leaked" by alice@example, until lifted/);
  assert.deepEqual(pane?.("gone", CONTEXT), []);
});

test("the description of a key includes its pane and fields", () => {
  const text = textsOf(bodyOf(keysView).describe?.("prod-search", CONTEXT) ?? []).join("\n");
  assert.match(text, /^prod-search {2}id aaaa0002/);
  assert.match(text, /2,050,000 of 5,000,000/);
  assert.match(text, /created_at +2026-08-02T10:00:00\.000Z/);
  assert.deepEqual(textsOf(bodyOf(keysView).describe?.("gone", CONTEXT) ?? []), ["It no longer exists."]);
});

test("without keys the view says how to mint one, in read-only mode by a command", () => {
  const { empty } = bodyOf(keysView);
  const command = `\`gateway admin -socket /run/gateway.sock -d '{"name":"ci"}' POST keys\``;
  assert.deepEqual(empty(CONTEXT), { sentence: "No keys.", next: `Press m to mint one, or ${command}` });
  assert.equal(empty(contextOf({}, { isReadOnly: true })).next, `Mint one with ${command}`);
});

test("verbs open their dialogs with the requests that follow", () => {
  const request = (verb: "suspend" | "lift" | "remove" | "rotate" | "extend", ids: readonly string[]) =>
    actionsOf(dialogOf(startOf(keysView, verb, ids, CONTEXT)), CONTEXT).map(
      ({ request: { method, path } }) => `${method} ${path}`,
    );
  assert.deepEqual(request("suspend", ["prod-chat"]), ["PUT /admin/v1/suspensions/key:prod-chat"]);
  assert.deepEqual(request("lift", ["nb-lab"]), ["DELETE /admin/v1/suspensions/key:nb-lab"]);
  assert.deepEqual(request("rotate", ["ci-main"]), ["POST /admin/v1/keys/ci-main/rotate"]);
  assert.deepEqual(request("extend", ["ci-main"]), ["PATCH /admin/v1/keys/ci-main"]);
  assert.deepEqual(request("remove", ["ci-main", "ci-old"]), [
    "DELETE /admin/v1/keys/ci-main",
    "DELETE /admin/v1/keys/ci-old",
  ]);
  assert.equal(dialogOf(startOf(keysView, "mint", [], CONTEXT)).title, "Mint a key");
});

test("an unavailable verb says why", () => {
  assert.equal(whyOf(keysView, "lift", ["prod-chat"], CONTEXT), "prod-chat is not suspended");
  assert.match(whyOf(keysView, "suspend", ["nb-lab"], CONTEXT) ?? "", /suspended already, by alice@example/);
  for (const verb of ["rotate", "extend", "remove"] as const) {
    assert.equal(whyOf(keysView, verb, ["gone"], CONTEXT), "gone no longer exists");
    assert.equal(whyOf(keysView, verb, ["ci-main"], CONTEXT), undefined);
  }
  assert.equal(whyOf(keysView, "follow", ["nb-lab"], CONTEXT), "nb-lab has no profile, so no budget");
  assert.equal(whyOf(keysView, "follow", ["ci-main"], CONTEXT), "the profile of ci-main has no budget");
  const unspent = contextOf({ ...ANSWERS, list_budgets: [] });
  assert.match(whyOf(keysView, "follow", ["prod-chat"], unspent) ?? "", /has not used budget day-5m yet/);
});

test("follow goes to the bucket: the key's own, or the shared one", () => {
  assert.deepEqual(startOf(keysView, "follow", ["prod-chat"], CONTEXT), {
    kind: "go",
    place: { view: "budgets" },
    filter: "key=prod-chat,",
    row: "day-5m/aaaa0001",
  });
  assert.deepEqual(startOf(keysView, "follow", ["prod-search"], CONTEXT), {
    kind: "go",
    place: { view: "budgets" },
    filter: "budget=day-5m,",
    row: "day-5m/shared",
  });
});

test("only suspending, lifting and revoking take several keys", () => {
  const many = keysView.offers.filter(({ takesMany }) => takesMany === true).map(({ verb }) => verb);
  assert.deepEqual(many, ["suspend", "lift", "remove"]);
  assert.equal(offerOf(keysView, "mint").needsRow, false);
});

test("control characters in minted names are escaped", () => {
  const evil = "a\u001b[2J\u202eb";
  const context = contextOf({ list_keys: [key({ name: evil, id: evil, profile: evil, metadata: { [evil]: evil } })] });
  const table = tableOfView(keysView, context);
  const drawn = [
    ...table.columns.map(({ id }) => cellAt(table, 0, id)),
    ...(bodyOf(keysView).pane?.(evil, context) ?? []).map(textOfLine),
  ];
  assert.doesNotMatch(drawn.join(""), /[\u001b\u202e]/);
});

test("ten thousand keys are a table at once, and a cell costs microseconds", (t) => {
  const keys = Array.from({ length: 10_000 }, (_, at) =>
    key({ name: `key-${String(at).padStart(5, "0")}`, id: `id${String(at).padStart(6, "0")}`, profile: `p${at % 50}` }),
  );
  const profiles = Array.from({ length: 50 }, (_, at) => profile({ name: `p${at}`, budget: `b${at % 10}` }));
  const budgets = keys.map(({ id, name }, at) => bucket({ budget: `b${at % 10}`, bucket: id, key: name }));
  const many = () =>
    contextOf({ list_keys: [...keys], list_profiles: [...profiles], list_budgets: [...budgets], list_suspensions: [] });

  // The fastest of several, to exclude other work of the machine.
  const builds = Array.from({ length: 7 }, () => {
    const context = many();
    const start = cpuMs();
    tableOfView(keysView, context);
    return cpuMs() - start;
  });
  const buildMs = Math.min(...builds);
  const table = tableOfView(keysView, many());
  const start = cpuMs();
  for (let at = 0; at < table.count; at += 1) {
    for (let column = 0; column < table.columns.length; column += 1) table.cell(at, column, NOW);
  }
  const cellUs = ((cpuMs() - start) * 1_000) / (table.count * table.columns.length);
  t.diagnostic(`table ${buildMs.toFixed(1)} ms, cell ${cellUs.toFixed(2)} us`);
  assert.ok(buildMs < 20, `${buildMs} ms`);
  assert.ok(cellUs < 20, `${cellUs} us`);
});

test("a key found by id is shown alone, with its use by node", () => {
  const request = {
    ...{
      id: "r",
      profile: null,
      hop: "llm" as const,
      route: null,
      model: "acme-large",
      provider: null,
      code: null,
      attempts: 1,
    },
    ...{ ttfb_ms: null, total_ms: 5, input_tokens: null, output_tokens: null, decided_by: null },
  } as const;
  const sent = (ago: number, node: string, caller: string, status = 200): RequestRecord => ({
    ...request,
    ...{ time: new Date(NOW - ago).toISOString(), node, caller, status },
  });
  const list_requests = [
    sent(60_000, "n1", "prod-chat"),
    sent(30_000, "n2", "prod-chat"),
    sent(2_000, "n2", "prod-chat", 429),
    sent(1_000, "n3", "ci-main"),
  ];
  const context = contextOf({ ...ANSWERS, list_requests }, { subject: "aaaa0001" });
  const table = tableOfView(keysView, context);
  assert.deepEqual([table.count, table.idOf(0)], [1, "prod-chat"]);
  const pane = textsOf(bodyOf(keysView).pane?.("prod-chat", context) ?? []);
  assert.match(pane[1] ?? "", /^used +3 requests kept, since 14:01:07Z, the last 2s ago; 1 failed or refused$/);
  assert.match(pane[2] ?? "", /^through +n2 2, n1 1 {2}for acme-large$/);
  assert.doesNotMatch(textsOf(bodyOf(keysView).pane?.("prod-chat", CONTEXT) ?? []).join(), /remembered/);
  assert.match(bodyOf(keysView).empty(contextOf(ANSWERS, { subject: "zzzz0000" })).sentence, /has the id zzzz0000/);
});
