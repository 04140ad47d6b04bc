import assert from "node:assert/strict";
import test from "node:test";
import { tableRegions } from "../../../src/console/store/layout.ts";
import { attentionOf } from "../../../src/console/views/attention.ts";
import { adviceOf } from "../../../src/console/views/attention-advice.ts";
import { overviewView } from "../../../src/console/views/overview.ts";
import { bodyOf, budget, contextOf, INCIDENT, MEMBERS, member, STATUS, server, textsOf } from "./traffic-fixtures.ts";

const incident = contextOf({
  ...INCIDENT,
  get_status: { ...STATUS, ready: false },
  list_budgets: [budget("spent", { status: "exhausted", limit: 10, used: 10 }), budget("low", { status: "low" })],
  list_cluster_members: [...MEMBERS.slice(0, 2), member("n9", { state: "silent" })],
  list_mcp_servers: [server("ticket desk", { state: "failing", error_ratio: 1 })],
  list_refusals: [
    {
      caller_kind: "key",
      caller: "ci",
      code: "guardrail_denied",
      cause: "guardrail",
      cause_name: "cards",
      last_minute: 3,
      last_hour: 3,
      first_at: "2026-11-20T14:01:07.000Z",
      last_at: "2026-11-20T14:02:00.000Z",
      last_request: "39dc67d5-c7d1-4053-8da4-e3d698260faf",
      node: "n1",
    },
  ],
});

const commandOf = (what: string, kind?: string): string | undefined => {
  const item = attentionOf(incident).find((each) => each.what === what && (kind === undefined || each.kind === kind));
  return item === undefined ? undefined : adviceOf(item)?.command;
};

test("the advice has the command for the alert's own subject, quoted for a shell", () => {
  assert.equal(commandOf("FAIL", "provider"), "gateway admin 'backends/acme-chat/errors?nodes=all'");
  assert.equal(commandOf("FAIL", "mcp"), "gateway suspend 'mcp:ticket desk' -reason TEXT -for 1h");
  assert.equal(commandOf("SUSP"), "gateway lift provider:beta-labs");
  assert.equal(commandOf("REFUSED"), "gateway explain 39dc67d5-c7d1-4053-8da4-e3d698260faf");
  assert.equal(commandOf("MEMBER"), "gateway get cluster_members -nodes all");
  assert.equal(commandOf("NODE"), "gateway wait ready -timeout 2m");
  assert.equal(commandOf("SPENT"), "gateway get budgets -sort -used");
});

test("a budget that was refused because no leader granted units points to the members, not to the limit", () => {
  const adviceWith = (code: string) => {
    const [refusal] = incident.data.get({ id: "list_refusals" })?.value ?? [];
    const context = contextOf({
      list_budgets: [budget("team", { status: "refusing", remaining: 5, refused_per_minute: 1 })],
      list_refusals: refusal === undefined ? [] : [{ ...refusal, cause: "budget", cause_name: "team", code }],
    });
    const item = attentionOf(context).find(({ what }) => what === "REFUSES");
    return item === undefined ? undefined : adviceOf(item);
  };
  assert.equal(adviceWith("budget_unavailable")?.command, "gateway get cluster_members -nodes all");
  assert.doesNotMatch(adviceWith("budget_unavailable")?.todo ?? "limit", /limit|max_tokens/);
  assert.equal(adviceWith("budget_exhausted")?.command, "gateway get refusals -nodes all -where cause=budget");
  assert.match(adviceWith("budget_exhausted")?.todo ?? "", /raise the limit/);
});

test("a node without a deployment document is distinguished from one that fails to serve", () => {
  const adviceWith = (status: Partial<typeof STATUS>) => {
    const context = contextOf({ get_status: { ...STATUS, ready: false, ...status } });
    const item = attentionOf(context).find(({ what }) => what === "NODE");
    return { text: item?.text, view: item?.target.place.view, ...(item !== undefined && adviceOf(item)) };
  };
  assert.deepEqual(adviceWith({ reasons: ["starting", "configuration"] }), {
    text: "not ready: no deployment document is in force",
    view: "config",
    todo: "apply a deployment document, which says what to serve",
    keys: "Enter, then n adds one from a file",
    command: "gateway config apply DEPLOYMENT_FILE",
  });
  const refused = { state: "refused", message: "line 3: unknown key" } as const;
  const failing = adviceWith({ reasons: ["configuration"], configuration: refused });
  assert.equal(failing.text, "not ready: its deployment document was refused");
  assert.equal(failing.command, "gateway wait ready -timeout 2m");
});

test("the pane of the overview has the whole text, what to do, the keys and the command", () => {
  const pane = textsOf(bodyOf(overviewView).pane?.("provider:acme-chat", incident) ?? []);
  assert.match(pane[0] ?? "", /^details +61\.0 % of attempts fail/);
  assert.deepEqual(pane.slice(1), [
    "do        find out why it fails, then suspend it until it works",
    "keys      Enter shows its failures, s suspends it",
    "command   gateway admin 'backends/acme-chat/errors?nodes=all'",
  ]);
  assert.deepEqual(textsOf(bodyOf(overviewView).pane?.("gone", incident) ?? []), ["the alert has cleared"]);
});

test("the pane leaves rows for alerts at every size", () => {
  const rowsAt = (columns: number, rows: number) => {
    const { rows: alerts, pane } = tableRegions({ columns, rows }, overviewView);
    return { alerts, pane };
  };
  assert.deepEqual(rowsAt(60, 16), { alerts: 8, pane: 0 });
  assert.deepEqual(rowsAt(80, 24), { alerts: 6, pane: 4 });
  assert.deepEqual(rowsAt(100, 30), { alerts: 9, pane: 6 });
  assert.deepEqual(rowsAt(120, 40), { alerts: 13, pane: 7 });
});

test("the column of what an alert says is on the narrowest screen too", () => {
  const { columns } = bodyOf(overviewView).table(incident);
  const widthOf = (id: string): number => {
    const width = columns.find((column) => column.id === id)?.width ?? 0;
    return typeof width === "number" ? width : width.least;
  };
  assert.ok(widthOf("alert") + widthOf("name") + widthOf("details") + 4 <= 60 - 4);
});
