/** A gateway for these views: three nodes, four providers of which one fails and one is suspended. */

import type {
  A2aAgentRecord,
  AuditRecord,
  BackendMember,
  BackendRecord,
  BudgetRecord,
  ClusterMemberRecord,
  McpServerRecord,
  ModelRecord,
  NodeStatus,
  SuspensionRecord,
} from "../../../src/admin-api/index.ts";
import type { Context } from "../../../src/console/model/context.ts";
import type { Data, Need, Readable, ReadableId, Reading } from "../../../src/console/model/data.ts";
import type { Dialog, FieldValues } from "../../../src/console/model/dialog.ts";
import type { Table } from "../../../src/console/model/table.ts";
import { type Line, textOfLine } from "../../../src/console/model/text.ts";
import type { Intent, TableBody, View } from "../../../src/console/model/view.ts";

export const NOW = Date.parse("2026-11-20T14:02:07.000Z");
export const at = (secondsFromNow: number): string => new Date(NOW + secondsFromNow * 1_000).toISOString();

export type Known = Partial<Readable>;

/** Readings with these values for any name; the others are unknown. */
export function dataOf(values: Known): Data {
  return {
    get<Id extends ReadableId>({ id }: Need<Id>): Reading<Readable[Id]> | undefined {
      const value: Readable[Id] | undefined = values[id];
      return value === undefined ? undefined : { value, freshAt: NOW, requestedAt: NOW, failure: undefined };
    },
  };
}

export const contextOf = (values: Known, more: Partial<Omit<Context, "data">> = {}): Context => ({
  data: dataOf(values),
  now: NOW,
  subject: undefined,
  isReadOnly: false,
  isAscii: true,
  endpointFlags: "-socket /run/gateway.sock",
  tail: undefined,
  verification: undefined,
  ...more,
});

export const backend = (name: string, more: Partial<BackendRecord> = {}): BackendRecord => ({
  name,
  dialect: "compat",
  state: "ok",
  suspended_until: null,
  rate: 9.1,
  error_ratio: 0.002,
  ttfb_p50_ms: 201,
  ttfb_p95_ms: 640,
  in_flight: 11,
  retries: 3,
  failovers_in: 0,
  failovers_out: 0,
  units_per_minute: 77_110,
  subsets: [],
  members: 0,
  node: "n1",
  ...more,
});

export const agent = (name: string, more: Partial<A2aAgentRecord> = {}): A2aAgentRecord => ({
  name,
  url: `https://${name}.example/rpc`,
  protocol: "1.0",
  state: "ok",
  suspended_until: null,
  rate: 0.7,
  error_ratio: 0,
  ttfb_p50_ms: 41,
  ttfb_p95_ms: 1_200,
  in_flight: 1,
  units_per_minute: 42,
  node: "n1",
  ...more,
});

export const server = (name: string, more: Partial<McpServerRecord> = {}): McpServerRecord => ({
  ...agent(name),
  url: `https://${name}.example/mcp`,
  registry_name: null,
  protocol: "2026-07-28",
  ...more,
});

export const suspension = (name: string, more: Partial<SuspensionRecord> = {}): SuspensionRecord => ({
  kind: "provider",
  name,
  reason: "key rotation",
  by: "alice@example",
  created_at: at(-207),
  until: at(722),
  status: "active",
  ...more,
});

export const model = (name: string, provider: string, more: Partial<ModelRecord> = {}): ModelRecord => ({
  model: name,
  kind: name.endsWith("*") ? "pattern" : "name",
  provider,
  upstream_model: null,
  dialects: ["compat"],
  failover: [],
  ...more,
});

export const member = (id: string, more: Partial<ClusterMemberRecord> = {}): ClusterMemberRecord => ({
  id,
  role: "follower",
  voter: true,
  raft_addr: `${id}:7400`,
  forward_addr: `${id}:7401`,
  state: "reachable",
  last_contact_ms: 400,
  clock_offset_ms: 0,
  node: "n1",
  applied: 88_412,
  lag: 0,
  version: "1.0.0",
  ...more,
});

/** Request details of every failure of a provider. */
export const FAILED = {
  request: "r-1",
  caller: "ci",
  model: "gpt-fast",
  duration_ms: 812,
  error_type: "server_error",
  error_code: null,
  node: "n1",
} as const;

export const poolMember = (address: string, more: Partial<BackendMember> = {}): BackendMember => ({
  address,
  subsets: [],
  state: "ok",
  in_flight: 0,
  attempts: 12,
  failures: 0,
  last_error: null,
  last_error_at: null,
  failing_since: null,
  node: "n1",
  ...more,
});

export const budget = (name: string, more: Partial<BudgetRecord> = {}): BudgetRecord => ({
  budget: name,
  bucket: "shared",
  key: null,
  limit: 5_000_000,
  used: 100,
  unaccounted: 0,
  reserved: 0,
  granted: 0,
  remaining: 4_999_900,
  window: "24h",
  resets_at: at(35_820),
  status: "ok",
  refused_per_minute: 0,
  holders: [],
  node: "n1",
  ...more,
});

export const STATUS: NodeStatus = {
  node: "n1",
  version: "1.0.0",
  started_at: at(-9_000),
  uptime_seconds: 9_000,
  role: "leader",
  leader: "n1",
  term: 12,
  commit_index: 88_412,
  applied_index: 88_412,
  cluster_id: "c",
  ready: true,
  reasons: [],
  listeners: [],
  configuration: { state: "running", message: null },
  models: [],
};

