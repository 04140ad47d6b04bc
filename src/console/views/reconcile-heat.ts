/**
 * Heat map of verdicts: one line per provider and token class, the worst first, and one column per day. Mark and height of a
 * cell carry the meaning; color only repeats it.
 */

import type { ReconcileVerdictRecord } from "../../admin-api/index.ts";
import { cutMiddle, padTo } from "../format/cut-text.ts";
import { shown } from "../format/labeled-lines.ts";
import { BLANK, type Line, line, type Span, span } from "../model/text.ts";
import { earlyDays, type IsEarly } from "./days-before-metering.ts";

const DAY_MS = 86_400_000;
const DAY_CELLS = 3;
const NAME_CELLS = 32;
const MIN_NAME_CELLS = 16;
/** Minimum difference between metered and reported usage for each height, as a ratio. */
const HEIGHTS = [
  ["▁", 0.001],
  ["▂", 0.005],
  ["▃", 0.01],
  ["▄", 0.02],
  ["▅", 0.05],
  ["▆", 0.1],
  ["▇", 0.25],
] as const;

/**
 * Orders verdicts, the worst highest: unexplained breaches, other breaches, verdicts within the bounds, and last the days
 * before the provider was metered here. Within each, by how far apart the two numbers are.
 */
export function severityOf(verdict: ReconcileVerdictRecord, isEarly: IsEarly): number {
  const { breach, hard, ratio } = verdict;
  const difference = Math.abs(ratio) / (1 + Math.abs(ratio));
  return isEarly(verdict) ? difference - 1 : breach + (breach === 1 ? hard : 0) + difference;
}

/** Verdicts of one provider and token class. */
interface Series {
  readonly provider: string;
  readonly class: string;
  readonly byDay: ReadonlyMap<string, ReconcileVerdictRecord>;
  readonly worst: ReconcileVerdictRecord;
}

/** Groups the verdicts, the worst series first. */
export function seriesOf(
  verdicts: readonly ReconcileVerdictRecord[],
  isEarly: IsEarly = earlyDays(verdicts),
): readonly Series[] {
  const severity = (verdict: ReconcileVerdictRecord): number => severityOf(verdict, isEarly);
  const grouped = new Map<string, ReconcileVerdictRecord[]>();
  for (const verdict of verdicts) {
    const key = JSON.stringify([verdict.provider, verdict.class]);
    const group = grouped.get(key);
    if (group === undefined) grouped.set(key, [verdict]);
    else group.push(verdict);
  }
  return [...grouped.values()]
    .flatMap((group) => {
      const worst = group.reduce((a, b) => (severity(b) > severity(a) ? b : a));
      const byDay = new Map(group.map((verdict) => [verdict.day, verdict]));
      return { provider: worst.provider, class: worst.class, byDay, worst };
    })
    .sort((a, b) => severity(b.worst) - severity(a.worst));
}

/** Returns the last calendar days up to the newest verdict, including days without one. */
function lastDays(verdicts: readonly ReconcileVerdictRecord[], most: number): readonly string[] {
  const times = verdicts.map(({ day }) => Date.parse(`${day}T00:00:00Z`)).filter((time) => !Number.isNaN(time));
  const last = times.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const first = times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  if (times.length === 0) return [];
  const length = Math.min(most, Math.round((last - first) / DAY_MS) + 1);
  return Array.from({ length }, (_, at) => new Date(last - (length - 1 - at) * DAY_MS).toISOString().slice(0, 10));
}

export function heatLines(
  verdicts: readonly ReconcileVerdictRecord[],
  { columns, rows }: { readonly columns: number; readonly rows: number },
): readonly Line[] {
  const nameCells = Math.max(MIN_NAME_CELLS, Math.min(NAME_CELLS, Math.floor(columns / 3)));
  const days = lastDays(verdicts, Math.max(1, Math.floor((columns - nameCells) / DAY_CELLS)));
  // The map needs the heads, the legend, a blank, and at least one line.
  if (days.length === 0 || rows < 4) return [];
  const isEarly = earlyDays(verdicts);
  const all = seriesOf(verdicts, isEarly);
  const listed = all.slice(0, rows - 3);
  const left = all.length - listed.length;
  return [
    [
      span(padTo(`${days[0]} to ${days.at(-1)?.slice(5)}`, nameCells), "dim"),
      span(days.map((day) => padTo(day.slice(8), DAY_CELLS)).join(""), "dim"),
    ],
    ...listed.map(
      (series): Line => [
        shown(padTo(cutMiddle(shown(`${series.provider} ${series.class}`).text, nameCells - 1), nameCells)),
        ...days.map((day) => cellOf(series.byDay.get(day), isEarly)),
      ],
    ),
    line(
      `! not explained  ~ over the bounds  height: how far apart, full above 25 %${
        verdicts.some(isEarly) ? "  - before it was metered here" : ""
      }${left === 0 ? "" : `; ${left} more below`}`,
      "dim",
    ),
    BLANK,
  ];
}

function cellOf(verdict: ReconcileVerdictRecord | undefined, isEarly: IsEarly): Span {
  if (verdict === undefined) return span(" · ", "dim");
  if (isEarly(verdict)) return span(" - ", "dim");
  const { ratio, breach, hard } = verdict;
  const height = HEIGHTS.find(([, below]) => Math.abs(ratio) < below)?.[0] ?? "█";
  if (breach === 0) return span(` ${height} `, "dim");
  return hard === 1 ? span(`!${height} `, "fail") : span(`~${height} `, "warn");
}
