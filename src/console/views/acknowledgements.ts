/** View of acknowledgements: the reason, the end, and the current state of each. */

import type { AcknowledgementRecord } from "../../admin-api/index.ts";
import {
  acknowledgeDialog,
  liftAcknowledgementsDialog,
  whyNotAcknowledged,
} from "../actions/acknowledgement-dialogs.ts";
import { momentColumn, textColumn } from "../format/column-kinds.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { clock, humanDuration } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { keyOf, type Need, rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Line, type Span, span } from "../model/text.ts";
import type { Intent, Selection, View } from "../model/view.ts";
import { attentionNeeds, attentionOf } from "./attention.ts";
import { endedAcknowledgements, hasRecurred, isWorse } from "./attention-acknowledged.ts";
import { type AttentionItem, acknowledgeableOf, alertText, SEVERITIES } from "./attention-item.ts";

interface Row {
  readonly record: AcknowledgementRecord;
  /** Alert that is acknowledged; `undefined` while it is not active. */
  readonly item: AttentionItem | undefined;
  readonly status: "folded" | "worse" | "back" | "over" | "ended";
}

const STATUSES: Readonly<Record<Row["status"], Span>> = {
  folded: span(" folded", "off"),
  worse: span("!worse", "fail"),
  back: span("!back", "fail"),
  over: span(" gone", "dim"),
  ended: span(" ended", "dim"),
};

function rows(context: Context): readonly Row[] {
  const items = new Map(attentionOf(context).map((item) => [item.id, item]));
  return rowsOf(context.data, "acknowledgements").map((record) => {
    const item = items.get(record.name);
    const isEnded = Date.parse(record.until) <= context.now;
    return { record, item, status: isEnded ? "ended" : statusOf(record, item, context) };
  });
}

function statusOf(record: AcknowledgementRecord, item: AttentionItem | undefined, context: Context): Row["status"] {
  if (item === undefined) return "over";
  if (isWorse(item, record)) return "worse";
  return hasRecurred(item, record, context) ? "back" : "folded";
}

/** Returns the name in the overview while the alert is active, otherwise the acknowledgement's name. */
const aboutOf = ({ record, item }: Row): string => (item === undefined ? record.name : `${item.kind} ${item.name}`);

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "now",
    head: "NOW",
    letter: "w",
    width: 8,
    align: "left",
    priority: 1,
    cell: ({ status }) => STATUSES[status],
    sortKey: ({ status }) => status,
  },
  textColumn({ head: "ABOUT", letter: "a", width: { least: 16, flex: 2 }, priority: 1, cut: "middle" }, aboutOf),
  textColumn(
    { head: "REASON", letter: "r", width: { least: 12, flex: 3 }, priority: 2 },
    ({ record }) => record.reason,
  ),
  textColumn(
    { head: "BY", letter: "b", width: { least: 10, flex: 1 }, priority: 3, cut: "middle" },
    ({ record }) => record.by,
  ),
  momentColumn({ head: "SINCE", letter: "s", width: 17, priority: 5 }, ({ record }) => record.created_at),
  {
    id: "ends in",
    head: "ENDS IN",
    letter: "e",
    width: 9,
    align: "left",
    priority: 1,
    cell: ({ record, status }, now) =>
      status === "ended" ? span("-", "dim") : span(humanDuration(Date.parse(record.until) - now)),
    sortKey: ({ record }) => Date.parse(record.until),
  },
  {
    id: "details",
    head: "DETAILS",
    letter: "d",
    width: { least: 16, flex: 3 },
    align: "left",
    priority: 4,
    cell: ({ item }, now) => (item === undefined ? span("-", "dim") : shown(alertText(item, now))),
    sortKey: ({ item }) => item?.text ?? null,
  },
];

