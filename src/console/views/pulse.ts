/**
 * View of the whole gateway in charts of 15 minutes or an hour, updated with each bucket: requests by status, time to first byte, tokens, spending,
 * denials and findings, and the log. A cursor shows the values of an earlier moment. Eight panels fill the available room: in
 * two columns, in one, or as one line each.
 */

import { columnsChart, narrowBands } from "../format/columns-chart.ts";
import { padTo } from "../format/cut-text.ts";
import { cellsOfLine, fitLine } from "../format/fit-line.ts";
import { shown } from "../format/labeled-lines.ts";
import { plural } from "../format/numbers.ts";
import { humanDuration, timeOfDay } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { BLANK, type Line, span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { type Panel, type Pulse, pulseNeeds, pulseOf } from "./pulse-series.ts";

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Minimum width for two columns of panels. */
const TWO_COLUMNS = 100;
const BETWEEN = 2;
const TITLE_CELLS = 11;
const VALUE_CELLS = 9;
/** Width of the scale at the right of a chart. */
const SCALE_CELLS = 7;
/** Minimum height of a panel, in lines, for a blank line between panels. */
const AIRY_ROWS = 5;

/** Returns the bucket of a moment; the last bucket if there is no moment, or if it is no longer kept. */
function bucketAt({ moments }: Pulse, at: number | undefined): number {
  const newest = moments.length - 1;
  if (at === undefined) return newest;
  const found = moments.findIndex((moment) => moment >= at);
  return found < 0 ? newest : found;
}

function lines(context: Context, { columns, rows }: Size, at: number | undefined): readonly Line[] {
  const pulse = pulseOf(context);
  const bucket = bucketAt(pulse, at);
  const cursor = at === undefined ? undefined : bucket;
  const beside = columns >= TWO_COLUMNS ? 2 : 1;
  const cells = Math.floor((columns - (beside - 1) * BETWEEN) / beside);
  const perColumn = Math.ceil(pulse.panels.length / beside);
  // The time is in the first line, followed by the panels, and the axis if a line remains.
  const height = Math.max(1, Math.floor((rows - 1) / perColumn));
  const hasAxis = rows - 1 - height * perColumn >= 1;
  const drawn = pulse.panels.map((panel) => panelLines(panel, { columns: cells, rows: height }, bucket, cursor));
  const grid = Array.from({ length: perColumn }, (_, row) =>
    Array.from({ length: height }, (_, line) =>
      joinedBeside(
        Array.from({ length: beside }, (_, column) => drawn[row * beside + column]?.[line] ?? BLANK),
        cells,
      ),
    ),
  ).flat();
  const axis = joinedBeside(
    Array.from({ length: beside }, () => axisLine(pulse, cells, cursor)),
    cells,
  );
  return [timeLine(pulse, bucket, at, context), ...grid, ...(hasAxis ? [axis] : [])];
}

const joinedBeside = (lines: readonly Line[], cells: number): Line =>
  lines.flatMap((line, at) => [...(at === 0 ? [] : [{ text: " ".repeat(BETWEEN) }]), ...fitLine(line, cells)]);

function timeText({ scale, moments, nodes }: Pulse, bucket: number, at: number | undefined, { now }: Context) {
  const from = moments[bucket] ?? now;
  const when =
    at === undefined
      ? `now: the ${scale.bucketText} from ${timeOfDay(from)}`
      : `${timeOfDay(from)}, ${humanDuration(now - from - scale.bucketMs)} ago`;
  return { when, of: nodes.length === 0 ? "" : `${plural(nodes.length, "node")} (${nodes.join(" ")})` };
}

function timeLine(pulse: Pulse, bucket: number, at: number | undefined, context: Context): Line {
  const { when, of } = timeText(pulse, bucket, at, context);
  return [
    { text: when, tone: "strong", ...(at !== undefined && { isInverse: true }) },
    { text: "   " },
    shown([of, `charts of ${pulse.scale.label}`].filter((text) => text !== "").join("   "), "dim"),
  ];
}

function panelLines(
  panel: Panel,
  { columns, rows }: Size,
  bucket: number,
  cursor: number | undefined,
): readonly Line[] {
  const head: Line = [
    span(padTo(panel.title, TITLE_CELLS), "strong"),
    span(padTo(panel.missingReason === undefined ? panel.value(bucket) : "-", VALUE_CELLS, "right")),
    { text: "  " },
  ];
  const parts: Line =
    panel.missingReason === undefined
      ? [shown(panel.parts(bucket).join("  "), "dim")]
      : [span(`not known: ${panel.missingReason}`, "warn")];
  if (rows === 1) {
    const [chart = BLANK] = chartLines(panel, columns - cellsOfLine(head), 1, cursor, false);
    return [[...head, ...chart]];
  }
  const room = rows - 1 - (rows >= AIRY_ROWS ? 1 : 0);
  return [[...head, ...parts], ...chartLines(panel, columns, room, cursor, true)];
}

interface ChartCells {
  readonly buckets: number;
  /** Number of buckets that a cell covers. */
  readonly factor: number;
  readonly cells: number;
}

function cellsOfChart(columns: number, buckets: number): ChartCells {
  const factor = Math.max(1, Math.ceil(buckets / Math.max(1, columns)));
  return { buckets, factor, cells: Math.ceil(buckets / factor) };
}

/** Returns the cell of a bucket. The last cell is always complete, so the first may cover fewer buckets. */
const cellOf = (bucket: number, { buckets, factor, cells }: ChartCells): number =>
  cells - 1 - Math.floor((buckets - 1 - bucket) / factor);

function chartLines(
  { bands, amount, missingReason }: Panel,
  columns: number,
  rows: number,
  cursor: number | undefined,
  hasScale: boolean,
): readonly Line[] {
  if (missingReason !== undefined) return [];
  const buckets = Math.max(0, ...bands.map(({ values }) => values.length));
  const fit = cellsOfChart(columns - (hasScale ? SCALE_CELLS : 0), buckets);
  const drawn = narrowBands(bands, fit.factor);
  const sums = Array.from({ length: fit.cells }, (_, at) =>
    drawn.reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
  );
  const maxValue = Math.max(0, ...sums);
  const chart = columnsChart(drawn, {
    rows,
    maxValue,
    cursor: cursor === undefined ? undefined : cellOf(cursor, fit),
  });
  if (!hasScale || maxValue <= 0) return chart;
  // The unit is in the line above.
  const [text] = amount(maxValue).split("/");
  return chart.map((line, at) => (at === 0 ? [...line, span(` ${text}`, "dim")] : line));
}

/** Returns the axis below the charts: their start, span and end, and the position of the cursor. */
function axisLine({ moments, scale }: Pulse, columns: number, cursor: number | undefined): Line {
  const fit = cellsOfChart(columns - SCALE_CELLS, moments.length);
  const [first, last] = [timeOfDay(moments[0] ?? 0), timeOfDay((moments.at(-1) ?? 0) + scale.bucketMs)];
  const between = fit.cells - first.length - last.length;
  if (between < 2) return BLANK;
  const text = ` ${scale.label} `;
  const left = Math.max(0, Math.floor((between - text.length) / 2));
  const middle = text.length + 2 > between ? "─".repeat(between) : `${"─".repeat(left)}${text}`.padEnd(between, "─");
  const rule = `${first}${middle}${last}`;
  if (cursor === undefined) return [span(rule, "dim")];
  const at = cellOf(cursor, fit);
  return [span(rule.slice(0, at), "dim"), { text: rule[at] ?? "", isInverse: true }, span(rule.slice(at + 1), "dim")];
}

export const pulseView: View = {
  id: "pulse",
  aliases: ["charts", "dashboard"],
  title: "Pulse",
  about: "charts of the last 15 minutes or hour; Left and Right show the values of a moment",
  needs: (_, scale = "15m") => pulseNeeds(scale),
  body: {
    kind: "charts",
    moments: (context) => pulseOf(context).moments,
    lines,
    texts(context, at) {
      const pulse = pulseOf(context);
      const bucket = bucketAt(pulse, at);
      const { moments, scale } = pulse;
      const from = moments[bucket] ?? context.now;
      return [
        `${at === undefined ? "now, " : ""}${scale.bucketText} from ${timeOfDay(from)}`,
        ...pulse.panels.map(({ title, missingReason, value, parts }) =>
          [
            title.toLowerCase(),
            ...(missingReason === undefined ? [value(bucket), ...parts(bucket)] : [`not known: ${missingReason}`]),
          ].join(", "),
        ),
      ];
    },
  },
  offers: [],
};
