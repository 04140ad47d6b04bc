/** Names in a sentence. They come from outside, so what a terminal would obey is taken out. */

import { escapeControls } from "../../base/index.ts";

/** Names that a dialog spells out. */
const MAX_NAMES = 8;

/** `a, b and 3 more`. */
export function namesInWords(names: readonly string[], most = MAX_NAMES): string {
  const shown = names.slice(0, most).map(escapeControls).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}
