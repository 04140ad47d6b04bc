/**
 * View of metered usage against the providers' reports: one row per day, provider and token class. The explanation depends on
 * the direction of the drift, which suggests where to look.
 */

import type { ReconcileRecord, ReconcileVerdictRecord } from "../../admin-api/index.ts";
import { countColumn, textColumn } from "../format/column-kinds.ts";
import { describedAs, labeledLine, shown } from "../format/labeled-lines.ts";
import { count, percent, plural } from "../format/numbers.ts";
import { ago } from "../format/times.ts";
import { withUnknownWords } from "../format/word-table.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Line, line, type Span, span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { earlyDays, type IsEarly } from "./days-before-metering.ts";
import { heatLines, seriesOf, severityOf } from "./reconcile-heat.ts";

export const verdictId = ({ day, provider, class: name }: ReconcileVerdictRecord): string =>
  `${day}/${provider}/${name}`;

function breachCell(verdict: ReconcileVerdictRecord, isEarly: IsEarly): Span {
  const { breach, hard } = verdict;
  if (breach === 0) return span("no", "dim");
  if (isEarly(verdict)) return span("before", "dim");
  return hard === 1 ? span("! YES", "fail") : span("~ yes", "warn");
}

const columnsOf = (isEarly: IsEarly): readonly Column<ReconcileVerdictRecord>[] => [
  textColumn({ head: "DAY", letter: "d", width: 11, priority: 1 }, ({ day }) => day),
  textColumn(
    { head: "PROVIDER", letter: "p", width: { least: 12, flex: 2 }, priority: 1, cut: "middle" },
    ({ provider }) => provider,
  ),
  textColumn({ head: "CLASS", letter: "c", width: 20, priority: 1 }, (row) => row.class),
  countColumn({ head: "METERED", letter: "m", width: 16, priority: 2 }, ({ metered }) => metered),
  countColumn({ head: "REPORTED", letter: "r", width: 16, priority: 2 }, ({ reported }) => reported),
  countColumn({ head: "DELTA", letter: "e", width: 14, priority: 1 }, ({ delta }) => delta),
  {
    id: "ratio",
    head: "RATIO %",
    letter: "t",
    width: 8,
    align: "right",
    priority: 3,
    cell: ({ ratio }) => span(percent(ratio, 2)),
    sortKey: ({ ratio }) => ratio,
  },
  {
    id: "breach",
    head: "BREACH",
    letter: "b",
    width: 7,
    align: "left",
    priority: 1,
    cell: (row) => breachCell(row, isEarly),
    sortKey: (row) => severityOf(row, isEarly),
  },
];

function table({ data }: Pick<Context, "data">): Table {
  const rows = rowsOf(data, "reconcile_verdicts");
  const isEarly = earlyDays(rows);
  return tableOf<ReconcileVerdictRecord>(
    {
      columns: columnsOf(isEarly),
      idOf: verdictId,
      nameOf: ({ provider }) => provider,
      haystack: (row) => [row.day, row.provider, row.class, row.direction, row.breach === 1 ? "breach" : ""].join(" "),
      isBad: (row) => row.breach === 1 && row.hard === 1 && !isEarly(row),
      jsonOf: (row) => row,
    },
    rows,
  );
}

/** Maximum number of lines of the map, including heads and legend. */
const MAX_HEAT_ROWS = 12;

const rowById = (data: Data, id: string): ReconcileVerdictRecord | undefined =>
  rowsOf(data, "reconcile_verdicts").find((row) => verdictId(row) === id);

function pane(id: string, { data, now }: Context): readonly Line[] {
  const row = rowById(data, id);
  if (row === undefined) return [];
  const reconciled = rowsOf(data, "reconcile").find(({ provider }) => provider === row.provider);
  const isBefore = earlyDays(rowsOf(data, "reconcile_verdicts"))(row);
  return [
    labeledLine(
      "verdict",
      shown(`${row.provider} ${row.class}`, "strong"),
      span(`  metered ${count(row.metered)}, reported ${count(row.reported)}, ${percent(row.ratio, 2)} % apart; `),
      span(row.breach === 1 ? "over the bounds" : "within the bounds", row.breach === 0 ? "plain" : "fail"),
      span(`  compared ${ago(row.judged_at, now)}`, "dim"),
    ),
    labeledLine(
      "behind it",
      span(`delta ${count(row.delta)}: ${DIRECTIONS[row.direction]}`),
      span(
        row.breach === 0
          ? ""
          : row.hard === 1
            ? "; use outside the gateway cannot explain it"
            : "; use outside the gateway may explain it",
        "dim",
      ),
    ),
    ...seriesLines(row, data),
    ...(isBefore
      ? [line("This gateway did not meter the provider yet on that day, so the report covers other traffic.", "dim")]
      : row.breach === 0
        ? []
        : [line(meaning(row, reconciled))]),
    ...(reconciled === undefined ? [] : [reportLine(reconciled, now)]),
  ];
}

