import assert from "node:assert/strict";
import test from "node:test";
import type { Configuration } from "../../../src/admin-api/index.ts";
import type { Need } from "../../../src/console/model/data.ts";
import { ATTENTION, attentionNeeds, attentionOf } from "../../../src/console/views/attention.ts";
import { overviewView } from "../../../src/console/views/overview.ts";
import {
  agent,
  at,
  backend,
  bodyOf,
  budget,
  cellOf,
  contextOf,
  dialogOf,
  INCIDENT,
  idsShown,
  type Known,
  MEMBERS,
  member,
  NOW,
  requestsOf,
  rowsShown,
  STATUS,
  server,
  startOf,
  suspension,
  tableOfView,
  textsOf,
  whyOf,
} from "./traffic-fixtures.ts";

const incident = contextOf({
  ...INCIDENT,
  get_status: STATUS,
  list_budgets: [
    budget("team-research", { status: "low", used: 4_812_330 }),
    budget("mcp-calls", { status: "exhausted", limit: 10_000, used: 10_000, bucket: "k1", key: "prod-chat" }),
    budget("calm"),
  ],
});
const body = bodyOf(overviewView);

/** Returns `SEVERITY kind name: text` of each item. */
const attention = (values: Known): readonly string[] =>
  rowsShown(overviewView, contextOf(values)).map(
    ([what, kind, name, message]) => `${what} ${kind} ${name}: ${message}`,
  );

const config = (state: "in_sync" | "diverged" | "no_file" | "refused", remedy = ""): Configuration => ({
  source: "deployment.yaml",
  sources: [],
  file_status: { state, message: "file has version 42 with different content", remedy },
});

test("alerts are worst first, each with its key", () => {
  assert.deepEqual(rowsShown(overviewView, incident), [
    [
      "! FAIL",
      "provider",
      "acme-chat",
      "61.0 % of attempts fail, 12.4/s; requests fail over to acme-alt; 14 in flight",
      "[s] suspend",
    ],
    ["! SPENT", "budget", "mcp-calls key prod-chat", "all of 10,000 units, resets in 9h 57m", "[Enter] budgets"],
    ["~ HOT", "budget", "team-research", "96 % of 5,000,000 units, resets in 9h 57m", "[Enter] budgets"],
    ["~ SUSP", "provider", "beta-labs", '"key rotation" by alice@example, lifts in 12m 02s', "[u] lift"],
  ]);
});

test("ids are stable, and severity has a tone and a mark", () => {
  assert.deepEqual(idsShown(overviewView, incident), [
    "provider:acme-chat",
    "budget:mcp-calls/k1",
    "budget:team-research/shared",
    "suspension:provider:beta-labs",
  ]);
  assert.equal(cellOf(overviewView, incident, "provider:acme-chat", "alert").tone, "fail");
  assert.equal(cellOf(overviewView, incident, "budget:team-research/shared", "alert").tone, "warn");
  assert.equal(cellOf(overviewView, incident, "suspension:provider:beta-labs", "alert").tone, "off");
});

test("a failing provider shows where its requests go, or that nothing takes over", () => {
  const firstAlert = (more: Known) => attention({ list_backends: [INCIDENT.list_backends[1]], ...more })[0] ?? "";
  assert.match(firstAlert({}), /12\.4\/s; 14 in flight$/);
  assert.match(firstAlert({ list_models: [] }), /; no model is routed to it first; 14 in flight$/);
  const { list_models } = INCIDENT;
  assert.match(
    firstAlert({ list_models: [{ ...list_models[0], failover: [] }] }),
    /; no other provider takes over; 14 in flight$/,
  );
});

const WITH_ALERTS = contextOf({
  list_backends: [backend("acme", { state: "failing", error_ratio: 0.5 })],
  list_mcp_servers: [
    server("tickets", { state: "failing", rate: 0.7, error_ratio: 1, in_flight: 2 }),
    server("files", { state: "failing" }),
    server("ok"),
  ],
  list_a2a_agents: [agent("planner", { state: "failing", rate: 0.1, error_ratio: 0.6, in_flight: 0 })],
  list_suspensions: [suspension("files", { kind: "mcp" })],
});

