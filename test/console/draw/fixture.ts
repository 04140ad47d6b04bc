/** A view over providers, and states of a console that shows it. Names are hard to draw: wide, joined, combining. */

import { drawScreen } from "../../../src/console/draw/draw-screen.ts";
import { count } from "../../../src/console/format/numbers.ts";
import { actionOf } from "../../../src/console/model/action.ts";
import type { Data, Need, Readable, ReadableId, Reading } from "../../../src/console/model/data.ts";
import { keyOf } from "../../../src/console/model/data.ts";
import type { Dialog } from "../../../src/console/model/dialog.ts";
import type { DialogState, State, TableState } from "../../../src/console/model/state.ts";
import { tableOf } from "../../../src/console/model/table.ts";
import { type Line, textOfLine } from "../../../src/console/model/text.ts";
import type { View } from "../../../src/console/model/view.ts";
import { initialState } from "../../../src/console/store/initial-state.ts";

export const NOW = Date.UTC(2026, 10, 20, 14, 2, 7);

export interface Row {
  readonly name: string;
  readonly state: string;
  readonly rate: number;
  readonly units: number;
}

const ROWS: readonly Row[] = [
  { name: "acme-chat", state: "failing", rate: 12.4, units: 81_202 },
  { name: "acme-alt", state: "ok", rate: 9.1, units: 77_110 },
  { name: "acme-messages-for-the-whole-of-europe", state: "ok", rate: 18.8, units: 1_240_771 },
  { name: "模型-网关", state: "idle", rate: 0, units: 0 },
  { name: "beta-labs", state: "suspended", rate: 0, units: 0 },
];

type Readings = { readonly [Id in ReadableId]?: Partial<Reading<Readable[Id]>> };

export function dataOf(readings: Readings): Data {
  return {
    get<Id extends ReadableId>(need: Need<Id>): Reading<Readable[Id]> | undefined {
      const known = readings[need.id];
      if (known === undefined || keyOf(need) !== need.id) return undefined;
      return { value: undefined, freshAt: NOW - 1_000, requestedAt: NOW - 60_000, failure: undefined, ...known };
    },
  };
}

const backend = (name: string, state: "ok" | "failing" | "idle" | "suspended") => ({
  name,
  dialect: "compat",
  state,
  suspended_until: null,
  rate: 1,
  error_ratio: 0,
  ttfb_p50_ms: null,
  ttfb_p95_ms: null,
  in_flight: 0,
  retries: 0,
  failovers_in: 0,
  failovers_out: 0,
  units_per_minute: 0,
  subsets: [],
  members: 0,
  node: "n1",
});

const member = (id: string, state: "reachable" | "silent") => ({
  id,
  role: "follower" as const,
  voter: true,
  raft_addr: "",
  forward_addr: "",
  state,
  last_contact_ms: 400,
  clock_offset_ms: 0,
  node: "n1",
  applied: 88_412,
  lag: 0,
  version: "0.1.0",
});

export const READINGS = {
  get_status: {
    value: {
      node: "n1",
      version: "0.1.0",
      started_at: "2026-11-20T00:00:00Z",
      uptime_seconds: 50_527,
      role: "leader",
      leader: "n1",
      term: 12,
      commit_index: 88_412,
      applied_index: 88_412,
      cluster_id: "c1",
      ready: true,
      reasons: [],
      listeners: [],
      configuration: { state: "running", message: null },
      models: [],
    },
  },
  get_whoami: { value: { issuer: "local", subject: "unix:1000", roles: ["admin"] } },
  list_cluster_members: { value: [member("n1", "reachable"), member("n2", "reachable"), member("n3", "silent")] },
  list_backends: {
    value: [
      backend("acme-chat", "failing"),
      backend("acme-alt", "ok"),
      backend("pool-eu", "idle"),
      backend("beta", "suspended"),
    ],
  },
  list_budgets: { value: [] },
  list_suspensions: { value: [] },
  get_config: {
    value: { source: "api", sources: [], file_status: { state: "diverged", message: "it differs", remedy: "" } },
  },
} as const satisfies Readings;

const TONES: ReadonlyMap<string, "fail" | "off"> = new Map([
  ["failing", "fail"],
  ["suspended", "off"],
]);

export function providersView(rows: readonly Row[] = ROWS): View {
  return {
    id: "providers",
    aliases: ["prov", "backends"],
    digit: "2",
    title: "Providers",
    about: "how each provider does",
    group: "providers",
    needs: () => [{ id: "list_backends" }],
    offers: [
      { verb: "suspend", needsRow: true, takesMany: true, start: () => ({ kind: "flash", message: "suspended" }) },
      {
        verb: "lift",
        needsRow: true,
        disabledReason: ({ ids: [id = ""] }) => `${id} is not suspended`,
        start: () => ({ kind: "flash", message: "lifted" }),
      },
      { verb: "errors", needsRow: true, start: () => ({ kind: "go", place: { view: "errors" } }) },
      { verb: "create", needsRow: false, label: "new provider", start: () => ({ kind: "flash", message: "new" }) },
    ],
    body: {
      kind: "table",
      sort: { column: "state", isDescending: false },
      empty: () => ({ sentence: "No providers.", next: "Press n to add one." }),
      pane: (id) => [
        [{ text: `base_url  https://${id}.example/v1` }],
        [{ text: "retry     3 x 200ms..2s", tone: "dim" }],
      ],
      table: () =>
        tableOf<Row>(
          {
            columns: [
              {
                id: "name",
                head: "NAME",
                letter: "n",
                width: { least: 12, flex: 2 },
                align: "left",
                priority: 1,
                cut: "middle",
                cell: ({ name }) => ({ text: name }),
                sortKey: ({ name }) => name,
              },
              {
                id: "state",
                head: "STATE",
                letter: "s",
                width: 12,
                align: "left",
                priority: 2,
                cell: ({ state }) => {
                  const tone = TONES.get(state);
                  return {
                    text: tone === undefined ? state : state.toUpperCase(),
                    ...(tone !== undefined && { tone }),
                  };
                },
                sortKey: ({ state }) => state,
              },
              {
                id: "rate",
                head: "REQ/s",
                letter: "r",
                width: 7,
                align: "right",
                priority: 3,
                cell: ({ rate }) => ({ text: rate.toFixed(1) }),
                sortKey: ({ rate }) => rate,
              },
              {
                id: "units",
                head: "UNITS/min",
                letter: "u",
                width: 11,
                align: "right",
                priority: 4,
                cell: ({ units }) => ({ text: count(units) }),
                sortKey: ({ units }) => units,
              },
              {
                id: "note",
                head: "NOTE",
                letter: "o",
                width: { least: 20, flex: 1 },
                align: "left",
                priority: 9,
                cell: ({ name }) => ({ text: `about ${name}` }),
                sortKey: () => null,
              },
            ],
            idOf: ({ name }) => name,
            nameOf: ({ name }) => name,
            haystack: ({ name, state }) => `${name} ${state}`,
            isBad: ({ state }) => state === "failing",
            jsonOf: (row) => row,
          },
          rows,
        ),
    },
  };
}

