/** Error messages for names that the gateway does not have. They suggest the most similar name. */

import { escapeControls } from "../../base/index.ts";
import { clipArgument, didYouMean } from "../parse-flags.ts";

/** Maximum number of names that a message lists; for the rest it gives their number. */
const MAX_LISTED = 12;

/** Returns a message such as `there is no key 'cii' (did you mean 'ci'?)`. Lists the known names if none is similar. */
export function unknownName(kind: string, name: string, known: readonly string[]): string {
  const hint = didYouMean(name, known);
  if (hint !== "") return `there is no ${kind} '${clipArgument(name)}'${hint}`;
  if (known.length === 0) return `there is no ${kind} '${clipArgument(name)}': no ${kind} exists yet`;
  const listed = known.slice(0, MAX_LISTED).map(escapeControls).join(", ");
  const more = known.length > MAX_LISTED ? ` and ${known.length - MAX_LISTED} more` : "";
  return `there is no ${kind} '${clipArgument(name)}'; known: ${listed}${more}`;
}
