/**
 * View of alerts, worst first, so that one key acts on the worst. Source: operator console reference, B5 and B7.
 *
 * A forbidden list is left out; the sentence for "no alerts" names the lists that it covers.
 */

import { type Acknowledgeable, acknowledgeDialog, nameProblem, whyUnread } from "../actions/acknowledgement-dialogs.ts";
import { isReachable } from "../actions/cluster-quorum.ts";
import {
  extendDialog,
  liftSuspensionsDialog,
  type Subjects,
  type Suspendable,
  suspendDialog,
  whyAllSuspended,
  whyNotSuspended,
} from "../actions/suspension-dialogs.ts";
import { textColumn } from "../format/column-kinds.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { namesText } from "../format/name-list.ts";
import { plural } from "../format/numbers.ts";
import type { Context } from "../model/context.ts";
import { keyOf, type Need } from "../model/data.ts";
import { type CalledTable, mergedRows } from "../model/nodes.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Line, line, span } from "../model/text.ts";
import type { Intent, Selection, View } from "../model/view.ts";
import { attentionNeeds, attentionOf, urgencyOf } from "./attention.ts";
import { endedAcknowledgements, withoutAcknowledged } from "./attention-acknowledged.ts";
import { adviceOf } from "./attention-advice.ts";
import { type AttentionItem, acknowledgeableOf, alertText, SEVERITIES } from "./attention-item.ts";
import { recurrencesOf } from "./attention-recurrence.ts";
import type { Measured, State } from "./measured.ts";
import { overviewAbove, overviewPaneRows, overviewRows } from "./overview-above.ts";
import { requestsOffer } from "./requests.ts";

const columnsOf = (isReadOnly: boolean): readonly Column<AttentionItem>[] => [
  {
    id: "alert",
    head: "ALERT",
    letter: "l",
    width: 9,
    align: "left",
    priority: 1,
    cell({ severity, what, tone }) {
      const { mark, tone: usual } = SEVERITIES[severity];
      return span(`${mark} ${what}`, tone ?? usual);
    },
    sortKey: urgencyOf,
  },
  textColumn({ head: "KIND", letter: "k", width: 8, priority: 3 }, ({ kind }) => kind),
  textColumn(
    { head: "NAME", letter: "n", width: { least: 12, flex: 1 }, priority: 1, cut: "middle" },
    ({ name }) => name,
  ),
  {
    id: "details",
    head: "DETAILS",
    letter: "d",
    // Two blanks, `ALERT` and `NAME` leave this much of the narrowest terminal.
    width: { least: 28, flex: 6 },
    align: "left",
    priority: 1,
    wanted: 72,
    cell: (item, now) => shown(alertText(item, now)),
    sortKey: ({ text: says }) => says,
  },
  {
    id: "acts",
    head: "ACTS",
    letter: "a",
    width: 20,
    align: "left",
    priority: 4,
    cell: (item) => span(actionHint(item, isReadOnly), "dim"),
    sortKey: (item) => actionHint(item, isReadOnly),
  },
];

function actionHint({ id, suspends, lifts, target }: AttentionItem, isReadOnly: boolean): string {
  if (id === UNREAD) return "[Enter] which";
  if (!isReadOnly && suspends !== undefined) return "[s] suspend";
  if (!isReadOnly && lifts !== undefined) return "[u] lift";
  return `[Enter] ${target.place.view}`;
}

/** Id of the row that represents all acknowledged alerts. */
const FOLD = "acknowledged";
/** Id of the row that names the forbidden lists. */
const UNREAD = "unread";

function itemsOf(context: Context): readonly AttentionItem[] {
  const { shown: all, folded } = withoutAcknowledged(attentionOf(context), context);
  const items = folded.length === 0 ? all : [...all, foldedItem(folded)];
  const forbidden = forbiddenLists(context);
  // If there are no alerts, the text of the empty table names the forbidden lists.
  return items.length === 0 || forbidden.length === 0 ? items : [...items, unreadItem(forbidden)];
}

const listName = ({ id }: Need): string => id.replace(/^(list|get)_/, "");

const forbiddenLists = ({ data }: Pick<Context, "data">): readonly string[] =>
  attentionNeeds()
    .filter((need) => data.get(need)?.value === undefined && data.get(need)?.failure?.status === 403)
    .map(listName);

const unreadItem = (lists: readonly string[]): AttentionItem => ({
  id: UNREAD,
  severity: "note",
  // Sorts after all other rows.
  weight: -2,
  what: "UNREAD",
  kind: "policy",
  name: plural(lists.length, "list"),
  text: `not permitted by your policy: ${lists.join(", ")}; their alerts are missing here`,
  target: { place: { view: "overview" } },
  json: lists,
});

