/**
 * The lines that hold the body: borders with words in them, rows between two sides, rules, a box in the middle. Drawn
 * with box characters always; `ascii.ts` replaces them where a terminal has none.
 */

import { BLANK, type Line, type Span, type Tone } from "../model/text.ts";
import { cellsOfLine, cutLine, fitLine } from "./fit.ts";

/** Of the body: a border and a blank, on both sides. */
const SIDES = 4;

/** `┌─ words ───── right ─┐`, exactly `columns` wide. */
export function borderLine(
  kind: "top" | "bottom",
  columns: number,
  {
    left = BLANK,
    right = BLANK,
    tone,
  }: { readonly left?: Line; readonly right?: Line; readonly tone?: Tone | undefined },
): Line {
  const [first, last] = kind === "top" ? ["┌", "┐"] : ["└", "┘"];
  const rule = (text: string): Span => ({ text, ...(tone !== undefined && { tone }) });
  const end = right.length === 0 ? [] : [rule(" "), ...right, rule(" ─")];
  const room = columns - 2 - cellsOfLine(end);
  if (room < 6) return [rule(first + "─".repeat(Math.max(0, columns - 2)) + last)];
  const start = left.length === 0 ? [] : [rule("─ "), ...cutLine(left, room - 4), rule(" ")];
  return [rule(first), ...start, rule("─".repeat(Math.max(0, room - cellsOfLine(start)))), ...end, rule(last)];
}

export interface Sides {
  /** In the blank before and after the text. */
  readonly before?: string;
  readonly after?: string;
  readonly isInverse?: boolean;
  /** All of it is dim, in inverse too. */
  readonly isOld?: boolean;
  /** Of the sides. */
  readonly tone?: Tone | undefined;
}

/** `│ text │`, exactly `columns` wide. */
export function bodyRow(
  line: Line,
  columns: number,
  { before = " ", after = " ", isInverse = false, isOld = false, tone }: Sides = {},
): Line {
  const side: Span = { text: "│", ...(tone !== undefined && { tone }) };
  const inner = [{ text: before }, ...fitLine(line, Math.max(0, columns - SIDES)), { text: after }];
  return [side, ...(isInverse ? inner.flatMap((span) => inverted(span, isOld)) : inner), side];
}

const CHARTED = /[\u2580-\u259f\u2800-\u28ff]+/gu;

/**
 * But for bars and charts: what is full in them would look empty, and what is empty full. What is dim is not, or the bar
 * has holes in which nothing can be read.
 */
function inverted({ tone, ...rest }: Span, keepsDim: boolean): readonly Span[] {
  const span: Span = tone === undefined || (tone === "dim" && !keepsDim) ? rest : { ...rest, tone };
  const { text } = span;
  const pieces: Span[] = [];
  let at = 0;
  for (const { 0: chart, index } of text.matchAll(CHARTED)) {
    if (index > at) pieces.push({ ...span, text: text.slice(at, index), isInverse: true });
    pieces.push({ ...rest, ...(tone !== undefined && { tone }), text: chart });
    at = index + chart.length;
  }
  if (at < text.length) pieces.push({ ...span, text: text.slice(at), isInverse: true });
  return pieces;
}

/** `acme-chat ─────`, `cells` wide. */
export function ruleLine(words: Line, cells: number): Line {
  const start = words.length === 0 ? [] : [...cutLine(words, cells - 4), { text: " " }];
  return [...start, { text: "─".repeat(Math.max(0, cells - cellsOfLine(start))), tone: "dim" }];
}

/** Exactly `rows` lines: what is too much is left off, what is missing is blank. */
export function fill(lines: readonly Line[], rows: number): readonly Line[] {
  return Array.from({ length: Math.max(0, rows) }, (_, at) => lines[at] ?? BLANK);
}
