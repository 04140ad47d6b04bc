/**
 * Frame of the body: borders with text, rows between side borders, rules, a box in the middle. Always drawn with box
 * characters; `ascii.ts` replaces them for terminals without.
 */

import { BLANK, type Line, type Span, type Tone } from "../model/text.ts";
import { cellsOfLine, cutLine, fitLine } from "./fit-line.ts";

/** Cells at the sides of the body: a border and a blank on both. */
const SIDES = 4;

/** Returns a border with text, exactly `columns` wide: `┌─ words ───── right ─┐`. */
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

interface Sides {
  /** Characters in the blanks before and after the text. */
  readonly before?: string;
  readonly after?: string;
  readonly isInverse?: boolean;
  /** True if everything is dim, even if inverted. */
  readonly isOld?: boolean;
  /** Tone of the side borders. */
  readonly tone?: Tone | undefined;
}

/** Returns a row between side borders, exactly `columns` wide: `│ text │`. */
export function bodyRow(
  line: Line,
  columns: number,
  { before = " ", after = " ", isInverse = false, isOld = false, tone }: Sides = {},
): Line {
  const side: Span = { text: "│", ...(tone !== undefined && { tone }) };
  const inner = [{ text: before }, ...fitLine(line, Math.max(0, columns - SIDES)), { text: after }];
  return [side, ...(isInverse ? inner.flatMap((span) => invertSpan(span, isOld)) : inner), side];
}

const CHARTED = /[\u2580-\u259f\u2800-\u28ff]+/gu;

/**
 * Inverts a span except bars and charts, where full and empty would be swapped. A dim span loses its tone, since it would be
 * unreadable in the inverted row.
 */
function invertSpan({ tone, ...rest }: Span, keepsDim: boolean): readonly Span[] {
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

/** Returns a rule after a text, `cells` wide: `acme-chat ─────`. */
export function ruleLine(content: Line, cells: number): Line {
  const start = content.length === 0 ? [] : [...cutLine(content, cells - 4), { text: " " }];
  return [...start, { text: "─".repeat(Math.max(0, cells - cellsOfLine(start))), tone: "dim" }];
}

/** Returns exactly `rows` lines: drops the excess, and adds blank ones. */
export function fill(lines: readonly Line[], rows: number): readonly Line[] {
  return Array.from({ length: Math.max(0, rows) }, (_, at) => lines[at] ?? BLANK);
}
