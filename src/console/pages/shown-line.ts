/** Foreign text on a page: one line without control characters, limited in length. */

import { escapeControls } from "../../base/index.ts";
import { count } from "../format/numbers.ts";

/** Maximum length of a line in UTF-16 units; a document may be one line of megabytes. */
const MAX_SHOWN = 2_000;

export function safeText(text: string): string {
  if (text.length <= MAX_SHOWN) return escapeControls(text);
  return `${escapeControls(text.slice(0, MAX_SHOWN))} (${count(text.length - MAX_SHOWN)} characters more)`;
}
