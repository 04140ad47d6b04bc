/**
 * Text editing: the effect of a key on a text with a cursor, shared by prompts, dialog fields and the query workbench. Moving
 * and deleting work on user-perceived characters (Unicode Standard Annex 29); words are runs of letters, digits and
 * underscores. The text has at most `MAX_EDIT_LENGTH` UTF-16 units and no control characters except newlines.
 */

import { cellsOf } from "../../base/index.ts";
import { characterOf, type KeyEvent, MAX_PASTE_LENGTH } from "../model/key-event.ts";
import type { Edit } from "../model/state.ts";

export const MAX_EDIT_LENGTH = MAX_PASTE_LENGTH;

interface EditOptions {
  /** True if Enter inserts a newline, and up and down move between lines; otherwise the text is one line. */
  readonly isMultiline: boolean;
}

/** Applies a key or a paste. Returns `undefined` if the chord is not an editing key, or if there is no line above or below. */
export function applyEdit(edit: Edit, event: KeyEvent, { isMultiline }: EditOptions): Edit | undefined {
  if (event.kind === "paste") return insert(edit, pasted(event.text, isMultiline));
  const { text, at } = edit;
  switch (event.chord) {
    case "backspace":
      return cut(edit, before(text, at), at);
    case "delete":
      return cut(edit, at, after(text, at));
    case "left":
      return { text, at: before(text, at) };
    case "right":
      return { text, at: after(text, at) };
    case "home":
    case "ctrl-a":
      return { text, at: lineStart(text, at) };
    case "end":
    case "ctrl-e":
      return { text, at: lineEnd(text, at) };
    case "ctrl-k":
      return cut(edit, at, lineEnd(text, at) === at ? after(text, at) : lineEnd(text, at));
    case "ctrl-u":
      return cut(edit, lineStart(text, at), at);
    case "ctrl-w":
      return cut(edit, backOver(text, at, /\S/), at);
    case "alt-backspace":
      return cut(edit, backOver(text, at, WORD), at);
    case "alt-b":
    case "ctrl-left":
      return { text, at: backOver(text, at, WORD) };
    case "alt-f":
    case "ctrl-right":
      return { text, at: forthOver(text, at) };
    case "enter":
      return isMultiline ? insert(edit, "\n") : undefined;
    case "up":
      return isMultiline ? lineUp(edit) : undefined;
    case "down":
      return isMultiline ? lineDown(edit) : undefined;
    default: {
      const character = characterOf(event.chord);
      return character === undefined || CONTROL.test(character) ? undefined : insert(edit, character);
    }
  }
}

/** Returns the text with the cursor at its end. */
export const editAtEnd = (text: string): Edit => ({ text, at: text.length });

const WORD = /[\p{L}\p{M}\p{N}_]/u;
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;
const CONTROLS = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]/g;

function pasted(text: string, isMultiline: boolean): string {
  const lines = text
    .slice(0, MAX_EDIT_LENGTH)
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll("\t", " ");
  return (isMultiline ? lines : lines.replaceAll("\n", " ")).replace(CONTROLS, "");
}

/** Inserts the part of the text for which there is room. */
function insert({ text, at }: Edit, added: string): Edit {
  const room = Math.max(0, MAX_EDIT_LENGTH - text.length);
  const fitting = added.length <= room ? added : wholePart(added, room);
  return { text: text.slice(0, at) + fitting + text.slice(at), at: at + fitting.length };
}

/** Returns a prefix that does not split a code point. */
function wholePart(text: string, length: number): string {
  const part = text.slice(0, length);
  return part.isWellFormed() ? part : part.slice(0, -1);
}

const cut = ({ text }: Edit, from: number, to: number): Edit => ({
  text: text.slice(0, from) + text.slice(to),
  at: from,
});

let segmenter: Intl.Segmenter | undefined;

/**
 * Splits a text into characters. The segmenter is created on the first edit, because it loads Unicode data that the first frame
 * does not need.
 */
function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** Window for finding a character, in UTF-16 units; usual characters are shorter, longer ones are handled in pieces. */
const NEAR = 64;

function before(text: string, at: number): number {
  const start = Math.max(0, at - NEAR);
  let last = 0;
  // A window may begin inside a code point; the half at its start is never the last segment.
  for (const { segment } of graphemesOf(text.slice(start, at))) last = segment.length;
  return at - last;
}

function after(text: string, at: number): number {
  for (const { segment } of graphemesOf(text.slice(at, at + NEAR)))
    return at + wholePart(segment, segment.length).length;
  return at;
}

const lineStart = (text: string, at: number): number => (at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1);

function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end;
}

/** Returns the start of the run of characters that match `inside` and that ends here or before. */
function backOver(text: string, at: number, inside: RegExp): number {
  const characters = [...text.slice(0, at)];
  let to = at;
  let isInside = false;
  for (let index = characters.length - 1; index >= 0; index -= 1) {
    const character = characters[index] ?? "";
    if (inside.test(character)) isInside = true;
    else if (isInside) break;
    to -= character.length;
  }
  return to;
}

/** Returns the end of the word that begins here or after. */
function forthOver(text: string, at: number): number {
  let to = at;
  let isInside = false;
  for (const character of text.slice(at)) {
    if (WORD.test(character)) isInside = true;
    else if (isInside) break;
    to += character.length;
  }
  return to;
}

function lineUp({ text, at }: Edit): Edit | undefined {
  const start = lineStart(text, at);
  if (start === 0) return undefined;
  return { text, at: columnIn(text, lineStart(text, start - 1), start - 1, cellsOf(text.slice(start, at))) };
}

function lineDown({ text, at }: Edit): Edit | undefined {
  const end = lineEnd(text, at);
  if (end === text.length) return undefined;
  return { text, at: columnIn(text, end + 1, lineEnd(text, end + 1), cellsOf(text.slice(lineStart(text, at), at))) };
}

/** Returns the index at that column, counted in cells, of the line from `start` to `end`; the line's end if it is shorter. */
function columnIn(text: string, start: number, end: number, cells: number): number {
  let left = cells;
  let to = start;
  for (const { segment } of graphemesOf(text.slice(start, end))) {
    left -= cellsOf(segment);
    if (left < 0) break;
    to += segment.length;
  }
  return to;
}
