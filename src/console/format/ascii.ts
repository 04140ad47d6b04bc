/**
 * Frames for a terminal that supports only ASCII. The console's own drawing characters have replacements; each cell of other
 * text becomes `?`, so that no line changes its width.
 */

import { cellsOf } from "../../base/index.ts";
import type { Line } from "../model/text.ts";

const ASCII = /^[\x20-\x7e]*$/;

const STAND_INS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "─": "-",
    "│": "|",
    "┌": "+",
    "┐": "+",
    "└": "+",
    "┘": "+",
    "├": "+",
    "┤": "+",
    "┬": "+",
    "┴": "+",
    "┼": "+",
    "…": "~",
    "▁": "_",
    "▂": ".",
    "▃": ",",
    "▄": "-",
    "▅": "~",
    "▆": "=",
    "▇": "+",
    "█": "#",
    "░": ".",
    "←": "<",
    "→": ">",
    "↑": "^",
    "↓": "v",
    "‹": "<",
    "›": ">",
    "·": ".",
    "–": "-",
    "—": "-",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
  }),
);

export const inAscii = (lines: readonly Line[]): readonly Line[] =>
  lines.map((line) =>
    line.every(({ text }) => ASCII.test(text)) ? line : line.map((span) => ({ ...span, text: asciiOf(span.text) })),
  );

function asciiOf(text: string): string {
  if (ASCII.test(text)) return text;
  let plain = "";
  for (const character of text) {
    plain += ASCII.test(character) ? character : (STAND_INS.get(character) ?? "?".repeat(cellsOf(character)));
  }
  return plain;
}
