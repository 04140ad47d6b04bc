/**
 * Replaces resolved values in a message by their references as written. Used for messages from outside this folder; its own
 * never contain such a value.
 */

import { SHOWN_LENGTH } from "../problem.ts";
import type { Written } from "./value-references.ts";

/**
 * Minimum length of a replaced value. Shorter ones are words and numbers such as `on` or `8080`, which would be found in the
 * sentence itself.
 */
const SHORTEST_HIDDEN = 6;

/** Matches quotations in a message: a name or token in backquotes, or a text as JSON. */
const QUOTED = /`([^`]+)`|"((?:[^"\\]|\\.)+)"/g;

/**
 * Replaces the values. `resolved` contains references as written, by resolved value. `here` is the text that the message is
 * about, if it contains references: a quoted piece of it, such as a word of an expression, may be part of a value.
 */
export function withoutValues(
  message: string,
  resolved: ReadonlyMap<string, string>,
  here: Written | undefined,
): string {
  let text = message;
  // Longer values are replaced first; otherwise parts of them would remain.
  for (const [value, reference] of [...resolved].sort(([one], [other]) => other.length - one.length)) {
    if (value.length < SHORTEST_HIDDEN) continue;
    const escaped = JSON.stringify(value).slice(1, -1);
    const cut = value.slice(0, SHOWN_LENGTH);
    for (const form of [escaped, value, JSON.stringify(cut).slice(1, -1), cut])
      text = text.replaceAll(form, () => reference);
  }
  if (here === undefined) return text;
  return text.replace(QUOTED, (quoted: string, token: string | undefined, json: string | undefined) => {
    const piece = token ?? unquoted(json ?? "");
    const isOfValue = here.value.includes(piece) && !here.text.includes(piece);
    return isOfValue ? `\`${here.references[0] ?? "a reference"}\`` : quoted;
  });
}

function unquoted(json: string): string {
  try {
    return String(JSON.parse(`"${json}"`));
  } catch {
    return json;
  }
}