const foldedItem = (folded: readonly AttentionItem[]): AttentionItem => ({
  id: FOLD,
  severity: "note",
  // Sorts after all alerts.
  weight: -1,
  what: "ACKED",
  tone: "dim",
  kind: "",
  name: `${folded.length} acknowledged`,
  text: namesText(folded.map(({ what, name }) => `${what} ${name}`)),
  target: { place: { view: "acknowledgements" } },
  json: folded.map(({ json }) => json),
});

const table = (context: Context): Table =>
  tableOf<AttentionItem>(
    {
      columns: columnsOf(context.isReadOnly),
      idOf: ({ id }) => id,
      nameOf: ({ name }) => name,
      haystack: (item) => [item.what, item.kind, item.name, item.text].join(" "),
      isBad: ({ severity }) => severity === "fail",
      jsonOf: ({ json }) => json,
    },
    itemsOf(context),
  );

const selectedItems = ({ ids }: Selection, context: Context): readonly AttentionItem[] => {
  const items = itemsOf(context);
  return ids.flatMap((id) => items.find((item) => item.id === id) ?? []);
};

const CLEARED = "the alert has cleared";

/** Returns the subjects of the chosen rows for a verb, or an error text if a row has none. */
function subjectsOf<T>(
  chosen: Selection,
  context: Context,
  of: (item: AttentionItem) => T | undefined,
  otherwise: string,
): readonly T[] | string {
  const items = selectedItems(chosen, context);
  if (items.length === 0) return CLEARED;
  const other = items.find((item) => of(item) === undefined);
  if (other !== undefined) return `${namesText([other.name])} ${otherwise}`;
  return items.flatMap((item) => of(item) ?? []);
}

function subjectsToSuspend(chosen: Selection, context: Context): Subjects | string {
  const subjects = subjectsOf(
    chosen,
    context,
    ({ suspends }) => suspends,
    "is not a failing provider, MCP server or agent",
  );
  if (typeof subjects === "string") return subjects;
  const [first] = subjects;
  if (first === undefined) return CLEARED;
  return subjects.every(({ kind }) => kind === first.kind)
    ? { kind: first.kind, names: subjects.map(({ name }) => name) }
    : "rows that are suspended together must be of one kind";
}

const subjectsToLift = (chosen: Selection, context: Context): readonly Suspendable[] | string =>
  subjectsOf(chosen, context, ({ lifts }) => lifts, "is not suspended");

const alertsToAcknowledge = (chosen: Selection, context: Context): readonly Acknowledgeable[] | string =>
  subjectsOf(
    chosen,
    context,
    (item) => (item.id === FOLD || item.id === UNREAD ? undefined : acknowledgeableOf(item)),
    "cannot be acknowledged: Enter lists them",
  );

function whyNotLift(chosen: Selection, context: Context): string | undefined {
  const subjects = subjectsToLift(chosen, context);
  return typeof subjects === "string" ? subjects : whyNotSuspended(context.data, subjects);
}

const warnFlash = (message: string): Intent => ({ kind: "flash", message, tone: "warn" });

/** Needs of the panels above the alerts. */
const PANEL_NEEDS: readonly Need[] = [
  { id: "list_audit_records" },
  { id: "metrics" },
  { id: "list_history" },
  { id: "list_acknowledgements" },
];

function needs(): readonly [Need, ...Need[]] {
  // The first need decides whether the overview is available, so it is one that every role may read.
  const first: Need = { id: "get_status" };
  return [first, ...[...attentionNeeds(), ...PANEL_NEEDS].filter((need) => keyOf(need) !== keyOf(first))];
}

/** Describes the states of upstreams: `2 providers ok and 1 idle`. */
function okText(rows: readonly Measured[], one: string): string {
  const of = (wanted: State) => rows.filter(({ state }) => state === wanted).length;
  const idle = of("idle");
  return `${plural(of("ok"), one)} ok${idle === 0 ? "" : ` and ${idle} idle`}`;
}

/** Returns the sentence for "no alerts", which covers only what was read. */
function calmSentence({ data }: Context): string {
  const members = data.get({ id: "list_cluster_members" })?.value;
  const isKnown = data.get({ id: "list_backends" })?.value !== undefined;
  const recordsOf = (table: CalledTable) => mergedRows(data, table).map(({ record }) => record);
  const servers = recordsOf("mcp_servers");
  const agents = recordsOf("a2a_agents");
  const file = data.get({ id: "get_config" })?.value?.file_status.state;
  const facts = [
    ...(members === undefined ? [] : [`${members.filter(isReachable).length}/${plural(members.length, "member")}`]),
    ...(isKnown ? [okText(recordsOf("backends"), "provider")] : []),
    ...(servers.length === 0 ? [] : [okText(servers, "MCP server")]),
    ...(agents.length === 0 ? [] : [okText(agents, "agent")]),
    ...(file === "in_sync" ? ["files in sync"] : []),
  ];
  return facts.length === 0
    ? "Nothing that could be read wants attention."
    : `Nothing wants attention: ${facts.join(", ")}.`;
}

