/**
 * Names that `:` finds besides views: rows (a key, a provider, a request id), and verbs followed by the name of a row, such as
 * `suspend acme-chat`. A verb only opens its dialog.
 */

import type { Need } from "../model/data.ts";
import { VERBS, type VerbId } from "../model/key-bindings.ts";
import type { State } from "../model/state.ts";
import type { Offer, View } from "../model/view.ts";
import { contextOf } from "./current-view.ts";
import { tableOfView } from "./listing.ts";
import { matchOf } from "./match-name.ts";
import { OWN } from "./parse-command.ts";

interface NamedRow {
  readonly view: View;
  /** Noun of the row: `key`. */
  readonly kind: string;
  readonly name: string;
  readonly row: string;
  readonly match: number;
}

/** Maximum number of names that are found in a list; if there are more, the operator has to type more of the name. */
const MAX_ROWS = 50;
/** Minimum length of a search; fewer characters find too much. */
const MIN_LENGTH = 3;

const kindOf = (view: View): string | undefined => (view.body.kind === "table" ? view.rows : undefined);

/** Returns rows whose name, or kind and name (`key:ci`), equals, begins with or contains the text. */
export function namedRows(state: State, views: readonly View[], text: string): readonly NamedRow[] {
  if (text.length < MIN_LENGTH) return [];
  // Uses the newest data even while the screen is frozen.
  const context = { ...contextOf({ ...state, frozen: undefined }), subject: undefined };
  return views.flatMap((view): readonly NamedRow[] => {
    const kind = kindOf(view);
    const [need] = view.needs(undefined);
    if (kind === undefined || view.body.kind !== "table" || need === undefined) return [];
    if (context.data.get(need)?.value === undefined) return [];
    const table = tableOfView(view, view.body, context);
    const found: NamedRow[] = [];
    for (let at = 0; at < table.count && found.length < MAX_ROWS; at += 1) {
      const name = table.nameOf(at);
      const match = matchOf(text, [name, `${kind}:${name}`]);
      if (match !== undefined && match < 3) found.push({ view, kind, name, row: table.idOf(at), match });
    }
    return found;
  });
}

interface NamedVerb {
  readonly verb: VerbId;
  readonly view: View;
  readonly offer: Offer;
  /** Word as it is typed. */
  readonly word: string;
}

/** Returns the single words of a verb: its name, its standard text and its text in this view. */
const verbNames = ({ verb, label }: Offer): readonly string[] =>
  [...new Set([verb, VERBS[verb].label, label])].filter(
    (word): word is string => word !== undefined && /^\w+$/.test(word),
  );

/** Returns verbs that change something and act on a named row, or on none. */
export function namedVerbs(state: State, views: readonly View[]): readonly NamedVerb[] {
  return views.flatMap((view) =>
    view.offers.flatMap((offer): readonly NamedVerb[] => {
      const isFound = offer.needsRow ? kindOf(view) !== undefined : true;
      if (!isFound || VERBS[offer.verb].group !== "write" || state.isReadOnly) return [];
      return verbNames(offer).map((word) => ({ verb: offer.verb, view, offer, word }));
    }),
  );
}

/** Returns the views whose rows the text may name: those with that verb, or all if it is not the start of another name. */
function viewsMeant(state: State, views: readonly View[], text: string): readonly View[] {
  const [, word = "", blank = ""] = /^\s*(\S*)(\s*)/.exec(text) ?? [];
  if (blank !== "") {
    const meant = namedVerbs(state, views).flatMap(({ word: of, view, offer }) =>
      of === word && offer.needsRow ? [view] : [],
    );
    return [...new Set(meant)];
  }
  if (word.length < MIN_LENGTH) return [];
  const isOther = [
    ...views.flatMap(({ id, aliases }) => [id, ...aliases]),
    ...OWN.flatMap(({ names }) => names),
    ...namedVerbs(state, views).map(({ word: of }) => of),
  ].some((name) => name.startsWith(word.toLowerCase()));
  return isOther ? [] : views.filter((view) => kindOf(view) !== undefined);
}

/** Returns the needs that are read while `:` is typed, so that names are found. */
export function paletteNeeds(state: State, views: readonly View[]): readonly Need[] {
  if (state.prompt?.kind !== "command") return [];
  return viewsMeant(state, views, state.prompt.edit.text).flatMap((view) => view.needs(undefined).slice(0, 1));
}

/** Returns whether some of these names are not read yet but may still arrive. */
export const isReadingNames = (state: State, views: readonly View[]): boolean =>
  paletteNeeds(state, views).some((need) => {
    const reading = state.data.get(need);
    return reading?.value === undefined && reading?.failure === undefined;
  });

/** Returns the kinds of rows whose names could not be read, so that a message does not call such a name missing. */
export function unreadKinds(state: State, views: readonly View[]): readonly string[] {
  if (state.prompt?.kind !== "command") return [];
  const unread = viewsMeant(state, views, state.prompt.edit.text).filter((view) => {
    const [need] = view.needs(undefined);
    return need !== undefined && state.data.get(need)?.value === undefined;
  });
  return [...new Set(unread.flatMap((view) => kindOf(view) ?? []))];
}
