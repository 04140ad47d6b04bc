/** MCP servers and agents, which are listed alike. */
import assert from "node:assert/strict";
import test from "node:test";
import { a2aView } from "../../../src/console/views/a2a.ts";
import { mcpView } from "../../../src/console/views/mcp.ts";
import {
  agent,
  at,
  bodyOf,
  cellOf,
  contextOf,
  dialogOf,
  idsShown,
  linesOf,
  MEMBERS,
  requestsOf,
  rowsShown,
  server,
  startOf,
  suspension,
  tableOfView,
  textsOf,
  whyOf,
} from "./traffic-fixtures.ts";

const IDLE = { state: "idle", rate: 0, error_ratio: null, ttfb_p50_ms: null, ttfb_p95_ms: null, in_flight: 0 } as const;

const context = contextOf({
  list_cluster_members: MEMBERS,
  list_mcp_servers: [
    server("search", { ...IDLE, units_per_minute: 0 }),
    server("tickets", { registry_name: "org.example/tickets" }),
    server("files", { state: "failing", error_ratio: 0.61, rate: 12.4, ttfb_p95_ms: 9_900 }),
    server("wiki", { state: "suspended", suspended_until: at(722) }),
  ],
  list_a2a_agents: [agent("planner", { error_ratio: 0.06 }), agent("tickets", { state: "failing", error_ratio: 1 })],
  list_suspensions: [suspension("wiki", { kind: "mcp" }), suspension("tickets", { kind: "provider" })],
});

test("rows are worst first, with measurements or a dash", () => {
  assert.deepEqual(rowsShown(mcpView, context), [
    [
      ...["files", "!FAILING", "12.4", "61.0", "41ms", "9.9s", "1", "42", "-", "2026-07-28", "-"],
      "https://files.example/mcp",
    ],
    [
      ...["wiki", "~SUSPENDED", "0.7", "0.0", "41ms", "1.2s", "1", "42", "12m 02s", "2026-07-28", "-"],
      "https://wiki.example/mcp",
    ],
    [
      ...["tickets", " ok", "0.7", "0.0", "41ms", "1.2s", "1", "42", "-", "2026-07-28", "org.example/tickets"],
      "https://tickets.example/mcp",
    ],
    ["search", " idle", "0.0", "-", "-", "-", "0", "0", "-", "2026-07-28", "-", "https://search.example/mcp"],
  ]);
  assert.deepEqual(rowsShown(a2aView, context), [
    ["tickets", "!FAILING", "0.7", "100.0", "41ms", "1.2s", "1", "42", "-", "1.0", "https://tickets.example/rpc"],
    ["planner", " ok", "0.7", "6.0", "41ms", "1.2s", "1", "42", "-", "1.0", "https://planner.example/rpc"],
  ]);
});

test("states have marks and tones, and ignore suspensions of other kinds", () => {
  assert.deepEqual(cellOf(mcpView, context, "files", "state"), { text: "!FAILING", tone: "fail" });
  assert.deepEqual(cellOf(mcpView, context, "wiki", "state"), { text: "~SUSPENDED", tone: "off" });
  assert.deepEqual(cellOf(mcpView, context, "tickets", "state"), { text: " ok", tone: "plain" });
  assert.deepEqual(cellOf(mcpView, context, "search", "state"), { text: " idle", tone: "dim" });
  assert.deepEqual(cellOf(a2aView, context, "tickets", "err %"), { text: "100.0", tone: "fail" });
  assert.deepEqual(cellOf(a2aView, context, "planner", "err %"), { text: "6.0", tone: "warn" });
  const table = tableOfView(mcpView, context);
  const bad = Array.from({ length: table.count }, (_, row) => row).filter((row) => table.isBad(row));
  assert.deepEqual(
    bad.map((row) => table.idOf(row)),
    ["files", "wiki"],
  );
});

test("a suspension is shown before the measurements reflect it", () => {
  const result = contextOf({
    list_a2a_agents: [agent("planner")],
    list_suspensions: [suspension("planner", { kind: "a2a", until: null })],
  });
  assert.equal(cellOf(a2aView, result, "planner", "state").text, "~SUSPENDED");
  assert.equal(cellOf(a2aView, result, "planner", "lifts in").text, "until lifted");
});

test("the narrow screen keeps name, state, rate, errors and p95", () => {
  for (const view of [mcpView, a2aView]) {
    const { columns } = tableOfView(view, context);
    assert.deepEqual(
      columns.filter(({ priority }) => priority === 1).map(({ head }) => head),
      ["NAME", "STATE", "CALL/s", "ERR %", "p95"],
    );
  }
});

