/**
 * Reads the needs of a view or dialog once, for commands that do the same without a screen. Lists that each node measures are
 * read from every node. The reason of a failed read is kept in its reading; the other reads continue.
 */

import type { AdminAddress, AdminClient } from "../../admin-api/index.ts";
import { type Data, keyOf, type Need, type Readable, type ReadableId, type Reading } from "../model/data.ts";
import { EVERY_NODE_MS } from "../model/nodes.ts";
import { foldedNodes } from "./merge-nodes.ts";
import { sendRead } from "./read-endpoint.ts";
import { ONLY, type OwnId, PLAIN, type PlainId, pathOf, type Row, tableOfList } from "./read-rules.ts";

type RemoteNeed = Need<Exclude<ReadableId, OwnId>>;

interface ReadOnceOptions {
  readonly client: AdminClient;
  readonly endpoint: AdminAddress;
  readonly signal: AbortSignal;
  /** Returns the time in milliseconds since 1970. */
  now(): number;
}

/** Time limits of the head and of the body of one answer, in milliseconds. */
const HEAD_MS = 10_000;
const BODY_MS = 20_000;

/** Resolves with the readings by need. Skips local needs (metrics, packs, trials). */
export async function readOnce(needs: readonly Need[], options: ReadOnceOptions): Promise<Data> {
  const remote = needs.filter((need): need is RemoteNeed => need.id in PLAIN || tableOfList(need.id) !== undefined);
  const read = await Promise.all(remote.map(async (need) => [keyOf(need), await readingOf(need, options)] as const));
  const readings = new Map<string, Reading<unknown>>(read);
  return {
    get: <Id extends ReadableId>(need: Need<Id>) => readings.get(keyOf(need)) as Reading<Readable[Id]> | undefined,
  };
}

async function readingOf(
  need: RemoteNeed,
  { client, endpoint, signal, now }: ReadOnceOptions,
): Promise<Reading<unknown>> {
  const requestedAt = now();
  const path = pathOf(need, queryOf(need));
  const outcome = await sendRead({ client, endpoint }, path, { signal, headMs: HEAD_MS, bodyMs: BODY_MS, now });
  const none = { value: undefined, freshAt: undefined, requestedAt };
  switch (outcome.kind) {
    case "answered":
      return { ...parseAnswer(need, outcome.text), freshAt: now(), requestedAt, failure: undefined };
    case "ended":
      signal.throwIfAborted();
      return { ...none, failure: undefined };
    default:
      return { ...none, failure: outcome.failure };
  }
}

function queryOf({ id }: RemoteNeed): string {
  const table = tableOfList(id);
  if (table === undefined) return PLAIN[id as PlainId].query ?? "";
  return [ONLY.get(table), EVERY_NODE_MS.has(table) ? "nodes=all" : undefined]
    .filter((it) => it !== undefined)
    .join("&");
}

function parseAnswer(need: RemoteNeed, text: string): Pick<Reading<unknown>, "value" | "gaps"> {
  const answer = JSON.parse(text) as { items?: unknown; unanswered?: string[]; cut?: string[] };
  const table = tableOfList(need.id);
  const isList = table !== undefined || PLAIN[need.id as PlainId].isList === true;
  if (!isList) return { value: answer };
  const { items, unanswered = [], cut = [] } = answer;
  return {
    value: table === undefined ? items : foldedNodes(table, items as readonly Row[]),
    ...(unanswered.length + cut.length > 0 && { gaps: { unanswered, cut } }),
  };
}