const DIRECTIONS = withUnknownWords(
  {
    over: "the gateway metered more than the provider billed",
    under: "the provider billed more than the gateway metered",
    equal: "both are the same",
  },
  (word) => word,
);

/** Describes the other days of this provider and class, like the map but in words. */
function seriesLines(row: ReconcileVerdictRecord, data: Data): readonly Line[] {
  const verdicts = rowsOf(data, "reconcile_verdicts");
  const isEarly = earlyDays(verdicts);
  const series = seriesOf(
    verdicts.filter((it) => it.provider === row.provider && it.class === row.class),
    isEarly,
  )[0];
  if (series === undefined || series.byDay.size < 2) return [];
  const all = [...series.byDay.values()];
  const breachCount = all.filter((it) => it.breach === 1 && !isEarly(it)).length;
  const { worst } = series;
  return [
    labeledLine(
      "days",
      span(`${breachCount} of ${plural(all.length, "day")} over the bounds`, breachCount === 0 ? "plain" : "warn"),
      span(`; the worst ${worst.day}, ${percent(worst.ratio, 2)} % apart`),
    ),
  ];
}

function meaning({ direction, hard }: ReconcileVerdictRecord, reconciled: ReconcileRecord | undefined): string {
  if (direction === "over")
    return "The gateway metered more than the provider reports: the provider lost usage, or counts it on another day.";
  const streams = reconciled?.unmeasured_streams ?? 0;
  const broken = streams === 0 ? "" : ` ${plural(streams, "answer")} broke off before they reported their usage.`;
  return hard === 1
    ? `The provider saw tokens that did not pass this gateway: others use the keys, or streams broke off.${broken}`
    : `The provider saw tokens that did not pass this gateway: the rest of the organization, or streams that broke off.${broken}`;
}

const reportLine = ({ scope, fetched_at: fetched, judged_to: to, error }: ReconcileRecord, now: number): Line =>
  labeledLine(
    "report",
    span(`${scope === "keys" ? "of some keys" : "of the organisation"}, `),
    span(fetched === null ? "never read" : `read ${ago(fetched, now)}`),
    span(to === null ? ", no day compared yet" : `, compared to ${to}`),
    ...(error === null ? [] : [shown(`  ! ${error}`, "fail")]),
  );

/** Explains what prevents verdicts while there are none. */
function empty({ data }: Pick<Context, "data">): { readonly sentence: string; readonly next: string } {
  const reconciled = rowsOf(data, "reconcile");
  const failing = reconciled.find(({ error }) => error !== null);
  if (failing !== undefined) {
    return { sentence: `The report of ${failing.provider} cannot be read: ${failing.error}.`, next: "r reads again" };
  }
  if (reconciled.length > 0) {
    return {
      sentence: "No day is compared yet: a day is compared once `maturity_lag` has passed since its end.",
      next: "r reads again",
    };
  }
  return {
    sentence: "No provider is reconciled. Add one under `reconcile.providers`.",
    next: "`gateway check` tries the keys of their usage APIs",
  };
}

export const reconcileView: View = {
  id: "reconcile",
  aliases: ["verdicts", "bill"],
  digit: "5",
  title: "Reconcile",
  about: "metered usage compared with the providers' reports, by day and token class",
  needs: () => [{ id: "list_reconcile_verdicts" }, { id: "list_reconcile" }],
  body: {
    kind: "table",
    table,
    // The worst verdicts come first.
    sort: { column: "breach", isDescending: true },
    above: ({ data }, size) => heatLines(rowsOf(data, "reconcile_verdicts"), size),
    aboveRows: MAX_HEAT_ROWS,
    pane,
    describe: (id, context) => describedAs(pane(id, context), rowById(context.data, id)),
    rowNeeds: () => [{ id: "list_reconcile" }],
    empty,
    query: {
      table: "reconcile_verdicts",
      columns: ["day", "provider", "class", "metered", "reported", "delta", "ratio", "breach"],
      key: ["day", "provider", "class"],
      order: "day DESC, provider",
    },
  },
  offers: [],
};
