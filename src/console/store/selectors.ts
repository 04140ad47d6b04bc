/**
 * Selectors for drawing and for the watch: the visible part of a state (`current-view.ts` and `view-status.ts`, re-exported
 * here), the available actions, and the needs.
 */

import type { Context } from "../model/context.ts";
import { keyOf, type Need, type ReadableId } from "../model/data.ts";
import { VERBS } from "../model/key-bindings.ts";
import type { State } from "../model/state.ts";
import type { Offer, Selection, View } from "../model/view.ts";
import { paletteNeeds } from "./command-palette.ts";
import { contextOf, cursorRowOf, listingOf, tableStateOf, viewOf } from "./current-view.ts";
import { isTooSmall } from "./layout.ts";
import { type Listing, placeOfRow } from "./listing.ts";
import { viewNamed } from "./parse-command.ts";
import { undoOffer } from "./undo.ts";

export {
  contextOf,
  cursorRowOf,
  isHelpOpen,
  listingOf,
  placeKey,
  type Text,
  tableStateOf,
  textOf,
  viewOf,
} from "./current-view.ts";
export type { Listing } from "./listing.ts";
export { type Freshness, freshnessOf, gapsOf, statusOf, type ViewStatus } from "./view-status.ts";

/**
 * Returns the row of the open page; otherwise the marked rows that are not filtered out, in their order; otherwise the row
 * under the cursor; none in an empty table.
 */
export function selectionOf(state: State, views: readonly View[]): Selection {
  const listing = listingOf(state, views);
  if (listing === undefined) return { ids: [] };
  const { table, order } = listing;
  const ofPage = state.page?.row;
  if (ofPage !== undefined) return { ids: placeOfRow(table, order, ofPage) === undefined ? [] : [ofPage] };
  const marked = [...tableStateOf(state).marks].flatMap((id) => placeOfRow(table, order, id) ?? []);
  if (marked.length > 0) {
    return { ids: marked.sort((a, b) => a - b).flatMap((index) => idsAt(listing, index)) };
  }
  return { ids: idsAt(listing, listing.cursor) };
}

function idsAt({ table, order }: Listing, index: number): readonly string[] {
  const at = order[index];
  return at === undefined ? [] : [table.idOf(at)];
}

/** Returns the reason why nothing can be changed at the gateway now; `undefined` if it can. */
export function whyChangesImpossible({ isReadOnly, frozen, link, size }: State): string | undefined {
  if (isReadOnly) return "read-only";
  // Nothing can be changed if the screen cannot show what the change does.
  if (isTooSmall(size)) return "the terminal is too small to show what the change does";
  if (frozen !== undefined) return "the screen is frozen; press z to resume";
  switch (link.state.kind) {
    case "online":
      return undefined;
    case "connecting":
      return "not available while connecting";
    case "offline":
      return `not available while OFFLINE: ${link.state.failure.message}`;
    case "signed_out":
      return `not available while SIGNED OUT: ${link.state.failure.message}`;
    default:
      return link.state satisfies never;
  }
}

interface Offered {
  readonly offer: Offer;
  /** False for a verb that changes the gateway while the console is in read-only mode. */
  readonly isShown: boolean;
  /** Reason why it is unavailable now; `undefined` if it is available. */
  readonly disabledReason: string | undefined;
}

/** Returns the view's offers in their order. */
export function offersOf(state: State, views: readonly View[]): readonly Offered[] {
  const { offers } = viewOf(state, views);
  if (offers.length === 0 && state.undo === undefined) return [];
  const chosen = selectionOf(state, views);
  const context = contextOf(state);
  const offeredAs = (offer: Offer): Offered => ({
    offer,
    isShown: !(state.isReadOnly && VERBS[offer.verb].group === "write"),
    disabledReason: disabledReasonOf(state, offer, chosen, context),
  });
  const offered = offers.map(offeredAs);
  const isLiftable = offered.some(
    ({ offer: { verb }, disabledReason }) => verb === "lift" && disabledReason === undefined,
  );
  const undo = isLiftable ? undefined : undoOffer(state.undo, context);
  return undo === undefined ? offered : [...offered.filter(({ offer }) => offer.verb !== undo.verb), offeredAs(undo)];
}

function disabledReasonOf(state: State, offer: Offer, chosen: Selection, context: Context): string | undefined {
  const { group, chord } = VERBS[offer.verb];
  const refused = group === "write" ? whyChangesImpossible(state) : undefined;
  if (refused !== undefined) return refused;
  if (offer.needsRow && chosen.ids.length === 0) return "no row";
  if (offer.takesMany !== true && offer.needsRow && chosen.ids.length > 1) {
    return `${chord} works on one row, but ${chosen.ids.length} are marked`;
  }
  return offer.disabledReason?.(chosen, context);
}

/** Needs of the identity line and the health line. */
const FRAME_NEEDS: readonly Need[] = (
  [
    "get_status",
    "get_whoami",
    "list_cluster_members",
    "list_backends",
    "list_budgets",
    "list_suspensions",
    "get_config",
  ] as const satisfies readonly ReadableId[]
).map((id) => ({ id }));

/** Id of the view that shows charts of the metrics, whether or not they are among its needs. */
const METRICS_VIEW = "overview";

/** Returns the needs to keep up to date now: those of the frame, the view, and the pane of the row under the cursor. */
export function needsOf(state: State, views: readonly View[]): readonly Need[] {
  const view = viewOf(state, views);
  const { subject } = state.place;
  const all = [
    ...FRAME_NEEDS,
    ...view.needs(subject, state.preferences.chartScale),
    ...paneNeedsOf(state, view, views),
    ...paletteNeeds(state, views),
    ...typedNeedsOf(state, views),
  ];
  if (view.id === METRICS_VIEW) all.push({ id: "metrics" });
  const byKey = new Map(all.map((need) => [keyOf(need), need]));
  if (!state.hasMetrics) byKey.delete("metrics");
  return [...byKey.values()];
}

/** Returns the first need of the view whose name is typed after `:`, so that its subjects can be offered. */
function typedNeedsOf({ prompt }: State, views: readonly View[]): readonly Need[] {
  const [, name = ""] = prompt?.kind === "command" ? (/^\s*(\S+)\s/.exec(prompt.edit.text) ?? []) : [];
  const view = name === "" ? undefined : viewNamed(name, views);
  return view === undefined || typeof view === "string" || view.subjects === undefined
    ? []
    : view.needs(undefined).slice(0, 1);
}

function paneNeedsOf(state: State, { body }: View, views: readonly View[]): readonly Need[] {
  const row = body.kind === "table" ? cursorRowOf(listingOf(state, views)) : undefined;
  return body.kind === "table" && row !== undefined ? (body.paneNeeds?.(row, contextOf(state)) ?? []) : [];
}

/** Returns the need of the row under the cursor whose local computation is running. */
export function underWayOf(state: State, views: readonly View[]): Need | undefined {
  return paneNeedsOf(state, viewOf(state, views), views).find((need) => state.data.get(need)?.progress !== undefined);
}
