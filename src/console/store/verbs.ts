/** Verb letters: what the view offers is begun, and what it does not offer or cannot do now says why. */

import { namesInWords } from "../format/names.ts";
import type { Chord } from "../model/key.ts";
import { VERBS, type VerbId } from "../model/keys.ts";
import type { State, Step } from "../model/state.ts";
import type { View } from "../model/view.ts";
import { flashed } from "./flash.ts";
import { followed } from "./intent.ts";
import { withRowOfPage } from "./moving.ts";
import { only } from "./only.ts";
import { withTable } from "./places.ts";
import { contextOf, cursorRowOf, listingOf } from "./seen.ts";
import { chosenOf, offersOf } from "./select.ts";

const BY_CHORD: ReadonlyMap<Chord, VerbId> = new Map(
  (Object.keys(VERBS) as VerbId[]).map((verb) => [VERBS[verb].chord, verb]),
);

/** As many views are named where a verb is not offered. */
const MOST_NAMED = 5;

/** Undefined: it is no verb's letter. */
export function stepVerb(state: State, chord: Chord, views: readonly View[]): Step | undefined {
  const verb = BY_CHORD.get(chord);
  if (verb === undefined) return undefined;
  if (state.isReadOnly && VERBS[verb].group === "write") {
    return only(flashed(state, `read-only: ${chord} is not available`));
  }
  const offered = offersOf(state, views).find(({ offer }) => offer.verb === verb);
  if (offered === undefined) return only(flashed(state, whereOffered(verb, views)));
  if (offered.why !== undefined) return only(flashed(state, `${chord}: ${offered.why}`));
  const chosen = chosenOf(state, views);
  const intent = offered.offer.start(chosen, contextOf(state));
  const step = followed(intent.kind === "dialog" ? withCursorKept(state, views) : state, intent, views);
  const row = offered.offer.needsRow && chosen.ids.length === 1 ? chosen.ids[0] : undefined;
  return withRowOfPage(state, step, row);
}

/** What is acted on stays under the cursor, though the deed may move it down from where it was the first. */
function withCursorKept(state: State, views: readonly View[]): State {
  const cursorId = cursorRowOf(listingOf(state, views));
  return cursorId === undefined ? state : withTable(state, { cursorId });
}

function whereOffered(verb: VerbId, views: readonly View[]): string {
  const { chord, does } = VERBS[verb];
  const ids = views.filter(({ offers }) => offers.some((offer) => offer.verb === verb)).map(({ id }) => id);
  if (ids.length === 0) return `${chord} (${does}) is not offered here`;
  return `${chord} (${does}) is not offered here; it is in: ${namesInWords(ids, MOST_NAMED)}`;
}
