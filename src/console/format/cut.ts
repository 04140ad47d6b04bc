/** Text made to fit cells: cut at its end or in its middle, filled with blanks. Widths: `cellsOf` of base. */

import { cellsOf, cutToCells } from "../../base/index.ts";

/** `acme-m…sages`: what tells names apart is often at both ends. `cells` is 1 at least. */
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

/** Exactly `cells` wide. */
export function padTo(text: string, cells: number, align: "left" | "right" = "left"): string {
  const fitted = cellsOf(text) <= cells ? text : cutToCells(text, Math.max(1, cells));
  const blanks = " ".repeat(Math.max(0, cells - cellsOf(fitted)));
  return align === "left" ? fitted + blanks : blanks + fitted;
}
