/** Text from outside on a page: one line of it, without what a terminal obeys, no longer than anybody scrolls. */

import { escapeControls } from "../../base/index.ts";
import { count } from "../format/numbers.ts";

/** UTF-16 units of a line; a document may be one line of megabytes. */
const MAX_SHOWN = 2_000;

export function shown(text: string): string {
  if (text.length <= MAX_SHOWN) return escapeControls(text);
  return `${escapeControls(text.slice(0, MAX_SHOWN))} (${count(text.length - MAX_SHOWN)} characters more)`;
}
