/** Verb letters: starts a verb that the view offers, and explains why one is not offered or unavailable. */

import { namesText } from "../format/name-list.ts";
import { VERBS, type VerbId } from "../model/key-bindings.ts";
import type { Chord } from "../model/key-event.ts";
import type { State, Step } from "../model/state.ts";
import type { View } from "../model/view.ts";
import { contextOf, cursorRowOf, listingOf } from "./current-view.ts";
import { withFlash } from "./flash.ts";
import { runIntent } from "./intent.ts";
import { withTable } from "./navigation.ts";
import { offersOf, selectionOf } from "./selectors.ts";
import { stateOnly } from "./step-helpers.ts";
import { withRowOfPage } from "./step-table.ts";

const BY_CHORD: ReadonlyMap<Chord, VerbId> = new Map(
  (Object.keys(VERBS) as VerbId[]).map((verb) => [VERBS[verb].chord, verb]),
);

/** Maximum number of views named in the message about a verb that is not offered. */
const MAX_NAMED = 5;

/** Handles the letter of a verb. Returns `undefined` for any other chord. */
export function stepVerb(state: State, chord: Chord, views: readonly View[]): Step | undefined {
  const verb = BY_CHORD.get(chord);
  if (verb === undefined) return undefined;
  if (state.isReadOnly && VERBS[verb].group === "write") {
    return stateOnly(withFlash(state, `read-only: ${chord} is not available`));
  }
  const offered = offersOf(state, views).find(({ offer }) => offer.verb === verb);
  if (offered === undefined) return stateOnly(withFlash(state, viewsOffering(verb, views)));
  if (offered.disabledReason !== undefined) return stateOnly(withFlash(state, `${chord}: ${offered.disabledReason}`));
  const chosen = selectionOf(state, views);
  const intent = offered.offer.start(chosen, contextOf(state));
  const step = runIntent(intent.kind === "dialog" ? withCursorKept(state, views) : state, intent, views);
  const row = offered.offer.needsRow && chosen.ids.length === 1 ? chosen.ids[0] : undefined;
  return withRowOfPage(state, step, row);
}

/** Fixes the cursor on the row that is acted on, since the action may move that row away from the first position. */
function withCursorKept(state: State, views: readonly View[]): State {
  const cursorId = cursorRowOf(listingOf(state, views));
  return cursorId === undefined ? state : withTable(state, { cursorId });
}

function viewsOffering(verb: VerbId, views: readonly View[]): string {
  const { chord, label } = VERBS[verb];
  const ids = views.filter(({ offers }) => offers.some((offer) => offer.verb === verb)).map(({ id }) => id);
  if (ids.length === 0) return `${chord} (${label}) is not available here`;
  return `${chord} (${label}) is not available here; use it in: ${namesText(ids, MAX_NAMED)}`;
}
