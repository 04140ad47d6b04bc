/** Columns of measurements of the last minute, shared by the views of providers, MCP servers and agents. */

import { untilText } from "../actions/suspension-text.ts";
import { type ColumnPlace, textColumn } from "../format/column-kinds.ts";
import { shown } from "../format/labeled-lines.ts";
import { count, milliseconds, percent } from "../format/numbers.ts";
import { humanDuration } from "../format/times.ts";
import type { Column } from "../model/table.ts";
import { span, type Tone } from "../model/text.ts";
import { type MeasuredRow, STATES } from "./measured.ts";

/** Returns a column that shows zero and missing values dimmed. */
export const measuredColumn = <Row extends MeasuredRow>(
  place: ColumnPlace,
  of: (row: Row) => number | null,
  format: (value: number) => string = (value) => count(value),
): Column<Row> => ({
  id: place.head.toLowerCase(),
  align: "right",
  ...place,
  cell(row) {
    const value = of(row);
    return value === null ? span("-", "dim") : span(format(value), value === 0 ? "dim" : "plain");
  },
  sortKey: of,
});

/** Share of failures from which a ratio is highlighted: callers notice it before the upstream counts as failing. */
const NOTABLE_RATIO = 0.05;

function toneOfRatio(ratio: number | null): Tone {
  if (ratio === null) return "dim";
  return ratio >= NOTABLE_RATIO ? "warn" : "plain";
}

const errorRatio = ({ record }: MeasuredRow): number | null => record.error_ratio;

export const NAME: Column<MeasuredRow> = textColumn(
  { head: "NAME", letter: "n", width: { least: 12, flex: 2 }, priority: 1, cut: "middle" },
  ({ record }) => record.name,
);

export const STATE: Column<MeasuredRow> = {
  id: "state",
  head: "STATE",
  letter: "s",
  width: 11,
  align: "left",
  priority: 1,
  cell({ state }) {
    const { mark, word, tone } = STATES[state];
    return span(`${mark}${word}`, tone);
  },
  // Within a state, sorts by the share of failures, which is at most 1.
  sortKey: (row) => STATES[row.state].rank - (errorRatio(row) ?? 0) / 2,
};

/** Builds the column of the rate. `head` is `REQ/s` or similar. */
export const rateColumn = (head: string): Column<MeasuredRow> =>
  measuredColumn(
    { head, letter: "r", width: 7, priority: 1 },
    ({ record }) => record.rate,
    (it) => count(it, 1),
  );

export const ERRORS: Column<MeasuredRow> = {
  ...measuredColumn({ head: "ERR %", letter: "e", width: 6, priority: 1 }, errorRatio),
  cell(row) {
    const ratio = errorRatio(row);
    return span(percent(ratio), row.state === "failing" ? "fail" : toneOfRatio(ratio));
  },
};

export const FIRST_BYTE: readonly Column<MeasuredRow>[] = [
  measuredColumn(
    { head: "TTFB p50", letter: "t", width: 8, priority: 4 },
    ({ record }) => record.ttfb_p50_ms,
    milliseconds,
  ),
  measuredColumn({ head: "p95", letter: "p", width: 6, priority: 1 }, ({ record }) => record.ttfb_p95_ms, milliseconds),
];

export const IN_FLIGHT: Column<MeasuredRow> = measuredColumn(
  { head: "IN-FL", letter: "i", width: 6, priority: 3 },
  ({ record }) => record.in_flight,
);

export const UNITS: Column<MeasuredRow> = measuredColumn(
  { head: "UNITS/min", letter: "u", width: 11, priority: 5 },
  ({ record }) => record.units_per_minute,
);

export const LIFTS_IN: Column<MeasuredRow> = {
  id: "lifts in",
  head: "LIFTS IN",
  letter: "l",
  width: 12,
  align: "left",
  priority: 2,
  cell: ({ suspension }, now) =>
    suspension === undefined
      ? span("-", "dim")
      : span(
          suspension.until === null ? untilText(suspension, now) : humanDuration(Date.parse(suspension.until) - now),
        ),
  sortKey: ({ suspension }) =>
    suspension === undefined
      ? null
      : suspension.until === null
        ? Number.MAX_SAFE_INTEGER
        : Date.parse(suspension.until),
};

/** Column that shows where nodes measured different states; otherwise it shows the number of nodes. */
const NODES: Column<MeasuredRow> = {
  id: "nodes",
  head: "NODES",
  letter: "o",
  width: 16,
  align: "left",
  priority: 3,
  cut: "middle",
  cell({ parts }) {
    const worst = differing(parts);
    if (worst === undefined) return span(String(parts.length), "dim");
    const { word, tone } = STATES[worst.state];
    const [only] = worst.nodes;
    return worst.nodes.length === 1 && only !== undefined
      ? shown(`${word} ${only}`, tone)
      : span(`${word} ${worst.nodes.length} of ${parts.length}`, tone);
  },
  sortKey: ({ parts }) => differing(parts)?.nodes.length ?? null,
};

/** Returns the worst state and its nodes, if not all nodes measured it. */
export function differing(
  parts: MeasuredRow["parts"],
): { readonly state: MeasuredRow["state"]; readonly nodes: readonly string[] } | undefined {
  const worst = parts.reduce((rank, { state }) => Math.min(rank, STATES[state].rank), Number.POSITIVE_INFINITY);
  const those = parts.filter(({ state }) => STATES[state].rank === worst);
  const [first] = those;
  // An idle node does not contradict the others.
  const others = parts.filter(({ state }) => STATES[state].rank !== worst && state !== "idle");
  if (first === undefined || (others.length === 0 && first.state !== "failing") || those.length === parts.length)
    return undefined;
  return { state: first.state, nodes: those.map(({ node }) => node) };
}

/** Returns columns that distinguish nodes, if there are several. */
export const nodesColumns = (rows: readonly MeasuredRow[]): readonly Column<MeasuredRow>[] =>
  rows.some(({ parts }) => parts.length > 1) ? [NODES] : [];

/** Returns whether the upstream is failing or suspended. */
export const isOff = ({ state }: MeasuredRow): boolean => state === "failing" || state === "suspended";
