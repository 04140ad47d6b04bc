/** Single line of an editor: the part around the cursor that fits, with the cursor inverted. */

import { cellsOf, cutToCells, escapeControls } from "../../base/index.ts";
import type { Edit } from "../model/state.ts";
import type { Line } from "../model/text.ts";

/** Draws the text around the cursor in at most `cells` cells. `cells` is at least 3. */
export function editLine({ text, at }: Edit, cells: number): Line {
  const [under = " "] = text.slice(at);
  const cursor = escapeControls(under);
  const before = startCut(escapeControls(text.slice(0, at)), cells - Math.max(1, cellsOf(cursor)));
  const after = escapeControls(text.slice(at + under.length));
  const room = cells - cellsOf(before) - Math.max(1, cellsOf(cursor));
  return [
    { text: before },
    { text: cursor, isInverse: true },
    ...(room <= 0 || after === "" ? [] : [{ text: cutToCells(after, room) }]),
  ];
}

/** Returns the end of the text, after `…` if the start was cut off. */
function startCut(text: string, cells: number): string {
  if (cellsOf(text) <= cells) return text;
  let visible = "";
  let left = cells - 1;
  for (const character of [...text].reverse()) {
    left -= cellsOf(character);
    if (left < 0) break;
    visible = character + visible;
  }
  return `…${visible}`;
}