export const PAGE_VIEW: View = {
  id: "guide",
  aliases: [],
  title: "Recovery guide",
  about: "what to do when the majority is lost",
  group: "providers",
  needs: () => [],
  offers: [],
  body: { kind: "page", lines: () => Array.from({ length: 60 }, (_, at) => [{ text: `step ${at + 1}` }]) },
};

export const WORKBENCH_VIEW: View = {
  id: "query",
  aliases: ["sql"],
  digit: "9",
  title: "Query workbench",
  about: "one read in SQL",
  needs: () => [],
  offers: [],
  body: { kind: "workbench" },
};

export const VIEWS: readonly View[] = [providersView(), PAGE_VIEW, WORKBENCH_VIEW];

export function stateAt(size: string, change: Partial<State> = {}): State {
  const [columns = 0, rows = 0] = size.split("x").map(Number);
  const begun = initialState({
    size: { columns, rows },
    now: NOW,
    place: { view: "providers" },
    endpoint: {
      endpoint: { kind: "socket", path: "/run/gateway.sock" },
      name: "unix:/run/gateway.sock",
      flags: "-socket /run/gateway.sock",
    },
    endpoints: 1,
    isReadOnly: false,
    isAscii: false,
    hasMetrics: false,
    hasTail: false,
  });
  return { ...begun, data: dataOf(READINGS), link: { ...begun.link, state: { kind: "online" } }, ...change };
}

export const TABLE: TableState = {
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

export const withTable = (change: Partial<TableState>): Pick<State, "tables"> => ({
  tables: new Map([["providers", { ...TABLE, ...change }]]),
});

export const SUSPEND: Dialog = {
  title: "Suspend provider:acme-chat",
  fields: [
    { kind: "text", id: "reason", label: "Reason", initial: "console: incident", isRequired: true },
    {
      kind: "choice",
      id: "duration",
      label: "Duration",
      initial: "30m",
      choices: ["5m", "15m", "30m", "1h", "4h", "24h"],
    },
    { kind: "boxes", id: "nodes", label: "Nodes", initial: "n1,n3", choices: ["n1", "n2", "n3"] },
  ],
  lines: () => [
    ["Effect", [{ text: "new requests skip acme-chat on all 3 nodes; 14 in flight finish" }]],
    ["Then", [{ text: "its models go to: acme-alt, pool-eu; models left with no provider: 0" }]],
  ],
  confirm: { kind: "yes", button: "suspend now" },
  task: ({ reason = "" }) => ({
    kind: "actions",
    actions: [
      actionOf("put_suspension", { params: { kind: "provider", name: "acme-chat" }, body: { reason } }, () => ({
        message: "suspended",
      })),
    ],
  }),
};

export const REVOKE: Dialog = {
  title: "Revoke the key prod-search-with-a-long-name-that-is-not-shortened",
  isDangerous: true,
  fields: [],
  lines: () => [["Effect", [{ text: "it stops working on all nodes now; this cannot be undone", tone: "fail" }]]],
  confirm: {
    kind: "typed",
    button: "revoke for good",
    label: "Type its name",
    expected: () => "prod-search-with-a-long-name-that-is-not-shortened",
  },
  task: () => ({ kind: "actions", actions: [] }),
  commands: () => ["gateway admin -socket /run/gateway.sock DELETE keys/k1"],
};

export function opened(dialog: Dialog, change: Partial<DialogState> = {}): DialogState {
  return {
    id: 1,
    dialog,
    values: Object.fromEntries(dialog.fields.map(({ id, initial }) => [id, initial])),
    focus: dialog.confirm.kind === "yes" ? -1 : dialog.fields.length,
    typed: { text: "", at: 0 },
    edit: { text: "", at: 0 },
    stage: { kind: "asking" },
    ...change,
  };
}

/** The help, before any search. */
export const HELP: Pick<State, "prompt"> = {
  prompt: { kind: "help", label: "search keys", edit: { text: "", at: 0 }, before: "" },
};

export const noWorkbench = () => [[{ text: "sql>" }]] as const;

export const frameOf = (state: State, views: readonly View[] = VIEWS): readonly Line[] =>
  drawScreen(state, views, noWorkbench);

/** Returns the text as drawn, with inverse in «», since no test should depend on colors. */
export const pictureOf = (lines: readonly Line[]): string => lines.map((line) => textOfLine(line).trimEnd()).join("\n");
