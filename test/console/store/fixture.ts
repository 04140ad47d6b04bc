/** A console of four small views over readings set by a test, and a workbench that only types. */

import { applyEdit } from "../../../src/console/edit/edit.ts";
import { actionOf } from "../../../src/console/model/action.ts";
import { type Data, keyOf, type Need, type Reading } from "../../../src/console/model/data.ts";
import type { Dialog } from "../../../src/console/model/dialog.ts";
import type { Chord } from "../../../src/console/model/key-event.ts";
import type { Effect, Event, State, Step } from "../../../src/console/model/state.ts";
import { type TableSpec, tableOf } from "../../../src/console/model/table.ts";
import { line, span } from "../../../src/console/model/text.ts";
import type { View } from "../../../src/console/model/view.ts";
import { type InitialOptions, initialState } from "../../../src/console/store/initial-state.ts";
import { createStep, type StepWorkbench } from "../../../src/console/store/reducer.ts";

export const NOW = Date.parse("2026-11-20T14:02:07Z");

export interface Row {
  readonly name: string;
  readonly state: string;
  readonly rate: number | null;
}

export const ROWS: readonly Row[] = [
  { name: "acme-chat", state: "failing", rate: 12.4 },
  { name: "acme-alt", state: "ok", rate: 9.1 },
  { name: "pool-eu", state: "ok", rate: 2.2 },
  { name: "gamma", state: "idle", rate: null },
];

const SPEC: TableSpec<Row> = {
  columns: [
    {
      id: "name",
      head: "NAME",
      letter: "N",
      width: 16,
      align: "left",
      priority: 1,
      cell: ({ name }) => span(name),
      sortKey: ({ name }) => name,
    },
    {
      id: "rate",
      head: "REQ/s",
      letter: "R",
      width: 8,
      align: "right",
      priority: 1,
      cell: ({ rate }) => span(String(rate)),
      sortKey: ({ rate }) => rate,
    },
    {
      id: "state",
      head: "STATE",
      letter: "s",
      width: 10,
      align: "left",
      priority: 2,
      cell: ({ state }) => span(state),
      sortKey: ({ state }) => state,
    },
  ],
  idOf: ({ name }) => name,
  nameOf: ({ name }) => name,
  haystack: ({ name, state }) => `${name} ${state}`,
  isBad: ({ state }) => state === "failing",
  jsonOf: (row) => row,
};

const suspension = (name: string) =>
  actionOf("put_suspension", { params: { kind: "provider", name }, body: { reason: "it's down" } }, () => ({
    message: `provider:${name} suspended`,
  }));

export const suspendDialog = (names: readonly string[]): Dialog => ({
  title: `Suspend ${names.join(", ")}`,
  fields: [
    {
      kind: "text",
      id: "reason",
      label: "Reason",
      initial: "incident",
      isRequired: true,
      suggestions: ["incident", "rotation"],
    },
    { kind: "choice", id: "duration", label: "Duration", initial: "30m", choices: ["15m", "30m", "1h"] },
    { kind: "boxes", id: "nodes", label: "Nodes", initial: "n1", choices: ["n1", "n2"] },
  ],
  lines: () => [],
  confirm: { kind: "yes", button: "suspend now" },
  blockedReason: ({ reason }) => (reason === "no" ? "that is no reason" : undefined),
  task: () => ({ kind: "actions", actions: names.map(suspension) }),
  undo: () => () => liftDialog(names),
});

/** There is nothing to lift once the provider is idle. */
const liftDialog = (names: readonly string[]): Dialog => ({
  title: `Lift ${names.join(", ")}`,
  fields: [],
  lines: () => [["Effect", line("takes traffic again")]],
  confirm: { kind: "yes", button: "lift now" },
  blockedReason: (_, { data }) =>
    ((data.get({ id: "list_backends" })?.value ?? []) as unknown as readonly Row[]).some(
      ({ name, state }) => names.includes(name) && state === "idle",
    )
      ? "it is not suspended"
      : undefined,
  task: () => ({
    kind: "actions",
    actions: names.map((name) =>
      actionOf("delete_suspension", { params: { kind: "provider", name } }, () => ({ message: `${name} lifted` })),
    ),
  }),
});

