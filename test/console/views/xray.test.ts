/** The tree of a caller's dependencies: every part with its state, and the target of Enter. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { GuardrailRecord, RefusalRecord } from "../../../src/admin-api/index.ts";
import { rowsOfTree } from "../../../src/console/format/tree.ts";
import type { Readable } from "../../../src/console/model/data.ts";
import { xrayView } from "../../../src/console/views/xray.ts";
import { bodyOf, bucket, cellAt, contextOf, key, NOW, profile, suspension, tableOfView } from "./keys-fixture.ts";
import { agent, backend, model, server } from "./traffic-fixtures.ts";

const guardrail = (name: string, more: Partial<GuardrailRecord> = {}): GuardrailRecord => ({
  kind: "detector",
  name,
  type: "pii",
  mode: "inline",
  schedule: "sync",
  role: "discover",
  kinds: null,
  threshold: 0,
  timeout_ms: null,
  on_error: "fail_closed",
  entities: null,
  recognizers: [],
  requires: null,
  operator: null,
  controls: [],
  exempt: [],
  fingerprint: null,
  horizon_bytes: null,
  decisions: null,
  errors: 0,
  texts_read: 12,
  texts_remembered: 0,
  node: "n1",
  ...more,
});

const refusal = (more: Partial<RefusalRecord> = {}): RefusalRecord => ({
  node: "n1",
  caller_kind: "key",
  caller: "ci-main",
  code: "budget_exceeded",
  cause: "budget",
  cause_name: "day-5m",
  last_minute: 3,
  last_hour: 40,
  first_at: "2026-11-20T13:10:00.000Z",
  last_at: "2026-11-20T14:02:00.000Z",
  last_request: "req-1",
  ...more,
});

const RULES = [
  { name: "no-opus", action: "deny", layer: "deployment", at: ["llm"] },
  { name: "office-hours", action: "allow", layer: "profile", at: ["llm", "mcp"] },
] as const;

const ANSWERS: Partial<Readable> = {
  list_keys: [
    key({ profile: "standard", last_used_at: "2026-11-20T14:01:07.000Z" }),
    key({ name: "bare", id: "bare1234" }),
  ],
  list_profiles: [profile({ detectors: ["pii"], rules: RULES }), profile({ name: "other", keys: 0, budget: null })],
  list_budgets: [bucket({ used: 5_000_000, remaining: 0, status: "exhausted", refused_per_minute: 4 })],
  list_models: [
    model("acme-large", "acme-chat", { failover: ["acme-alt"] }),
    model("pool-*", "pool-eu", { kind: "pattern" }),
    model("gpt-5", "other"),
  ],
  list_backends: [
    backend("acme-chat", { state: "failing", error_ratio: 0.5 }),
    backend("acme-alt"),
    backend("pool-eu"),
    backend("other"),
  ],
  list_guardrails: [
    guardrail("pii", { errors: 2 }),
    guardrail("secrets"),
    guardrail("no-cards", { kind: "rule", type: "deny", decisions: 7 }),
    guardrail("not-here", { kind: "rule", exempt: ["standard"] }),
  ],
  list_refusals: [refusal(), refusal({ node: "n2", last_minute: 1 }), refusal({ caller: "another" })],
  list_suspensions: [suspension({ kind: "provider", name: "pool-eu" })],
  list_mcp_servers: [server("files")],
  list_a2a_agents: [agent("planner")],
  list_cluster_members: [],
};

const contextFor = (subject: string | undefined, answers: Partial<Readable> = ANSWERS) =>
  contextOf(answers, { subject });

/** Returns `object | state | text` for each row. */
function treeOf(subject: string, answers: Partial<Readable> = ANSWERS): readonly string[] {
  const table = tableOfView(xrayView, contextFor(subject, answers));
  return Array.from({ length: table.count }, (_, at) =>
    ["object", "state", "details"].map((id) => cellAt(table, at, id, NOW)).join(" | "),
  );
}

