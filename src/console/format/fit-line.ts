/**
 * Lines fitted to cells: shortened, padded, or wrapped at words. Everything drawn passes through here, so this is also where
 * control characters of foreign text are removed. Widths: `cellsOf` of base.
 */

import { cellsOf, cutToCells, escapeControls } from "../../base/index.ts";
import type { Line, Span, Tone } from "../model/text.ts";
import { cutMiddle } from "./cut-text.ts";

const HARMLESS = /^[\x20-\x7e]*$/;

/** Returns a span without control characters. */
export function cleanSpan(span: Span): Span {
  if (HARMLESS.test(span.text)) return span;
  const text = escapeControls(span.text);
  return text === span.text ? span : { ...span, text };
}

export const cellsOfLine = (line: Line): number => line.reduce((sum, { text }) => sum + cellsOf(text), 0);

/** Shortens a line to at most `cells` cells; `…` marks the cut. */
export function cutLine(line: Line, cells: number): Line {
  if (cells <= 0) return [];
  const clean = line.map(cleanSpan);
  if (cellsOfLine(clean) <= cells) return clean;
  const kept: Span[] = [];
  let left = cells;
  for (const [at, span] of clean.entries()) {
    const width = cellsOf(span.text);
    // One cell is reserved for the mark if more follows.
    const isLast = at === clean.length - 1;
    if (width < left || (width === left && isLast)) {
      kept.push(span);
      left -= width;
      continue;
    }
    kept.push({ ...span, text: width > left ? cutToCells(span.text, left) : cutToCells(`${span.text}  `, left) });
    break;
  }
  return kept;
}

/** Pads or shortens a line to exactly `cells` cells. */
export function fitLine(line: Line, cells: number, align: "left" | "right" = "left"): Line {
  const cut = cutLine(line, cells);
  const blanks = cells - cellsOfLine(cut);
  if (blanks <= 0) return cut;
  const fill: Span = { text: " ".repeat(blanks) };
  return align === "left" ? [...cut, fill] : [fill, ...cut];
}

/** Pads or shortens a span to exactly `cells` cells. */
export function fitSpan(span: Span, cells: number, options: { align: "left" | "right"; cut: "middle" | "end" }): Span {
  const clean = cleanSpan(span);
  const width = cellsOf(clean.text);
  if (width === cells) return clean;
  const cut =
    width < cells
      ? clean.text
      : options.cut === "middle"
        ? cutMiddle(clean.text, cells)
        : cutToCells(clean.text, cells);
  const blanks = " ".repeat(Math.max(0, cells - cellsOf(cut)));
  return { ...clean, text: options.align === "left" ? cut + blanks : blanks + cut };
}

/** Puts two parts at the ends of `cells`; the left one is shortened if necessary. */
export function spread(left: Line, right: Line, cells: number): Line {
  const end = cutLine(right, cells);
  const room = cells - cellsOfLine(end);
  return room <= 1
    ? fitLine(end, cells)
    : [...fitLine(left, room - (end.length > 0 ? 1 : 0)), ...(end.length > 0 ? [{ text: " " }, ...end] : [])];
}

/** Breaks a line at blanks, and inside words that are too long, without losing text. Returns at least one line. */
export function wrapLine(line: Line, cells: number): readonly Line[] {
  const clean = line.map(cleanSpan);
  const text = clean.map((span) => span.text).join("");
  if (cellsOf(text) <= cells) return [clean];
  return breaksOf(text, Math.max(2, cells)).map(([from, to]) => sliceUnits(clean, from, to));
}

/** Breaks a line like `wrapLine`; continuation lines are indented below the text, after its blanks and its label. */
export function wrapHanging(line: Line, cells: number): readonly Line[] {
  const clean = line.map(cleanSpan);
  const text = clean.map((span) => span.text).join("");
  const [head = ""] = /^\s*(?:\S{1,24}\s{2,})?/.exec(text) ?? [];
  const [first] = cellsOf(text) <= cells ? [] : breaksOf(text, Math.max(2, cells));
  if (first === undefined || head === "" || cellsOf(head) * 2 > cells) return wrapLine(line, cells);
  const from = text[first[1]] === " " ? first[1] + 1 : first[1];
  const indent = { text: " ".repeat(cellsOf(head)) };
  const rest = wrapLine(sliceUnits(clean, from, text.length), cells - cellsOf(head));
  return [sliceUnits(clean, ...first), ...rest.map((more) => [indent, ...more])];
}

export const wrapLines = (lines: readonly Line[], cells: number): readonly Line[] =>
  lines.flatMap((line) => wrapLine(line, cells));

/** Returns the pieces as UTF-16 ranges; the blank at a break belongs to none. */
function breaksOf(text: string, cells: number): readonly (readonly [number, number])[] {
  const pieces: [number, number][] = [];
  let start = 0;
  let width = 0;
  let blankAt = -1;
  let at = 0;
  for (const character of text) {
    const own = cellsOf(character);
    if (width + own > cells && at > start) {
      const isBlank = character === " ";
      const end = isBlank ? at : blankAt > start ? blankAt : at;
      pieces.push([start, end]);
      start = isBlank || end === blankAt ? end + 1 : end;
      width = isBlank ? 0 : cellsOf(text.slice(start, at));
      blankAt = -1;
      if (isBlank) {
        at += 1;
        continue;
      }
    }
    if (character === " ") blankAt = at;
    width += own;
    at += character.length;
  }
  if (start < text.length) pieces.push([start, text.length]);
  return pieces;
}

function sliceUnits(line: Line, from: number, to: number): Line {
  const kept: Span[] = [];
  let at = 0;
  for (const span of line) {
    const text = span.text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (text !== "") kept.push({ ...span, text });
    at += span.text.length;
  }
  return kept;
}

/** Returns the line with every span in this tone. */
export const withTone = (line: Line, tone: Tone): Line => line.map((span) => ({ ...span, tone }));

export const inverse = (line: Line): Line => line.map((span) => ({ ...span, isInverse: true }));