const removeDialog = (name: string): Dialog => ({
  title: `Remove ${name}`,
  isDangerous: true,
  fields: [],
  lines: () => [],
  confirm: { kind: "typed", button: "remove", label: "Name", expected: () => name },
  task: () => ({ kind: "job", job: { kind: "restore_snapshot", file: name } }),
});

export const mintDialog: Dialog = {
  title: "Mint a key",
  fields: [{ kind: "text", id: "name", label: "Name", initial: "", isRequired: true }],
  lines: () => [],
  confirm: { kind: "yes", button: "mint" },
  task: ({ name = "" }) => ({
    kind: "actions",
    actions: [actionOf("create_key", { body: { name } }, () => ({ message: `minted ${name}` }))],
  }),
};

export const backends: View = {
  id: "providers",
  aliases: ["backends"],
  digit: "2",
  title: "Providers",
  about: "providers and how they do",
  needs: () => [{ id: "list_backends" }],
  body: {
    kind: "table",
    table: ({ data }) => tableOf(SPEC, (data.get({ id: "list_backends" })?.value ?? []) as unknown as readonly Row[]),
    sort: { column: "rate", isDescending: true },
    pane: (id) => [line(id)],
    paneNeeds: (name) => [{ id: "list_backend_errors", name }],
    empty: () => ({ sentence: "No providers.", next: "Write a deployment document." }),
    open: (id) => ({ kind: "go", place: { view: "errors", subject: id } }),
    query: { table: "backends", columns: ["*"], key: ["name"] },
  },
  offers: [
    {
      verb: "suspend",
      needsRow: true,
      takesMany: true,
      start: ({ ids }) => ({ kind: "dialog", dialog: suspendDialog(ids) }),
    },
    {
      verb: "lift",
      needsRow: true,
      disabledReason: ({ ids }) => `${ids.join()} is not suspended`,
      start: () => ({ kind: "flash", message: "lifted" }),
    },
    {
      verb: "remove",
      needsRow: true,
      start: ({ ids: [name = ""] }) => ({ kind: "dialog", dialog: removeDialog(name) }),
    },
    { verb: "mint", needsRow: false, start: () => ({ kind: "dialog", dialog: mintDialog }) },
    {
      verb: "view",
      needsRow: false,
      start: () => ({ kind: "load", title: "default", load: { kind: "document", source: "default" } }),
    },
    { verb: "follow", needsRow: true, start: () => ({ kind: "query", sql: "select 1" }) },
    {
      verb: "history",
      needsRow: false,
      start: () => ({ kind: "page", title: "History", lines: [line("one"), line("two")] }),
    },
    {
      verb: "save",
      needsRow: false,
      start: () => ({
        kind: "ask",
        label: "file",
        initial: "a.json",
        next: (file) => ({ kind: "job", job: { kind: "save_text", file, text: "x", what: "a text" } }),
      }),
    },
    { verb: "errors", needsRow: true, start: ({ ids }) => ({ kind: "flash", message: ids.join(), tone: "warn" }) },
  ],
};

const errors: View = {
  id: "errors",
  aliases: ["err"],
  title: "Errors",
  about: "what failed",
  group: "failures",
  subject: "provider",
  needs: (subject = "none") => [{ id: "list_backend_errors", name: subject }],
  body: {
    kind: "table",
    table: ({ data, subject = "none" }) =>
      tableOf(SPEC, (data.get({ id: "list_backend_errors", name: subject })?.value ?? []) as unknown as readonly Row[]),
    sort: { column: "name", isDescending: false },
    empty: () => ({ sentence: "No errors.", next: "" }),
  },
  offers: [],
};

