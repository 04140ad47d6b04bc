/** Report for people: tables of figures, then the wrong cases with their texts. */

import { escapeControls } from "../../base/index.ts";
import { utf16Offsets } from "../../server/core/guardrails/index.ts";
import { REMOVED_WORDS } from "../guardrail-text.ts";
import { type TextColumn, tableLines } from "../table-text.ts";
import type { Evaluation } from "./evaluation.ts";
import type { Mark } from "./evaluation-case.ts";
import type { CaseFinding } from "./inspect-case.ts";
import { type FiguresByKind, figuresByKind, typesOf } from "./report-json.ts";
import { type Figures, macroF1 } from "./scoring.ts";
import { isMarked, SCORES, type ScoreKind, type Tally } from "./tally.ts";
import type { SweepOutcome } from "./threshold-sweep.ts";
import type { NearMiss, WrongCase } from "./wrong-cases.ts";

/** Number of characters shown before and after a span. */
const CONTEXT_CHARACTERS = 40;

const column = (name: string, isNumeric: boolean): TextColumn => ({ name, isNumeric });

const FIGURES = ["tp", "fp", "fn", "precision", "recall", "F1"].map((name) => column(name, true));

interface ReportFacts {
  readonly files: number;
  readonly cases: number;
  readonly swept: SweepOutcome | undefined;
  /** Width of the terminal in cells. */
  readonly width: number | undefined;
}

/** Yields the lines of the report, each with its line end. */
export function* reportLines(evaluation: Evaluation, { files, cases, swept, width }: ReportFacts): Generator<string> {
  const { total, byTag, wrong, wrongCases } = evaluation;
  yield `${countText(cases, "case")} of ${countText(files, "file")}, ${wrongCases} wrong\n\n`;
  const kinds = SCORES.filter((kind) => isMarked(total, kind));
  if (kinds.length === 0) yield "No case has spans or labels, so there is nothing to score.\n";
  const rows = kinds.map((kind) => [kind, ...cellsOf(figuresByKind(total)[kind])]);
  if (rows.length > 0) yield* tableLines([column("score", false), ...FIGURES], rows, width);
  yield* furtherFigures(total);

  yield* byKind("type", typesOf(total), width);
  const slices = [...byTag].sort(([a], [b]) => (a < b ? -1 : 1));
  yield* byKind(
    "tag",
    slices.map(([tag, tally]) => [tag, figuresByKind(tally)] as const),
    width,
  );
  if (swept !== undefined) yield* sweptLines(swept, kinds, width);
  if (wrong.length > 0) yield `\nWrong cases, the first ${wrong.length} of ${wrongCases}:\n`;
  for (const one of wrong) yield* wrongLines(one);
}

function* furtherFigures(total: Tally): Generator<string> {
  const macro = macroF1(total.exact.values());
  if (macro !== null) yield `Mean F1 of the marked types, exact: ${figure(macro)}\n`;
  const { cleanCases, falseAlarms } = total;
  if (cleanCases > 0) yield `False alarms: ${falseAlarms} of ${countText(cleanCases, "clean case")}\n`;
}

function* byKind(
  title: string,
  entries: readonly (readonly [string, FiguresByKind])[],
  width: number | undefined,
): Generator<string> {
  const rows = entries.flatMap(([name, { exact, overlap, labels }]) => [
    ...(exact === null ? [] : [[name, "exact", ...cellsOf(exact), figure(overlap?.f1 ?? null)]]),
    ...(labels === null ? [] : [[name, "labels", ...cellsOf(labels), ""]]),
  ]);
  if (rows.length === 0) return;
  yield "\n";
  const columns = [column(title, false), column("score", false), ...FIGURES, column("overlap F1", true)];
  yield* tableLines(columns, rows, width);
}

const BAR_CELLS = 20;

function* sweptLines(
  { steps, averagePrecision }: SweepOutcome,
  kinds: readonly ScoreKind[],
  width: number | undefined,
): Generator<string> {
  for (const kind of kinds) {
    yield `\nThresholds, ${kind}: average precision ${figure(averagePrecision[kind])}; q: a decile of the scores seen\n`;
    const rows = steps.map(({ threshold, isQuantile, tally }) => {
      const figures = figuresByKind(tally)[kind];
      const bar = "#".repeat(Math.round((figures?.f1 ?? 0) * BAR_CELLS));
      return [`${isQuantile ? "q " : ""}${threshold.toFixed(2)}`, ...cellsOf(figures), bar];
    });
    yield* tableLines([column("threshold", true), ...FIGURES, column("curve of F1", false)], rows, width);
  }
}

const cellsOf = (figures: Figures | null): readonly string[] =>
  figures === null
    ? ["-", "-", "-", "-", "-", "-"]
    : [
        ...[figures.tp, figures.fp, figures.fn].map(String),
        ...[figures.precision, figures.recall, figures.f1].map(figure),
      ];

export const figure = (value: number | null): string => (value === null ? "-" : value.toFixed(3));

export const countText = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

function* wrongLines(one: WrongCase): Generator<string> {
  const { file, line, text, tags } = one.case;
  yield `\n${escapeControls(`${file}:${line}${tags.length === 0 ? "" : ` [${tags.join(", ")}]`}`)}\n`;
  for (const mark of one.missed) {
    yield `  missed  ${escapeControls(mark.type)} ${mark.start}..${mark.end} ${markedExcerpt(text, mark)}\n`;
    yield* nearLines(text, mark.near);
  }
  for (const label of one.missedLabels) {
    yield `  missed  label ${escapeControls(label.type)}\n`;
    yield* nearLines(text, label.near);
  }
  for (const finding of one.extra) yield `  extra   ${findingText(text, finding)}\n`;
  for (const finding of one.extraLabels) yield `  extra   label ${findingText(text, finding)}\n`;
}

function* nearLines(text: string, near: readonly NearMiss[]): Generator<string> {
  if (near.length === 0) yield "          nothing was found there at any score\n";
  for (const finding of near) yield `          ${findingText(text, finding)}: ${OUTCOMES_OF_MISSES[finding.by]}\n`;
}

const OUTCOMES_OF_MISSES: Readonly<Record<NearMiss["by"], string>> = {
  kept: "reported, but with another place or type than the label",
  ...REMOVED_WORDS,
};

function findingText(text: string, finding: CaseFinding): string {
  const { type, start, end, score, detector, recognizer, pattern } = finding;
  const by = [detector, recognizer, pattern].filter((part) => part !== "").join("/");
  return `${escapeControls(type)} ${start}..${end} ${score.toFixed(2)} by ${escapeControls(by)} ${markedExcerpt(text, finding)}`;
}

/** Returns the span in brackets, with some text around it. */
function markedExcerpt(text: string, { start, end }: Mark): string {
  const [from = 0, to = 0] = utf16Offsets(text, [start, end]);
  const before = text.slice(Math.max(0, from - CONTEXT_CHARACTERS), from);
  const within = text.slice(from, Math.min(to, from + 4 * CONTEXT_CHARACTERS));
  const after = text.slice(to, to + CONTEXT_CHARACTERS);
  return escapeControls(`${before}[${within}]${after}`.toWellFormed());
}
