/**
 * Text of an editor as rows of the screen. Long lines continue in the next row; the cursor is an inverted cell. Rows are
 * computed first and drawn later, so that only the visible part of a long statement is drawn.
 */

import { cellsOf, escapeControls } from "../../base/index.ts";
import { remember } from "../model/remember.ts";
import type { Edit } from "../model/state.ts";
import type { Line, Span, Tone } from "../model/text.ts";

/** Part of the text in one row, in UTF-16 units. */
interface EditorRow {
  readonly from: number;
  readonly to: number;
  /** Whether a text line begins or ends with this row. */
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

const PLAIN = /^[\x20-\x7e]*$/;

/** Breaks the text into rows, at least one. `cells` is the width of a row, at least two, which is the widest character. */
export const editorRows = remember(breakRows, 4);

function breakRows(text: string, cells: number): readonly EditorRow[] {
  const room = Math.max(2, cells);
  const rows: EditorRow[] = [];
  let start = 0;
  for (const line of text.split("\n")) {
    const breaks = PLAIN.test(line) ? plainBreaks(line, room) : breaksOf(line, room);
    for (const [index, from] of breaks.entries()) {
      const to = breaks[index + 1] ?? line.length;
      rows.push({ from: start + from, to: start + to, isFirst: index === 0, isLast: index === breaks.length - 1 });
    }
    start += line.length + 1;
  }
  return rows;
}

const plainBreaks = (line: string, cells: number): readonly number[] =>
  Array.from({ length: Math.max(1, Math.ceil(line.length / cells)) }, (_, at) => at * cells);

function breaksOf(line: string, cells: number): readonly number[] {
  const breaks = [0];
  // Widths by character; a long text has few different characters.
  const widths = new Map<string, number>();
  let at = 0;
  let left = cells;
  for (const character of line) {
    const own = widths.get(character) ?? cellsOf(escapeControls(character));
    widths.set(character, own);
    if (own > left && at > (breaks.at(-1) ?? 0)) {
      breaks.push(at);
      left = cells;
    }
    left -= own;
    at += character.length;
  }
  return breaks;
}

/** Returns the index of the row with the cursor. */
export const rowOfCursor = (rows: readonly EditorRow[], at: number): number =>
  Math.max(
    0,
    rows.findIndex(({ from, to, isLast }) => from <= at && (at < to || (at === to && isLast))),
  );

/** Highlighted range of the text; ranges are in order and do not overlap. */
export interface Toned {
  readonly from: number;
  readonly to: number;
  readonly tone: Tone;
}

/** Draws one row. `cursor: undefined` shows no cursor. */
export function drawRow(
  { text }: Pick<Edit, "text">,
  row: EditorRow,
  tones: readonly Toned[],
  cursor: number | undefined,
): Line {
  const spans: Span[] = [];
  const near = tones.filter(({ from, to }) => to > row.from && from < row.to);
  let at = row.from;
  let run = { text: "", tone: "plain" as Tone };
  const flush = (): void => {
    if (run.text !== "") spans.push({ text: escapeControls(run.text), tone: run.tone });
    run = { text: "", tone: "plain" };
  };
  for (const character of text.slice(row.from, row.to)) {
    const position = at;
    const tone = near.find(({ from, to }) => from <= position && position < to)?.tone ?? "plain";
    at += character.length;
    if (position === cursor) {
      flush();
      spans.push({ text: escapeControls(character), tone, isInverse: true });
      continue;
    }
    if (tone !== run.tone) flush();
    run = { text: run.text + character, tone };
  }
  flush();
  if (cursor === row.to && row.isLast) spans.push({ text: " ", isInverse: true });
  return spans;
}