export const auditRecord = (seq: number, data: unknown, event = "admin.write"): AuditRecord => ({
  audit: 1,
  node: "n1",
  kid: "kid",
  seq,
  prev: "prev",
  ts: at(seq - 1_000),
  event,
  controls: [],
  data: data as AuditRecord["data"],
  hash: `hash${seq}`,
  sig: "sig",
});

export const MEMBERS = [
  member("n1", { role: "leader", last_contact_ms: null }),
  member("n2"),
  member("n3", { lag: 3 }),
];

export const FAILING = backend("acme-chat", {
  state: "failing",
  rate: 12.4,
  error_ratio: 0.61,
  ttfb_p50_ms: 188,
  ttfb_p95_ms: 9_900,
  in_flight: 14,
  retries: 402,
  failovers_out: 398,
});

export const INCIDENT = {
  list_cluster_members: MEMBERS,
  list_backends: [
    backend("acme-alt", { failovers_in: 398 }),
    FAILING,
    backend("beta-labs", { state: "suspended", suspended_until: at(722), rate: 0, error_ratio: null, in_flight: 0 }),
    backend("gamma", { state: "idle", rate: 0, error_ratio: null, ttfb_p50_ms: null, ttfb_p95_ms: null, in_flight: 0 }),
  ],
  list_suspensions: [suspension("beta-labs")],
  list_models: [
    model("acme-large", "acme-chat", { failover: ["beta-labs", "acme-alt"] }),
    model("acme-*", "acme-chat", { failover: ["beta-labs"] }),
    model("fast", "acme-alt", { kind: "alias", upstream_model: "acme-small" }),
  ],
} as const;

/** Answers of a dialog as it opens, or with changes. */
export function answersOf({ fields }: Dialog, other: FieldValues = {}): FieldValues {
  return { ...Object.fromEntries(fields.map(({ id, initial }) => [id, initial])), ...other };
}

export const linesOf = (dialog: Dialog, context: Context, other: FieldValues = {}): readonly string[] =>
  dialog.lines(answersOf(dialog, other), context).map(([label, line]) => `${label}: ${textOfLine(line)}`);

export const tonesOf = (dialog: Dialog, context: Context, other: FieldValues = {}): readonly (string | undefined)[] =>
  dialog.lines(answersOf(dialog, other), context).map(([, [first]]) => first?.tone);

export const textsOf = (lines: readonly Line[]): readonly string[] => lines.map(textOfLine);

/** Returns `METHOD path body` of each action of a dialog. */
export function requestsOf(dialog: Dialog, context: Context, other: FieldValues = {}): readonly string[] {
  const task = dialog.task(answersOf(dialog, other), context);
  if (task.kind !== "actions") throw new Error("the deed is not of actions");
  return task.actions.map(({ request: { method, path, body } }) =>
    [method, path, ...(body === undefined ? [] : [JSON.stringify(body)])].join(" "),
  );
}

export function bodyOf({ body }: View): TableBody {
  if (body.kind !== "table") throw new Error("the view lists no table");
  return body;
}

/** Returns rows and cells in the view's initial order. */
export function rowsShown(view: View, context: Context): readonly (readonly string[])[] {
  const table = tableOfView(view, context);
  return orderOf(view, table).map((row) => table.columns.map((_, column) => table.cell(row, column, context.now).text));
}

export const tableOfView = (view: View, context: Context): Table => bodyOf(view).table(context);

export function idsShown(view: View, context: Context): readonly string[] {
  const table = tableOfView(view, context);
  return orderOf(view, table).map((row) => table.idOf(row));
}

function orderOf(view: View, table: Table): readonly number[] {
  const { column, isDescending } = bodyOf(view).sort;
  const of = table.columns.findIndex(({ id }) => id === column);
  if (of < 0) throw new Error(`no column ${column} to sort by`);
  const keys = Array.from({ length: table.count }, (_, row) => table.sortKey(row, of));
  const sign = isDescending ? -1 : 1;
  return keys
    .map((key, row) => ({ key, row }))
    .sort((a, b) => {
      if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null);
      return a.key === b.key ? 0 : a.key < b.key ? -sign : sign;
    })
    .map(({ row }) => row);
}

/** Returns a cell by the head of its column. */
export function cellOf(view: View, context: Context, id: string, column: string): { text: string; tone?: string } {
  const table = tableOfView(view, context);
  const row = Array.from({ length: table.count }, (_, at) => at).find((at) => table.idOf(at) === id);
  const of = table.columns.findIndex((it) => it.id === column);
  if (row === undefined || of < 0) throw new Error(`no row ${id} or column ${column}`);
  return table.cell(row, of, context.now);
}

export function offerOf(view: View, verb: string): View["offers"][number] {
  const offer = view.offers.find((it) => it.verb === verb);
  if (offer === undefined) throw new Error(`the view offers no ${verb}`);
  return offer;
}

export const whyOf = (view: View, verb: string, context: Context, ...ids: readonly string[]): string | undefined =>
  offerOf(view, verb).disabledReason?.({ ids }, context);

export const startOf = (view: View, verb: string, context: Context, ...ids: readonly string[]): Intent =>
  offerOf(view, verb).start({ ids }, context);

export function dialogOf(intent: Intent): Dialog {
  if (intent.kind !== "dialog") throw new Error(`not a dialog: ${intent.kind}`);
  return intent.dialog;
}
