/**
 * Dialog in the middle of an empty body, or as wide as a small screen. The question stays visible; the text above it scrolls to
 * the field with the focus. Source: operator console reference, B5 and B6.
 */

import { bodyRow, borderLine, fill } from "../format/box-frame.ts";
import type { DialogState, State } from "../model/state.ts";
import { BLANK, type Line, line } from "../model/text.ts";
import { dialogText } from "./dialog-lines.ts";

const WIDEST = 100;
const NARROWEST = 60;

/** Returns only the box, at most `rows` lines; `columns` is the width of its surroundings. */
export function drawDialog(
  state: State,
  open: DialogState,
  { columns, rows, isWhole }: { readonly columns: number; readonly rows: number; readonly isWhole: boolean },
): readonly Line[] {
  const width = isWhole ? columns : Math.max(Math.min(columns, NARROWEST), Math.min(WIDEST, columns - 12));
  const { body, focusAt, foot } = dialogText(state, open, Math.max(8, width - 4));
  const tone = open.dialog.isDangerous ? ("fail" as const) : undefined;
  const room = Math.max(0, rows - 2 - foot.length);
  const seen = windowOf(body, room, open.scrolled ?? (focusAt === undefined ? 0 : focusAt - Math.floor(room / 2)));
  // If the foot is higher than the screen, its end stays visible, because it contains the answer.
  const lines = [...seen, ...foot].slice(-Math.max(1, rows - 2));
  const title = line(open.dialog.title, tone ?? "strong");
  return [
    borderLine("top", width, { left: title, tone }),
    ...(isWhole ? fill(lines, Math.max(lines.length, rows - 2)) : lines).map((content) =>
      bodyRow(content, width, { tone }),
    ),
    borderLine("bottom", width, { tone }),
  ];
}

/** Returns the lines that fit, from `first` on, with the number of lines left out. */
function windowOf(lines: readonly Line[], room: number, first = 0): readonly Line[] {
  if (lines.length <= room) return lines;
  if (room < 3) return lines.slice(0, room);
  const start = Math.max(0, Math.min(first, lines.length - room));
  const seen = lines.slice(start, start + room);
  const [above, below] = [start, lines.length - start - room];
  return seen.map((content, at) => {
    if (at === 0 && above > 0) return line(`↑ ${above + 1} lines above`, "dim");
    if (at === seen.length - 1 && below > 0) return line(`↓ ${below + 1} lines below`, "dim");
    return content;
  });
}

/** Returns `box` in the middle of `columns` and `rows`, as lines of the body. */
export function centered(
  box: readonly Line[],
  boxColumns: number,
  { columns, rows }: { columns: number; rows: number },
): readonly Line[] {
  const left = " ".repeat(Math.max(0, Math.floor((columns - boxColumns) / 2)));
  const above = Math.max(0, Math.floor((rows - box.length) / 2));
  return fill(
    [...Array.from({ length: above }, () => BLANK), ...box.map((content) => [{ text: left }, ...content])],
    rows,
  );
}
