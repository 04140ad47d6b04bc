/** Text fitted to cells: shortened at the end or in the middle, or padded. Widths: `cellsOf` of base. */

import { cellsOf, cutToCells } from "../../base/index.ts";

/** Shortens a text in the middle, because names often differ at both ends: `acme-m…sages`. `cells` is at least 1. */
export function cutMiddle(text: string, cells: number): string {
  if (cellsOf(text) <= cells) return text;
  if (cells < 5) return cutToCells(text, cells);
  const tail = tailOf(text, Math.floor((cells - 1) / 2));
  const head = cutToCells(text, cells - cellsOf(tail));
  return head + tail;
}

function tailOf(text: string, cells: number): string {
  const characters = [...text];
  let tail = "";
  for (let at = characters.length - 1; at >= 0; at -= 1) {
    const longer = (characters[at] ?? "") + tail;
    if (cellsOf(longer) > cells) break;
    tail = longer;
  }
  return tail;
}

/** Pads or shortens a text to exactly `cells` cells. */
export function padTo(text: string, cells: number, align: "left" | "right" = "left"): string {
  const fitted = cellsOf(text) <= cells ? text : cutToCells(text, Math.max(1, cells));
  const blanks = " ".repeat(Math.max(0, cells - cellsOf(fitted)));
  return align === "left" ? fitted + blanks : blanks + fitted;
}