test("failing servers and agents are alerts like providers, and suspended ones are shown as suspended", () => {
  assert.deepEqual(rowsShown(overviewView, WITH_ALERTS), [
    ["! FAIL", "mcp", "tickets", "100.0 % of calls fail, 0.7/s; 2 in flight", "[s] suspend"],
    ["! FAIL", "a2a", "planner", "60.0 % of calls fail, 0.1/s; 0 in flight", "[s] suspend"],
    ["! FAIL", "provider", "acme", "50.0 % of attempts fail, 9.1/s; 11 in flight", "[s] suspend"],
    ["~ SUSP", "mcp", "files", '"key rotation" by alice@example, lifts in 12m 02s', "[u] lift"],
  ]);
  assert.deepEqual(body.open?.("mcp:tickets", WITH_ALERTS), { kind: "go", place: { view: "mcp" }, row: "tickets" });
  assert.deepEqual(body.open?.("a2a:planner", WITH_ALERTS), { kind: "go", place: { view: "a2a" }, row: "planner" });
});

test("s suspends the server or agent of a row, several only if they are of one kind", () => {
  const put = (id: string) => requestsOf(dialogOf(startOf(overviewView, "suspend", WITH_ALERTS, id)), WITH_ALERTS);
  const body = '{"reason":"console: incident","duration":"30m"}';
  assert.deepEqual(put("mcp:tickets"), [`PUT /admin/v1/suspensions/mcp:tickets ${body}`]);
  assert.deepEqual(put("a2a:planner"), [`PUT /admin/v1/suspensions/a2a:planner ${body}`]);
  const both = ["mcp:tickets", "provider:acme"];
  assert.equal(
    whyOf(overviewView, "suspend", WITH_ALERTS, ...both),
    "rows that are suspended together must be of one kind",
  );
  assert.equal(startOf(overviewView, "suspend", WITH_ALERTS, ...both).kind, "flash");
});

test("models that no provider serves are one row", () => {
  const values: Known = { ...INCIDENT, list_suspensions: [suspension("acme-chat"), suspension("beta-labs")] };
  assert.equal(
    attention(values)[0],
    "! NOBODY model acme-*: no provider serves it: all in its plan are suspended or missing",
  );
  const more: Known = { ...values, list_suspensions: [...(values.list_suspensions ?? []), suspension("acme-alt")] };
  assert.equal(attention(more)[0], "! NOBODY model 3 models: no provider serves acme-large, acme-*, fast");
});

test("a nearly used budget is not shown as used up", () => {
  const [text = ""] = attention({ list_budgets: [budget("b", { status: "low", used: 4_999_999 })] });
  assert.match(text, /^~ HOT budget b: 99 % of/);
});

test("silent members show what is left of the quorum", () => {
  const silent = member("n3", { state: "silent", last_contact_ms: 862_000 });
  assert.deepEqual(attention({ list_cluster_members: [member("n1"), member("n2"), silent] }), [
    "! MEMBER member n3: silent 14m 22s; 2 of 3 voters reachable, quorum 2",
  ]);
  const lost = [member("n1"), silent, member("n2", { state: "silent", last_contact_ms: null })];
  assert.match(attention({ list_cluster_members: lost })[0] ?? "", /1 of 3 voters reachable, quorum 2: NO QUORUM/);
  assert.equal(attention({ list_cluster_members: [member("n1", { state: "snapshot" })] }).length, 0);
});

test("a node without leader, not ready, or with a refused configuration is an alert", () => {
  assert.deepEqual(
    attention({
      get_status: {
        ...STATUS,
        leader: null,
        ready: false,
        reasons: ["no configuration"],
        configuration: { state: "refused", message: "line 3: unknown key" },
      },
    }),
    [
      "! LEADER cluster n1: has no leader: changes are refused until there is one; traffic is served",
      "! NODE node n1: not ready: no configuration",
      "! CONFIG node n1: line 3: unknown key; still serves the previous configuration",
    ],
  );
});

