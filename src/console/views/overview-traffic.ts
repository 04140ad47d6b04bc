/** Traffic of the overview: requests of the metrics page if configured, otherwise attempts at providers, as charts. */

import type { BackendRecord } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { columnsChart, narrowBands } from "../format/columns-chart.ts";
import { padTo } from "../format/cut-text.ts";
import { LABEL_CELLS, labeledLine, shown } from "../format/labeled-lines.ts";
import { count, milliseconds, percent, plural } from "../format/numbers.ts";
import { sparkline } from "../format/sparkline.ts";
import type { Context } from "../model/context.ts";
import type { Metrics } from "../model/data.ts";
import { coverageText } from "../model/nodes.ts";
import { BLANK, type Line, line, type Span, span, type Tone } from "../model/text.ts";
import { type TrafficHistory, trafficHistory } from "./traffic-history.ts";

const VALUE_CELLS = 9;
/** Width of the value of the highest bar. */
const SCALE_CELLS = 8;

/** Code of the failure if no metrics address is configured. */
const NOT_GIVEN = "not_found";

/** Number of lines if each chart has one. */
const MIN_ROWS = 5;

/** Returns a heading and the values, at most `rows` lines; charts use the remaining room. */
export function trafficLines(context: Context, cells: number, rows: number): readonly Line[] {
  const reading = context.data.get({ id: "metrics" });
  const failure = reading?.failure;
  const draw = chartIn(context, cells, heightsIn(rows));
  if (failure !== undefined && failure.code !== NOT_GIVEN) {
    const [measured = BLANK, ...more] = measuredLines(context, draw);
    return [[...measured.slice(0, 1), shown("  ! the metrics page cannot be read", "warn")], ...more].slice(0, rows);
  }
  const lines = reading?.value === undefined ? measuredLines(context, draw) : metricLines(reading.value, context, draw);
  return lines.slice(0, rows);
}

type Points = readonly (number | null)[];

/** Draws a label, its value, and a chart beside them if there are points. */
type Draw = (
  of: keyof TrafficHistory,
  label: string,
  value: string,
  points: Points | undefined,
  scale: (most: number) => string,
) => readonly Line[];

/** Formats a rate from a count per ten seconds, which is how the history counts. */
const ofTenSeconds = (most: number): string => `${count(most / 10, 1)}/s`;

/** Returns the lines of each chart: two thirds of the remaining room for requests, the rest for failures. */
function heightsIn(rows: number): Readonly<Record<keyof TrafficHistory, number>> {
  const excessRows = Math.max(0, rows - MIN_ROWS);
  const failures = Math.floor(excessRows / 3);
  return { attempts: 1 + excessRows - failures, failures: 1 + failures, inFlight: 1 };
}

const TONES: Readonly<Record<keyof TrafficHistory, Tone>> = { attempts: "plain", failures: "fail", inFlight: "plain" };

function chartIn({ isAscii }: Context, cells: number, heights: ReturnType<typeof heightsIn>): Draw {
  const width = Math.max(0, cells - LABEL_CELLS - VALUE_CELLS - 2 - SCALE_CELLS);
  return (of, label, value, points, scale) => {
    if (points === undefined || width === 0) return [labeledLine(label, span(value))];
    // Shows the whole time span: if the chart is narrow, several points share a cell.
    const [{ values } = { values: [] }] = narrowBands(
      [{ tone: TONES[of], values: points }],
      Math.ceil(points.length / width),
    );
    const maxValue = values.reduce<number>((max, it) => Math.max(max, it ?? 0), 0);
    const rows = heights[of];
    const chart: readonly (readonly Span[])[] =
      rows === 1
        ? [[span(sparkline(values, isAscii))]]
        : columnsChart([{ tone: TONES[of], values }], { rows, maxValue, cursor: undefined });
    const head = labeledLine(label, span(padTo(value, VALUE_CELLS)), span("  "));
    const under = [span(" ".repeat(LABEL_CELLS + VALUE_CELLS + 2))];
    const top = maxValue > 0 ? [span(` ${scale(maxValue)}`, "dim")] : [];
    return chart.map((spans, at) => [...(at === 0 ? head : under), ...spans, ...(at === 0 ? top : [])]);
  };
}

function metricLines({ requests, errors, inFlight, overhead }: Metrics, context: Context, draw: Draw): readonly Line[] {
  const history = trafficHistory(context);
  const series = (
    label: string,
    points: Points,
    of: keyof TrafficHistory,
    unit: string,
    digits: number,
  ): readonly Line[] => {
    const newest = points.at(-1) ?? null;
    const scale =
      history === undefined || unit === "" ? (most: number) => `${count(most, digits)}${unit}` : ofTenSeconds;
    return draw(of, label, newest === null ? "-" : `${count(newest, digits)}${unit}`, history?.[of] ?? points, scale);
  };
  const { p50, p95, p99 } = overhead;
  return [
    [
      span("TRAFFIC", "strong"),
      span(`  from the metrics page${history === undefined ? "" : "; attempts of 15 minutes"}`, "dim"),
    ],
    ...series("requests", requests, "attempts", "/s", 1),
    ...series("errors", errors, "failures", "/s", 1),
    ...series("in flight", inFlight, "inFlight", "", 0),
    labeledLine("overhead", span(`p50 ${milliseconds(p50)}  p95 ${milliseconds(p95)}  p99 ${milliseconds(p99)}`)),
  ];
}

/** Shows attempts at providers if there are no metrics. They are the closest to requests that the lists have. */
function measuredLines(context: Context, draw: Draw): readonly Line[] {
  const { data } = context;
  const history = trafficHistory(context);
  const backends = data.get({ id: "list_backends" })?.value;
  if (backends === undefined) return [line("TRAFFIC  not known", "dim")];
  const sum = (of: (it: BackendRecord) => number): number => backends.reduce((total, it) => total + of(it), 0);
  const rate = sum(({ rate }) => rate);
  const failed = sum(({ rate, error_ratio: ratio }) => rate * (ratio ?? 0));
  const coverage = `  ${escapeControls(coverageText(data, { id: "list_backends" }) ?? "of this node")}, `;
  const failing = percent(rate === 0 ? null : failed / rate);
  const retries = plural(
    sum(({ retries }) => retries),
    "retry",
    "retries",
  );
  const failovers = plural(
    sum(({ failovers_out: out }) => out),
    "failover",
  );
  return [
    [
      span("TRAFFIC", "strong"),
      span(
        history === undefined
          ? `${coverage}last 60 s, attempts at providers`
          : `${coverage}attempts at providers, 15 minutes`,
        "dim",
      ),
    ],
    ...draw("attempts", "attempts", `${count(rate, 1)}/s`, history?.attempts, ofTenSeconds),
    ...draw(
      "failures",
      "failed",
      history === undefined ? `${count(failed, 1)}/s  ${failing} %` : `${failing} %`,
      history?.failures,
      ofTenSeconds,
    ),
    ...draw("inFlight", "in flight", count(sum(({ in_flight: inFlight }) => inFlight)), history?.inFlight, count),
    labeledLine("retried", span(`${retries}, ${failovers}`)),
  ];
}