const table = (context: Context): Table =>
  tableOf<Row>(
    {
      columns: COLUMNS,
      idOf: ({ record }) => record.name,
      nameOf: ({ record }) => record.name,
      haystack: (row) => `${row.record.name} ${aboutOf(row)} ${row.record.reason} ${row.record.by}`,
      isBad: ({ status }) => status === "worse" || status === "back",
      jsonOf: ({ record }) => record,
    },
    rows(context),
  );

const rowOf = (id: string, context: Context): Row | undefined => rows(context).find(({ record }) => record.name === id);

const GONE = "the acknowledgement no longer exists";
const warnFlash = (message: string): Intent => ({ kind: "flash", message, tone: "warn" });

function pane(id: string, context: Context): readonly Line[] {
  const row = rowOf(id, context);
  if (row === undefined) return [];
  const { record, item, status } = row;
  const { severity } = record;
  const isWatched = severity !== null && status === "folded";
  return [
    labeledLine("about", shown(aboutOf(row), "strong"), span("  "), STATUSES[status]),
    labeledLine("row", shown(record.name, "dim")),
    labeledLine("reason", shown(record.reason)),
    labeledLine("by", shown(record.by), span(`  since ${clock(Date.parse(record.created_at), context.now)}`, "dim")),
    labeledLine(
      "until",
      span(clock(Date.parse(record.until), context.now)),
      span(
        isWatched ? `  shown earlier if it gets worse than it was (${severity}), or returns after ten minutes` : "",
        "dim",
      ),
    ),
    item === undefined
      ? labeledLine("now", span("it does not want attention now", "dim"))
      : labeledLine(
          "now",
          span(`${SEVERITIES[item.severity].mark} ${item.what}  `, item.tone ?? SEVERITIES[item.severity].tone),
          shown(alertText(item, context.now)),
        ),
  ];
}

/**
 * Returns the reason why the acknowledgement cannot be extended. The alert must be active, because its current state is
 * acknowledged again.
 */
function whyNotExtend({ ids: [id = ""] }: Selection, context: Context): string | undefined {
  const row = rowOf(id, context);
  if (row === undefined) return GONE;
  return row.item === undefined ? "it does not want attention now" : undefined;
}

const needs = (): readonly [Need, ...Need[]] => {
  const first: Need = { id: "list_acknowledgements" };
  return [first, ...attentionNeeds().filter((need) => keyOf(need) !== keyOf(first))];
};

export const acknowledgementsView: View = {
  id: "acknowledgements",
  aliases: ["acks", "acknowledged"],
  title: "Acknowledgements",
  about: "alerts that operators acknowledged: the reason, the operator and the end",
  needs,
  body: {
    kind: "table",
    table,
    turn: endedAcknowledgements,
    sort: { column: "ends in", isDescending: false },
    pane,
    empty: () => ({
      sentence: "Nothing is acknowledged.",
      next: "Press a on a row of `:overview` to fold it away with a reason and an end.",
    }),
    open(id, context) {
      const item = rowOf(id, context)?.item;
      return item === undefined ? warnFlash("it does not want attention now") : { kind: "go", ...item.target };
    },
    query: {
      table: "acknowledgements",
      columns: ["name", "reason", "by", "created_at", "until", "severity", "status"],
      key: ["name"],
      order: "until",
    },
  },
  offers: [
    {
      verb: "lift",
      needsRow: true,
      takesMany: true,
      disabledReason: ({ ids }, context) => whyNotAcknowledged(context, ids),
      start: ({ ids }, context) => ({ kind: "dialog", dialog: liftAcknowledgementsDialog(ids, context) }),
    },
    {
      verb: "extend",
      needsRow: true,
      disabledReason: whyNotExtend,
      start(chosen, context) {
        const item = rowOf(chosen.ids[0] ?? "", context)?.item;
        return item === undefined
          ? warnFlash(GONE)
          : { kind: "dialog", dialog: acknowledgeDialog([acknowledgeableOf(item)], context) };
      },
    },
  ],
};