test("the pane shows the path and the address", () => {
  assert.deepEqual(textsOf(bodyOf(mcpView).pane?.("tickets", context) ?? []), [
    "state     ok  0.7 calls/s, 0.0 % fail; 1 in flight",
    "measured  first byte p50 41ms p95 1.2s; 42 units/min",
    "last 15m  no call is kept",
    "called at /mcp/tickets, also /mcp/org.example/tickets as the registry names it",
    "address   https://tickets.example/mcp  protocol 2026-07-28",
  ]);
  assert.deepEqual(textsOf(bodyOf(mcpView).pane?.("wiki", context) ?? []).slice(0, 2), [
    "state     SUSPENDED  0.7 calls/s, 0.0 % fail; 1 in flight",
    'suspended "key rotation" by alice@example, lifts in 12m 02s',
  ]);
  assert.ok(textsOf(bodyOf(a2aView).pane?.("planner", context) ?? []).includes("called at /a2a/planner"));
  assert.deepEqual(bodyOf(a2aView).pane?.("gone", context), []);
});

test("the description has all fields, and says when the row no longer exists", () => {
  const texts = textsOf(bodyOf(mcpView).describe?.("tickets", context) ?? []);
  assert.ok(
    texts.some((text) => /^registry_name +org\.example\/tickets$/.test(text)),
    texts.join("\n"),
  );
  assert.deepEqual(textsOf(bodyOf(mcpView).describe?.("gone", context) ?? []), ["It no longer exists."]);
});

test("s suspends and u lifts one or several servers or agents, or say why they cannot", () => {
  const body = '{"reason":"console: incident","duration":"30m"}';
  const suspend = dialogOf(startOf(mcpView, "suspend", context, "files", "tickets"));
  assert.deepEqual(requestsOf(suspend, context), [
    `PUT /admin/v1/suspensions/mcp:files ${body}`,
    `PUT /admin/v1/suspensions/mcp:tickets ${body}`,
  ]);
  const one = dialogOf(startOf(a2aView, "suspend", context, "planner"));
  assert.deepEqual(requestsOf(one, context), [`PUT /admin/v1/suspensions/a2a:planner ${body}`]);
  assert.deepEqual(linesOf(one, context), [
    "Effect: calls to agent planner are refused on all 3 nodes",
    "Callers: read the reason in the error they get",
  ]);
  assert.equal(whyOf(mcpView, "suspend", context, "wiki"), "mcp:wiki is suspended already, by alice@example");
  assert.equal(whyOf(mcpView, "lift", context, "files"), "files is not suspended");
  assert.equal(whyOf(a2aView, "lift", context, "tickets"), "tickets is not suspended");
  assert.deepEqual(requestsOf(dialogOf(startOf(mcpView, "lift", context, "wiki")), context), [
    "DELETE /admin/v1/suspensions/mcp:wiki",
  ]);
});

test("an empty list names the place to configure one", () => {
  const none = contextOf({ list_mcp_servers: [], list_a2a_agents: [] });
  assert.deepEqual(idsShown(mcpView, none), []);
  assert.deepEqual(bodyOf(mcpView).empty(none), {
    sentence: "No MCP servers are configured.",
    next: "Define them in the deployment document (`mcp:`); callers use /mcp/NAME; to see what is in force: `gateway admin -socket /run/gateway.sock GET config`",
  });
  assert.equal(bodyOf(a2aView).empty(none).sentence, "No A2A agents are configured.");
  assert.match(bodyOf(a2aView).empty(none).next, /`a2a:`.*\/a2a\/NAME/);
});

test("rows are found by registry name, address, state and reason", () => {
  const { haystack } = tableOfView(mcpView, context);
  assert.match(haystack(1), /tickets org\.example\/tickets 2026-07-28 https:\/\/tickets\.example\/mcp ok/);
  assert.match(haystack(3), /SUSPENDED key rotation alice@example/);
});

test("names of servers and agents are escaped", () => {
  const evil = "p\u001b[2J";
  const more = { protocol: "\u0007", url: "\u202e" };
  const hostile = contextOf({
    list_mcp_servers: [server(evil, { ...more, registry_name: "\u001b]0;x" })],
    list_a2a_agents: [agent(evil, more)],
  });
  for (const view of [mcpView, a2aView]) {
    const texts = [
      ...rowsShown(view, hostile).flat(),
      ...textsOf(bodyOf(view).describe?.(evil, hostile) ?? []),
      tableOfView(view, hostile).haystack(0),
    ];
    assert.ok(texts.length > 20);
    for (const text of texts) assert.doesNotMatch(text, /[\x00-\x1f\u202e]/);
  }
});
