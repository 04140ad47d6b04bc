/** Errors about a thing that the gateway does not have, with the name that was most likely meant. */

import { escapeControls } from "../../base/index.ts";
import { clip, didYouMean } from "../flags.ts";

/** Names that an error lists; beyond that it says how many there are. */
const MOST_LISTED = 12;

/** `there is no key 'cii' (did you mean 'ci'?)`, else with the names that there are. */
export function unknownName(kind: string, name: string, known: readonly string[]): string {
  const hint = didYouMean(name, known);
  if (hint !== "") return `there is no ${kind} '${clip(name)}'${hint}`;
  if (known.length === 0) return `there is no ${kind} '${clip(name)}': there are none`;
  const listed = known.slice(0, MOST_LISTED).map(escapeControls).join(", ");
  const more = known.length > MOST_LISTED ? ` and ${known.length - MOST_LISTED} more` : "";
  return `there is no ${kind} '${clip(name)}'; known: ${listed}${more}`;
}