test("the tree of a key names each part with its state, parents before children", () => {
  assert.deepEqual(treeOf("ci-main"), [
    "key ci-main | active | id abcd1234, last used 1m ago, never expires",
    "├─ refused budget_exceeded by budget day-5m | 4/min | 80 requests in the last hour, the last 7s ago",
    "└─ profile standard | active | 7 keys, requires tools",
    "   ├─ budget day-5m (shared) | SPENT | 0 of 5,000,000 left, resets in 9h 57m, used 5,000,000 (100.0 %), refuses 4/min",
    "   ├─ access rules |  | in the order in which they are evaluated",
    "   │  ├─ deployment rule no-opus | deny | for llm",
    "   │  └─ rule office-hours | allow | for llm, mcp",
    "   ├─ guardrails |  | ",
    "   │  ├─ detector pii | ERRORS | pii, 12 texts read, 2 errors, fail_closed",
    "   │  └─ guardrail rule no-cards | ok | deny, acted 7 times",
    "   ├─ models |  | allowed: acme-*, pool-*",
    "   │  ├─ model acme-large | FAILING | ",
    "   │  │  ├─ provider acme-chat | FAILING | 9.1 req/s, 50.0 % fail, first byte 201ms",
    "   │  │  └─ provider acme-alt | ok | 9.1 req/s, 0.2 % fail, first byte 201ms",
    "   │  └─ model pattern pool-* | NOBODY | no provider in its plan is available",
    '   │     └─ provider pool-eu | SUSPENDED | "leaked" by alice@example, until lifted',
    "   ├─ MCP servers |  | as far as access rules allow",
    "   │  └─ MCP server files | ok | 0.7 req/s, 0.0 % fail, first byte 41ms",
    "   └─ A2A agents |  | as far as access rules allow",
    "      └─ A2A agent planner | ok | 0.7 req/s, 0.0 % fail, first byte 41ms",
  ]);
});

test("failed, suspended, used up and refusing parts need attention", () => {
  const table = tableOfView(xrayView, contextFor("ci-main"));
  const bad = Array.from({ length: table.count }, (_, at) => at).filter((at) => table.isBad(at));
  assert.deepEqual(
    bad.map((at) => table.nameOf(at)),
    ["budget_exceeded by budget day-5m", "day-5m (shared)", "pii", "acme-large", "acme-chat", "pool-*", "pool-eu"],
  );
});

test("other callers are shown too: without a profile, with a missing one, suspended, expired, and a profile itself", () => {
  const withKey = (more: Parameters<typeof key>[0], others: Partial<Readable> = {}) => ({
    ...ANSWERS,
    ...others,
    list_keys: [key(more)],
  });
  const table: readonly (readonly [what: string, tree: readonly string[], ...rows: readonly RegExp[]])[] = [
    [
      "no profile",
      treeOf("bare"),
      /^└─ profile none \| {2}\| no profile: no budget/,
      /models \| {2}\| every routed model: 3/,
    ],
    [
      "a profile that is missing",
      treeOf("ci-main", withKey({ profile: "gone" })),
      /profile gone \| MISSING \| the configuration has no/,
    ],
    [
      "a suspended key",
      treeOf("ci-main", withKey({ status: "suspended" }, { list_suspensions: [suspension()] })),
      /^key ci-main \| SUSPENDED \| "leaked" by alice@example, until lifted/,
    ],
    [
      "an expired key",
      treeOf("ci-main", withKey({ status: "expired", expires_at: "2026-11-20T14:00:00.000Z" })),
      /EXPIRED \|.* expired$/,
    ],
    ["a profile", treeOf("other"), /^profile other \| active \| 0 keys/, /budget none \| {2}\| no limit/],
    [
      "a budget that was not used",
      treeOf("ci-main", { ...ANSWERS, list_budgets: [] }),
      /budget day-5m \| {2}\| nothing spent in this window/,
    ],
    [
      "an older gateway",
      treeOf("ci-main", { ...ANSWERS, list_profiles: [profile()] }),
      /access rules \| {2}\| 2 of the profile; this version of the gateway does not list them/,
    ],
    [
      "a model that nobody serves",
      treeOf("ci-main", { ...ANSWERS, list_profiles: [profile({ allowed_models: ["claude-9"] })] }),
      /model claude-9 \| NOBODY \| the profile allows it, and no provider serves it/,
    ],
    [
      "a rule that refused",
      treeOf("ci-main", {
        ...ANSWERS,
        list_refusals: [refusal({ cause: "rule", cause_name: "profile standard/office-hours" })],
      }),
      /rule office-hours \| allow \| for llm, mcp; refused 40 requests in the last hour/,
    ],
    [
      "a suspended profile",
      treeOf("other", { ...ANSWERS, list_suspensions: [suspension({ kind: "profile", name: "other" })] }),
      /^profile other \| SUSPENDED/,
    ],
  ];
  for (const [what, tree, ...rows] of table)
    for (const row of rows)
      assert.ok(
        tree.some((text) => row.test(text)),
        `${what}: ${row}\n${tree.join("\n")}`,
      );
});

