/**
 * Chart of precision, recall and F1 over the threshold: one band of bars each, with the same scale, and vertical lines at the
 * cursor and at the active threshold. Bands are identified by their names, not by colors.
 */

import { padTo } from "../format/cut-text.ts";
import { SCORE_KINDS, type ScoreKind, type SweepResult, type SweepStep } from "../model/sweep.ts";
import { BLANK, type Line, line, type Span, span, type Tone } from "../model/text.ts";

const BANDS = [
  ["precision", "precision", "plain"],
  ["recall", "recall", "plain"],
  ["F1", "f1", "strong"],
] as const satisfies readonly (readonly [string, "precision" | "recall" | "f1", Tone])[];

const LABEL_CELLS = 14;
const VALUE_CELLS = 8;
const LEVELS = [..." ▁▂▃▄▅▆▇█"];
const PLAIN_LEVELS = [..." ._-~=+*#"];
const FULL = 8;

interface PlotSelection {
  /** Index of the step under the cursor. */
  readonly at: number;
  readonly kind: ScoreKind;
  readonly isAscii: boolean;
}

/** Returns the kinds that the data labels. */
export const kindsOf = ({ steps }: Pick<SweepResult, "steps">): readonly ScoreKind[] =>
  SCORE_KINDS.filter((kind) => steps.some(({ figures }) => figures[kind] !== null));

/** Formats a threshold: `0.50`, and a quantile with four digits. */
export function thresholdText(threshold: number): string {
  const exact = String(Math.round(threshold * 10_000) / 10_000);
  return exact.length < 4 ? threshold.toFixed(2) : exact;
}

export const figureText = (value: number | null): string => (value === null ? "-" : value.toFixed(3));

export function plotLines(
  { steps, inForce }: Pick<SweepResult, "steps" | "inForce">,
  { at, kind, isAscii }: PlotSelection,
  { columns, rows }: { readonly columns: number; readonly rows: number },
): readonly Line[] {
  const cells = columns - LABEL_CELLS - VALUE_CELLS;
  // Three lines are the axis, the marks below it, and a blank.
  const high = Math.floor((rows - 3) / BANDS.length);
  const chosen = steps[at];
  if (chosen === undefined || high < 1 || cells < 20) return [];
  const from = scaleBottom(steps, kind);
  const placeOf = (threshold: number): number => Math.round(Math.min(1, Math.max(0, threshold)) * (cells - 1));
  const marks: Marks = { chosen: placeOf(chosen.threshold), inForce: placeOf(inForce) };
  const under = stepsByCell(steps, cells, placeOf);
  const levels = isAscii ? PLAIN_LEVELS : LEVELS;
  const bands = BANDS.flatMap(([name, of, tone]) =>
    Array.from({ length: high }, (_, row): Line => {
      const bars = under.map((step) => barOf(step?.figures[kind]?.[of] ?? null, { from, high, row, levels }));
      const isFirst = row === 0;
      return [
        span(
          padTo(
            isFirst ? `${name.padEnd(9)} ${"1.0"}` : row === high - 1 ? `${" ".repeat(10)}${from.toFixed(1)}` : "",
            LABEL_CELLS,
          ),
          "dim",
        ),
        ...withMarks(bars, marks, tone),
        span((isFirst ? figureText(chosen.figures[kind]?.[of] ?? null) : "").padStart(VALUE_CELLS), tone),
      ];
    }),
  );
  return [...bands, axis(cells, placeOf), marksLine(chosen.threshold, inForce, marks, cells), BLANK];
}

interface Band {
  /** Value at the bottom of the band; the top is 1. */
  readonly from: number;
  readonly high: number;
  /** Row from 0 at the top. */
  readonly row: number;
  readonly levels: readonly string[];
}

/** Returns the part of a bar in this row of the band; the smallest value is still visible. */
function barOf(value: number | null, { from, high, row, levels }: Band): string {
  if (value === null) return " ";
  const eighths = Math.max(1, Math.round(((value - from) / (1 - from)) * high * FULL));
  return levels[Math.max(0, Math.min(FULL, eighths - (high - 1 - row) * FULL))] ?? " ";
}

/** Returns the lower end of the scale: the tenth below the lowest value, so that small differences are visible. */
function scaleBottom(steps: readonly SweepStep[], kind: ScoreKind): number {
  const values = steps.flatMap(({ figures }) => BANDS.flatMap(([, of]) => figures[kind]?.[of] ?? []));
  return Math.max(0, Math.min(0.9, Math.floor(Math.min(1, ...values) * 10) / 10));
}

/** Returns the step of each cell: the highest threshold at or before the cell. */
function stepsByCell(
  steps: readonly SweepStep[],
  cells: number,
  placeOf: (threshold: number) => number,
): readonly (SweepStep | undefined)[] {
  return Array.from({ length: cells }, (_, cell) => steps.findLast(({ threshold }) => placeOf(threshold) <= cell));
}

interface Marks {
  readonly chosen: number;
  readonly inForce: number;
}

function withMarks(bars: readonly string[], { chosen, inForce }: Marks, tone: Tone): readonly Span[] {
  const cuts = [...new Set([0, inForce, inForce + 1, chosen, chosen + 1, bars.length])].sort((a, b) => a - b);
  return cuts.slice(0, -1).map((cut, at): Span => {
    const text = bars.slice(cut, cuts[at + 1]).join("");
    if (cut === chosen) return { text: "│", tone: "strong", isInverse: true };
    return cut === inForce ? span("│", "warn") : span(text, tone);
  });
}

function axis(cells: number, placeOf: (threshold: number) => number): Line {
  let text = "";
  for (let tenth = 0; tenth <= 10; tenth += 1) {
    const place = placeOf(tenth / 10);
    if (place >= text.length && place + 3 <= cells) text = `${text.padEnd(place)}${(tenth / 10).toFixed(1)} `;
  }
  return line(`${"threshold".padEnd(LABEL_CELLS)}${text}`, "dim");
}

function marksLine(chosen: number, inForce: number, marks: Marks, cells: number): Line {
  const message = `^ ${thresholdText(chosen)}${chosen === inForce ? " in force" : ""}`;
  const placed = Math.max(0, Math.min(marks.chosen, cells - message.length));
  const other = chosen === inForce ? "" : `| ${thresholdText(inForce)} in force`;
  const left = Math.max(0, Math.min(marks.inForce, cells - other.length));
  const first = left < placed ? { at: left, text: other } : { at: placed, text: message };
  const second = left < placed ? { at: placed, text: message } : { at: left, text: other };
  const hasRoom = first.at + first.text.length + 1 <= second.at;
  const toneOf = (text: string): Tone => (text === message ? "strong" : "warn");
  return [
    span(" ".repeat(LABEL_CELLS + first.at)),
    span(first.text, toneOf(first.text)),
    span(hasRoom ? " ".repeat(second.at - first.at - first.text.length) : "  "),
    span(second.text, toneOf(second.text)),
  ];
}
