/**
 * Status of the view on the screen, and the age of its data. Source: operator console reference, B1 (freshness) and B4 (states
 * that each view must have). The first need of a view decides.
 */

import type { Failure, Gaps, Need, ReadableId, Reading } from "../model/data.ts";
import type { ConsoleEndpoint } from "../model/ports.ts";
import type { State } from "../model/state.ts";
import type { Tone } from "../model/text.ts";
import type { TableBody, View } from "../model/view.ts";
import { contextOf, listingOf, tableStateOf, textOf, viewOf } from "./current-view.ts";
import { isTooSmall } from "./layout.ts";

/** Status of a view. `hasData` is true if the last good answer is still on the screen. Times are in milliseconds since 1970. */
export type ViewStatus =
  | { readonly kind: "ok" }
  | { readonly kind: "too_small"; readonly columns: number; readonly rows: number }
  | { readonly kind: "loading"; readonly since: number | undefined }
  | { readonly kind: "empty"; readonly sentence: string; readonly next: string }
  | {
      readonly kind: "filtered_out";
      readonly total: number;
      readonly filter: string;
      readonly isNarrowed: boolean;
    }
  | { readonly kind: "forbidden"; readonly need: Need; readonly failure: Failure }
  | {
      readonly kind: "failed";
      readonly need: Need;
      readonly failure: Failure;
      readonly hasData: boolean;
      readonly freshAt: number | undefined;
    }
  | {
      readonly kind: "offline";
      readonly failure: Failure;
      readonly since: number;
      readonly retryAt: number;
      readonly endpoint: ConsoleEndpoint;
      readonly hasData: boolean;
    }
  | { readonly kind: "signed_out"; readonly failure: Failure; readonly hasData: boolean };

export function statusOf(state: State, views: readonly View[]): ViewStatus {
  const { size, link } = state;
  if (isTooSmall(size)) return { kind: "too_small", columns: size.columns, rows: size.rows };
  const [need] = viewOf(state, views).needs(state.place.subject, state.preferences.chartScale);
  const reading = need === undefined ? undefined : readingOf(state, need);
  const hasData = need === undefined || reading?.value !== undefined;
  const failure = reading?.failure;
  if (link.state.kind === "signed_out") return { kind: "signed_out", failure: link.state.failure, hasData };
  if (link.state.kind === "offline") return { ...link.state, endpoint: link.endpoint, hasData };
  if (need !== undefined && failure !== undefined) {
    if (failure.status === 403) return { kind: "forbidden", need, failure };
    return { kind: "failed", need, failure, hasData, freshAt: reading?.freshAt };
  }
  if (!hasData) return { kind: "loading", since: reading?.requestedAt };
  return statusOfRows(state, views);
}

function statusOfRows(state: State, views: readonly View[]): ViewStatus {
  const { body } = viewOf(state, views);
  const { filter, isNarrowed } = tableStateOf(state);
  if (body.kind === "table") {
    const listing = listingOf(state, views);
    if (listing === undefined || listing.order.length > 0) return { kind: "ok" };
    if (listing.total === 0) return withoutRows(state, body);
    return { kind: "filtered_out", total: listing.total, filter, isNarrowed };
  }
  if (body.kind === "page" && filter !== "") {
    const text = textOf({ ...state, page: undefined }, views);
    if (text !== undefined && text.lines.length === 0 && text.total > 0) {
      return { kind: "filtered_out", total: text.total, filter, isNarrowed: false };
    }
  }
  return { kind: "ok" };
}

/** Returns the status of a table without rows, which is empty only when all deciding needs were read. */
function withoutRows(state: State, body: TableBody): ViewStatus {
  for (const need of body.rowNeeds?.(state.place.subject) ?? []) {
    const reading = readingOf(state, need);
    if (reading?.value !== undefined) continue;
    const failure = reading?.failure;
    if (failure === undefined) return { kind: "loading", since: reading?.requestedAt };
    if (failure.status === 403) return { kind: "forbidden", need, failure };
    return { kind: "failed", need, failure, hasData: false, freshAt: undefined };
  }
  return { kind: "empty", ...body.empty(contextOf(state)) };
}

const readingOf = (state: State, need: Need): Reading<unknown> | undefined => contextOf(state).data.get(need);

/** Returns the nodes that are missing from any reading of the view; `undefined` if none is. */
export function gapsOf(state: State, views: readonly View[]): Gaps | undefined {
  const found = viewOf(state, views)
    .needs(state.place.subject, state.preferences.chartScale)
    .flatMap((need) => readingOf(state, need)?.gaps ?? []);
  const [first, ...others] = found;
  if (first === undefined || others.length === 0) return first;
  const union = (of: "unanswered" | "cut"): readonly string[] => [...new Set(found.flatMap((gaps) => gaps[of]))].sort();
  return { unanswered: union("unanswered"), cut: union("cut"), isOfOne: found.some(({ isOfOne }) => isOfOne) };
}

export interface Freshness {
  readonly word: string;
  readonly tone: Tone;
}

const SECOND = 1_000;
/** Maximum age of live data, in milliseconds: a blocking read answers or is repeated sooner. */
const LIVE_MS = 5 * SECOND;
const SLOW_MS = 10 * SECOND;

const NODE = { id: "get_status" } as const satisfies Need;
/**
 * Reads that happen once, or at most twice a minute. Their age has no meaning, so the view counts as live while the node answers.
 */
const SELDOM_READ: ReadonlySet<ReadableId> = new Set([
  "get_config",
  "get_whoami",
  "list_query_tables",
  "list_source_revisions",
]);

export function freshnessOf(state: State, views: readonly View[]): Freshness {
  const { word, tone } = wordOf(state, views);
  return { word: state.isReadOnly ? `${word} READ-ONLY` : word, tone };
}

function wordOf(state: State, views: readonly View[]): Freshness {
  const { link, now, frozen } = state;
  switch (link.state.kind) {
    case "signed_out":
      return { word: "SIGNED OUT", tone: "fail" };
    case "offline":
      return { word: `OFFLINE retry ${seconds(link.state.retryAt - now)}`, tone: "fail" };
    case "connecting":
      return { word: "connecting", tone: "dim" };
    case "online":
      break;
    default:
      return link.state satisfies never;
  }
  if (frozen !== undefined) return { word: "FROZEN", tone: "warn" };
  const [need = NODE] = viewOf(state, views).needs(state.place.subject, state.preferences.chartScale);
  const ofNode = state.data.get(NODE);
  const ofView = SELDOM_READ.has(need.id) ? ofNode : (state.data.get(need) ?? ofNode);
  const freshAt = ofView?.freshAt ?? ofNode?.freshAt;
  if (freshAt === undefined) {
    // If the reads of the view are forbidden, there is no age to show.
    return { word: ofView?.failure === undefined ? "connecting" : "online", tone: "dim" };
  }
  const age = now - freshAt;
  if (age <= LIVE_MS) return { word: `live ${seconds(age)}`, tone: "plain" };
  if (age <= SLOW_MS) return { word: `slow ${seconds(age)}`, tone: "warn" };
  return { word: `STALE ${seconds(age)}`, tone: "fail" };
}

const seconds = (ms: number): string => `${Math.max(0, Math.floor(ms / SECOND))}s`;