test("a removed node is one alert that says what to do", () => {
  const removed = { ...STATUS, role: "removed", leader: null, ready: false, reasons: ["removed"] } as const;
  assert.deepEqual(attention({ get_status: removed }), [
    "! REMOVED node n1: was removed from its cluster and serves no requests: stop it, or start it again with cluster.join in its node file",
  ]);
});

test("a log time ahead of the members' clocks is an alert", () => {
  const time = { ahead_ms: 3, log_ahead_ms: 596_000 };
  assert.deepEqual(attention({ get_status: { ...STATUS, time } }), [
    "~ TIME cluster n1: the time of the log is 9m 56s ahead of the members' clocks: until the clocks reach it, budgets and suspensions use the clocks; check the time synchronization",
  ]);
  assert.deepEqual(attention({ get_status: { ...STATUS, time: { ahead_ms: 3, log_ahead_ms: 0 } } }), []);
});

test("a disk that is nearly full is an alert that says what it prevents", () => {
  assert.deepEqual(attention({ get_status: { ...STATUS, disk_low: true } }), [
    "! DISK node n1: the disk of its data directory is nearly full, so changes are refused: free space on it, or enlarge it",
  ]);
  assert.deepEqual(attention({ get_status: { ...STATUS, role: "follower", disk_low: true } }), [
    "! DISK node n1: the disk of its data directory is nearly full, so it cannot lead: free space on it, or enlarge it",
  ]);
  assert.deepEqual(attention({ get_status: { ...STATUS, disk_low: false } }), []);
});

test("worker processes that are missing or ended recently are an alert once the node serves", () => {
  const workers = { wanted: 4, serving: 3, restarts: 7, last_end_at: null, last_end_by: "SIGKILL" };
  assert.deepEqual(attention({ get_status: { ...STATUS, workers } }), [
    "! WORKERS node n1: 3 of 4 worker processes serve, 7 restarts; last exit: SIGKILL",
  ]);
  const first = { ...workers, restarts: 0, last_end_by: null };
  assert.deepEqual(attention({ get_status: { ...STATUS, workers: first } }), [
    "~ WORKERS node n1: 3 of 4 worker processes serve; the others are starting",
  ]);
  const starting = { ...STATUS, ready: false, reasons: ["workers"], workers: { ...workers, serving: 0 } };
  assert.deepEqual(attention({ get_status: starting }), ["! NODE node n1: not ready: no worker process serves yet"]);
  const replaced = (ends: number, by: string) =>
    attention({ get_status: { ...STATUS, workers: { ...workers, serving: 4, recent_ends: ends, last_end_by: by } } });
  assert.deepEqual(replaced(0, "status 7"), []);
  assert.deepEqual(replaced(1, "status 7"), [
    "~ WORKERS node n1: 1 worker process ended in the last 15m and was replaced; requests were lost; last exit: status 7",
  ]);
  assert.match(replaced(3, "SIGKILL")[0] ?? "", /^! WORKERS node n1: 3 worker processes ended .*; last exit: SIGKILL$/);
});

test("the file is an alert with its remedy, unless it is in sync or missing", () => {
  assert.deepEqual(attention({ get_config: config("diverged", "raise `version` to 43, then reload") }), [
    "~ FILE config diverged: file has version 42 with different content. To do: raise `version` to 43, then reload",
  ]);
  assert.deepEqual(attention({ get_config: config("in_sync") }), []);
  assert.deepEqual(attention({ get_config: config("no_file", "edit it where it is") }), []);
  assert.equal(attention({ get_config: config("refused") }).length, 1);
});

test("a refusal of the node is one alert", () => {
  const get_status = { ...STATUS, configuration: { state: "refused", message: null } } as const;
  assert.deepEqual(attention({ get_status, get_config: config("refused") }), [
    "! CONFIG node n1: refused, no reason given; still serves the previous configuration",
  ]);
});

