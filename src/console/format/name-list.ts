/** Lists names in a sentence, with control characters escaped. */

import { escapeControls } from "../../base/index.ts";

/** Maximum number of names that are listed. */
const MAX_NAMES = 8;

/** Joins names: `a, b and 3 more`. */
export function namesText(names: readonly string[], most = MAX_NAMES): string {
  const shown = names.slice(0, most).map(escapeControls).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}