export const overview: View = {
  id: "overview",
  aliases: ["home"],
  digit: "1",
  title: "Overview",
  about: "all at a glance",
  group: "failures",
  needs: () => [],
  body: { kind: "page", lines: () => Array.from({ length: 60 }, (_, at) => line(`line ${at}`)) },
  offers: [{ verb: "suspend", needsRow: false, start: () => ({ kind: "dialog", dialog: suspendDialog(["all"]) }) }],
};

const workbench: View = {
  id: "query",
  aliases: ["sql"],
  digit: "9",
  title: "Query workbench",
  about: "SQL over the lists",
  needs: () => [{ id: "list_query_tables" }],
  body: { kind: "workbench" },
  offers: [],
};

export const VIEWS: readonly View[] = [overview, backends, errors, workbench];

/** Types while editing; Esc leaves, ctrl-r runs. */
export const stepWorkbench: StepWorkbench = (from, event, { nextId }) => {
  const no = { workbench: from, effects: [], isTaken: false, usedIds: 0 };
  if (!from.isEditing || (event.kind !== "key" && event.kind !== "paste")) return no;
  const as = (changes: Partial<typeof from>, effects: readonly Effect[] = []) => ({
    workbench: { ...from, ...changes },
    effects,
    isTaken: true,
    usedIds: effects.length,
  });
  if (event.kind === "key" && event.chord === "esc") return as({ isEditing: false });
  if (event.kind === "key" && event.chord === "ctrl-r") {
    return as({}, [{ kind: "query", id: nextId, sql: from.edit.text, params: [] }]);
  }
  const edit = applyEdit(from.edit, event, { isMultiline: true });
  return edit === undefined ? no : as({ edit });
};

export const step = createStep({ views: VIEWS, stepWorkbench });

const SETTINGS: InitialOptions = {
  size: { columns: 120, rows: 35 },
  now: NOW,
  place: { view: "providers" },
  endpoint: {
    endpoint: { kind: "socket", path: "/run/gateway.sock" } as never,
    name: "unix:/run/gateway.sock",
    flags: "-socket /run/gateway.sock",
  },
  endpoints: 1,
  isReadOnly: false,
  isAscii: false,
  hasMetrics: false,
  hasTail: false,
};

export const start = (changes: Partial<InitialOptions> = {}): State => initialState({ ...SETTINGS, ...changes });

/** Connected, with the rows of the view of providers. */
export function online(rows: readonly Row[] = ROWS, changes: Partial<InitialOptions> = {}): State {
  const begun = start(changes);
  return after(begun, [
    { kind: "link", link: { ...begun.link, state: { kind: "online" } } },
    dataOf({ list_backends: rows }),
  ]);
}

/** Fresh readings by key. */
export function dataOf(values: Readonly<Record<string, unknown>>, now = NOW): Event & { readonly kind: "data" } {
  const readings = new Map(
    Object.entries(values).map(([key, value]) => [key, { value, freshAt: now, requestedAt: now, failure: undefined }]),
  );
  return { kind: "data", now, data: dataIn(readings) };
}

export const dataIn = (readings: ReadonlyMap<string, Reading<unknown>>): Data => ({
  get: ((need: Need) => readings.get(keyOf(need))) as Data["get"],
});

export const key = (chord: Chord): Event => ({ kind: "key", chord });

export const after = (state: State, events: readonly Event[]): State =>
  events.reduce((now, event) => step(now, event).state, state);

/** Returns the state after chords separated by blanks. */
export const pressed = (state: State, chords: string): State => after(state, chords.split(" ").map(key));

/** Returns the step of the last chord. */
export function lastStep(state: State, chords: string): Step {
  const all = chords.split(" ");
  return step(after(state, all.slice(0, -1).map(key)), key(all.at(-1) ?? ""));
}

/** Types one key per character. */
export const typed = (state: State, text: string): State =>
  after(
    state,
    [...text].map((character) => key(character === " " ? "space" : character)),
  );