test("of many buckets and models the first are listed with the number of others", () => {
  const buckets = Array.from({ length: 80 }, (_, at) =>
    bucket({ bucket: `key${at}`, status: at === 79 ? "exhausted" : "ok" }),
  );
  const models = Array.from({ length: 400 }, (_, at) => model(`acme-${at}`, "acme-chat"));
  const answers = { ...ANSWERS, list_budgets: buckets, list_models: models };
  const tree = treeOf("standard", answers);
  assert.match(tree[1] ?? "", /budget day-5m \(key79\) \| SPENT/);
  assert.ok(tree.some((text) => /budgets \| {2}\| 30 more in :budgets/.test(text)));
  assert.ok(tree.some((text) => /models \| {2}\| allowed: acme-\*, pool-\*; 100 more in :models/.test(text)));
});

test("unread parts are marked as not read", () => {
  const { list_keys: keys = [] } = ANSWERS;
  assert.deepEqual(treeOf("ci-main", { list_keys: keys }), [
    "key ci-main | active | id abcd1234, last used 1m ago, never expires",
    "└─ profile standard | UNKNOWN | not read yet",
  ]);
  for (const [id, row] of [
    ["list_budgets", /budget day-5m \| UNKNOWN/],
    ["list_guardrails", /guardrails \| UNKNOWN/],
    ["list_models", /models \| UNKNOWN/],
    ["list_backends", /provider acme-chat \| UNKNOWN/],
  ] as const) {
    const { [id]: _, ...others } = ANSWERS;
    const tree = treeOf("ci-main", others);
    assert.ok(
      tree.some((text) => row.test(text)),
      `${id}\n${tree.join("\n")}`,
    );
  }
});

test("Enter opens the part in its own view", () => {
  const context = contextFor("ci-main");
  const table = tableOfView(xrayView, context);
  const goes = (name: string): unknown => {
    const at = Array.from({ length: table.count }, (_, row) => row).find((row) => table.nameOf(row) === name) ?? -1;
    return bodyOf(xrayView).open?.(table.idOf(at), context);
  };
  for (const [name, view, row] of [
    ["ci-main", "keys", "ci-main"],
    ["standard", "profiles", "standard"],
    ["day-5m (shared)", "budgets", "day-5m/shared"],
    ["pii", "guardrails", "detector:pii"],
    ["no-cards", "guardrails", "rule:no-cards"],
    ["acme-large", "models", "acme-large"],
    ["acme-chat", "providers", "acme-chat"],
    ["files", "mcp", "files"],
    ["planner", "a2a", "planner"],
  ] as const)
    assert.deepEqual(goes(name), { kind: "go", place: { view }, row }, name);
  assert.deepEqual(goes("budget_exceeded by budget day-5m"), {
    kind: "go",
    place: { view: "refusals" },
    filter: "ci-main",
  });
  assert.deepEqual(goes("models"), { kind: "go", place: { view: "models" } });
});

test("an unknown or missing caller name says what to do next", () => {
  const { empty } = bodyOf(xrayView);
  assert.deepEqual(empty(contextFor("ci-mian")), {
    sentence: "No key or profile is named ci-mian.",
    next: "Did you mean ci-main?",
  });
  assert.equal(empty(contextFor("CI-M")).next, "Did you mean ci-main?");
  assert.match(empty(contextFor("zzzzzzzz")).next, /:keys/);
  assert.match(empty(contextFor(undefined)).next, /:xray NAME/);
});

test("ids are unique for any names, and foreign names are escaped", () => {
  const hard = "a\u001b[2J/b";
  const answers: Partial<Readable> = {
    ...ANSWERS,
    list_models: [model("acme-1", hard, { failover: [hard] }), model("acme-2", hard)],
  };
  const table = tableOfView(xrayView, contextFor("ci-main", answers));
  const ids = Array.from({ length: table.count }, (_, at) => table.idOf(at));
  assert.equal(new Set(ids).size, ids.length);
  assert.doesNotMatch(treeOf("ci-main", answers).join(""), /\u001b/);
});

test("a tree is drawn with one branch per level", () => {
  const leaf = (of: string) => ({ value: of, children: [] });
  const tree = { value: "root", children: [{ value: "a", children: [leaf("a1"), leaf("a2")] }, leaf("b")] };
  assert.deepEqual(
    rowsOfTree(tree).map(({ branch, value }) => branch + value),
    ["root", "├─ a", "│  ├─ a1", "│  └─ a2", "└─ b"],
  );
});