test("sources not in force and conflicting audit chains are alerts", () => {
  const source = { revision: 7, writer: "api", updated_at: at(-9), by: "ci", message: null } as const;
  const head = { node: "n2", kid: "k", seq: 3, hash: "h", witnessed_at: at(-5) };
  assert.deepEqual(
    attention({
      list_sources: [
        { ...source, name: "ok", state: "running" },
        { ...source, name: "late", state: "pending" },
        { ...source, name: "bad", state: "refused", message: "line 9" },
      ],
      list_audit_heads: [
        { ...head, conflicts: 0 },
        { ...head, kid: "l", conflicts: 2 },
      ],
    }),
    [
      "! AUDIT chain n2: reported audit records that contradict its chain 2 times: verify its exported trail",
      "! SOURCE source bad: line 9; revision 7 is refused here",
      "~ SOURCE source late: revision 7 is not in force yet",
    ],
  );
});

test("a node replaced under its id is one alert, which explains the replacement", () => {
  const head = { node: "n2", hash: "h", conflicts: 1 };
  const list_audit_heads = [
    { ...head, kid: "former", seq: 10_442, witnessed_at: at(-600) },
    { ...head, kid: "present", seq: 12, witnessed_at: at(-5) },
  ];
  assert.deepEqual(attention({ list_audit_heads }), [
    "! AUDIT chain n2: reported audit records that contradict its chain 1 time: one ended at 10,442, another is at 12. This is expected if the node was replaced under its id; otherwise verify its exported trail",
  ]);
  const [item] = attentionOf(contextOf({ list_audit_heads }));
  assert.deepEqual([item?.id, item?.target.row], ["audit:n2", "n2/present"]);
});

test("missing reads make no alert and no failure", () => {
  assert.deepEqual(attention({}), []);
  for (const { items } of ATTENTION) assert.deepEqual(items(contextOf({})), []);
});

test("the view reads the node first, each list once, and no keys", () => {
  const ids = overviewView.needs(undefined).map(({ id }) => id);
  assert.equal(ids[0], "get_status");
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(attentionNeeds().every(({ id }) => ids.includes(id)));
  assert.ok(!ids.includes("list_keys"));
  assert.deepEqual(
    ["list_audit_records", "metrics"].filter((id) => !ids.some((it) => it === id)),
    [],
  );
});

test("s suspends the provider of a row, and says why other rows cannot be", () => {
  assert.equal(whyOf(overviewView, "suspend", incident, "provider:acme-chat"), undefined);
  assert.equal(
    whyOf(overviewView, "suspend", incident, "provider:acme-chat", "budget:team-research/shared"),
    "team-research is not a failing provider, MCP server or agent",
  );
  assert.equal(whyOf(overviewView, "suspend", incident, "gone"), "the alert has cleared");
  assert.deepEqual(requestsOf(dialogOf(startOf(overviewView, "suspend", incident, "provider:acme-chat")), incident), [
    'PUT /admin/v1/suspensions/provider:acme-chat {"reason":"console: incident","duration":"30m"}',
  ]);
  assert.equal(startOf(overviewView, "suspend", incident, "gone").kind, "flash");
});

test("u lifts and E extends the suspension of a row, and say why other rows cannot be", () => {
  const id = "suspension:provider:beta-labs";
  for (const verb of ["lift", "extend"]) {
    assert.equal(whyOf(overviewView, verb, incident, id), undefined);
    assert.equal(whyOf(overviewView, verb, incident, "provider:acme-chat"), "acme-chat is not suspended");
    assert.equal(whyOf(overviewView, verb, incident, "gone"), "the alert has cleared");
    assert.equal(startOf(overviewView, verb, incident, "gone").kind, "flash");
  }
  assert.deepEqual(requestsOf(dialogOf(startOf(overviewView, "lift", incident, id)), incident), [
    "DELETE /admin/v1/suspensions/provider:beta-labs",
  ]);
  assert.deepEqual(requestsOf(dialogOf(startOf(overviewView, "extend", incident, id)), incident), [
    'PUT /admin/v1/suspensions/provider:beta-labs {"reason":"key rotation","duration":"30m"}',
  ]);
});

