/** Configuration document as a page with line numbers; possible credentials are masked. */

import { type Line, line, span } from "../model/text.ts";
import { masked } from "./mask.ts";
import { safeText } from "./shown-line.ts";

export function documentPage(document: string): readonly Line[] {
  if (document === "") return [line("The document is empty.")];
  const lines = masked(document).split("\n");
  if (lines.at(-1) === "") lines.pop();
  const cells = String(lines.length).length;
  return lines.map((text, at) => [span(`${String(at + 1).padStart(cells)}  `, "dim"), span(safeText(text))]);
}