/** Returns what the sentence does not cover. */
function unreadLists({ data }: Context): readonly string[] {
  return attentionNeeds().flatMap((need) => {
    const reading = data.get(need);
    if (reading?.value !== undefined) return [];
    const reason = reading?.failure === undefined ? "not yet" : reading.failure.code;
    return [`${listName(need)} (${reason})`];
  });
}

const forbiddenLines = (context: Context): readonly Line[] => [
  line("Alerts based on these lists are missing in the overview:"),
  line(""),
  ...forbiddenLists(context).map((name) => line(name)),
  line(""),
  line("Ask an administrator to permit them in the admin policy; press r to try again.", "dim"),
];

/** Returns the text of an alert, and what to do about it. */
function alertLines(item: AttentionItem, now: number): readonly Line[] {
  const advice = adviceOf(item);
  const text = labeledLine("details", shown(alertText(item, now)));
  if (advice === undefined) return [text];
  const { todo, keys, command } = advice;
  return [
    text,
    labeledLine("do", shown(todo, "strong")),
    ...(keys === "" ? [] : [labeledLine("keys", shown(keys))]),
    ...(command === "" ? [] : [labeledLine("command", shown(command))]),
  ];
}

export const overviewView: View = {
  id: "overview",
  aliases: ["attention", "home"],
  digit: "1",
  title: "Overview",
  about: "alerts, most urgent first; Enter opens the object, the key in brackets acts",
  needs,
  recurrences: recurrencesOf,
  body: {
    kind: "table",
    table,
    turn: endedAcknowledgements,
    sort: { column: "alert", isDescending: false },
    above: overviewAbove,
    aboveRows: overviewRows,
    empty(context) {
      const missing = unreadLists(context);
      return {
        sentence: calmSentence(context),
        next:
          missing.length === 0
            ? "2 providers, 3 keys, 4 budgets, : for everything else"
            : `Not read: ${namesText(missing)}`,
      };
    },
    open(id, context) {
      const item = selectedItems({ ids: [id] }, context)[0];
      if (id === UNREAD)
        return { kind: "page", title: "Lists that your policy does not permit", lines: forbiddenLines(context) };
      return item === undefined ? warnFlash(CLEARED) : { kind: "go", ...item.target };
    },
    pane: (id, context) => {
      const item = selectedItems({ ids: [id] }, context)[0];
      return item === undefined ? [[span(CLEARED, "warn")]] : alertLines(item, context.now);
    },
    paneRows: overviewPaneRows,
    describe(id, context) {
      const item = selectedItems({ ids: [id] }, context)[0];
      if (item === undefined) return [[span(CLEARED, "warn")]];
      const { severity, what, tone, kind, name } = item;
      return [
        [
          span(`${SEVERITIES[severity].mark} ${what}  `, tone ?? SEVERITIES[severity].tone),
          shown(`${kind} ${name}`, "strong"),
        ],
        ...alertLines(item, context.now),
        [],
        ...JSON.stringify(item.json, undefined, 2)
          .split("\n")
          .map((text) => [shown(text)]),
      ];
    },
  },
  offers: [
    requestsOffer((id, context) => selectedItems({ ids: [id] }, context)[0]?.requests),
    {
      verb: "suspend",
      needsRow: true,
      takesMany: true,
      disabledReason(chosen, context) {
        const subjects = subjectsToSuspend(chosen, context);
        return typeof subjects === "string" ? subjects : whyAllSuspended(context.data, subjects);
      },
      start(chosen, context) {
        const subjects = subjectsToSuspend(chosen, context);
        if (typeof subjects === "string") return warnFlash(subjects);
        return { kind: "dialog", dialog: suspendDialog(subjects, context) };
      },
    },
    {
      verb: "acknowledge",
      needsRow: true,
      takesMany: true,
      disabledReason(chosen, context) {
        const items = alertsToAcknowledge(chosen, context);
        if (typeof items === "string") return items;
        return (
          items.map(({ name }) => nameProblem(name)).find((reason) => reason !== undefined) ?? whyUnread(context.data)
        );
      },
      start(chosen, context) {
        const items = alertsToAcknowledge(chosen, context);
        return typeof items === "string"
          ? warnFlash(items)
          : { kind: "dialog", dialog: acknowledgeDialog(items, context) };
      },
    },
    {
      verb: "lift",
      needsRow: true,
      takesMany: true,
      disabledReason: whyNotLift,
      start(chosen, context) {
        const subjects = subjectsToLift(chosen, context);
        if (typeof subjects === "string") return warnFlash(subjects);
        return { kind: "dialog", dialog: liftSuspensionsDialog(subjects, context) };
      },
    },
    {
      verb: "extend",
      needsRow: true,
      disabledReason: whyNotLift,
      start(chosen, context) {
        const subjects = subjectsToLift(chosen, context);
        const [first] = typeof subjects === "string" ? [] : subjects;
        return first === undefined ? warnFlash(CLEARED) : { kind: "dialog", dialog: extendDialog(first, context) };
      },
    },
  ],
};