test("a read-only console shows no keys in the rows", () => {
  const readOnly = { ...incident, isReadOnly: true };
  assert.deepEqual(
    rowsShown(overviewView, readOnly).map((cells) => cells.at(-1)),
    ["[Enter] providers", "[Enter] budgets", "[Enter] budgets", "[Enter] suspensions"],
  );
});

test("Enter goes to the view of the row and selects it there", () => {
  assert.deepEqual(body.open?.("budget:mcp-calls/k1", incident), {
    kind: "go",
    place: { view: "budgets" },
    row: "mcp-calls/k1",
  });
  assert.deepEqual(body.open?.("suspension:provider:beta-labs", incident), {
    kind: "go",
    place: { view: "suspensions" },
    row: "provider:beta-labs",
  });
  assert.equal(body.open?.("gone", incident).kind, "flash");
});

test("without alerts the view says what was checked", () => {
  const calm: Known = {
    get_status: STATUS,
    list_cluster_members: MEMBERS,
    list_backends: [backend("a"), backend("b"), backend("c", { state: "idle" })],
    get_config: config("in_sync"),
    list_suspensions: [],
    list_models: [],
    list_budgets: [],
    list_refusals: [],
    list_sources: [],
    list_audit_heads: [],
    list_reconcile: [],
    list_reconcile_verdicts: [],
    list_certificates: [],
    list_mcp_servers: [],
    list_a2a_agents: [],
  };
  assert.deepEqual(body.empty(contextOf(calm)), {
    sentence: "Nothing wants attention: 3/3 members, 2 providers ok and 1 idle, files in sync.",
    next: "2 providers, 3 keys, 4 budgets, : for everything else",
  });
  const fronting: Known = {
    ...calm,
    list_mcp_servers: [server("s")],
    list_a2a_agents: [agent("a", { state: "idle" })],
  };
  assert.match(body.empty(contextOf(fronting)).sentence, /, 1 MCP server ok, 0 agents ok and 1 idle, files in sync\.$/);
  const { list_budgets: _, ...without } = calm;
  assert.equal(body.empty(contextOf(without)).next, "Not read: budgets (not yet)");
  assert.equal(body.empty(contextOf({})).sentence, "Nothing that could be read wants attention.");
});

test("lists hidden by policy are one row after all others", () => {
  const failure = { status: 403, code: "forbidden", message: "no", at: NOW };
  const forbidden = new Set(["list_budgets", "list_refusals"]);
  const get = incident.data.get;
  const data = {
    get: (need: Need) => (forbidden.has(need.id) ? { value: undefined, failure } : get(need)),
  } as unknown as typeof incident.data;
  const limited = { ...incident, data };
  const last = rowsShown(overviewView, limited).at(-1) ?? [];
  assert.match(last.join(" "), /\. UNREAD .*2 lists not permitted by your policy: budgets, refusals/);
  const opened = body.open?.("unread", limited);
  assert.ok(opened?.kind === "page" && textsOf(opened.lines).includes("refusals"));
  assert.match(String(whyOf(overviewView, "acknowledge", limited, "unread")), /cannot be acknowledged/);
  assert.doesNotMatch(rowsShown(overviewView, incident).join("\n"), /UNREAD/);
});

test("the description shows the row and the gateway's answer", () => {
  const lines = textsOf(body.describe?.("provider:acme-chat", incident) ?? []);
  assert.equal(lines[0], "! FAIL  provider acme-chat");
  assert.ok(lines.includes('  "error_ratio": 0.61,'));
  assert.deepEqual(textsOf(body.describe?.("gone", incident) ?? []), ["the alert has cleared"]);
});

test("alerts about lost traffic or state count as bad rows", () => {
  const table = tableOfView(overviewView, incident);
  assert.deepEqual(
    [0, 1, 2, 3].map((row) => table.isBad(row)),
    [true, true, false, false],
  );
});
