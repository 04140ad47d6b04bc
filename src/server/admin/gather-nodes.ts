/**
 * Measurements of all nodes, read through any of them: a question goes to each other member over the forward links, and their
 * answers within a second are combined, with the ids of those that did not answer. Source: design decisions, section 3.
 *
 * The node that was asked authorizes the caller; another member answers as it would to a caller with the same rights. A node
 * answers at most `MAX_ANSWER_BYTES`, and reports if it had more.
 */

import { isMeasured, type MeasuredTable, TABLES, type TableName } from "../../admin-api/index.ts";
import type { AuditEventName } from "../../base/index.ts";
import type { Cluster } from "../cluster/index.ts";

/** Maximum wait for a node that hangs, in milliseconds. */
const TIMEOUT_MS = 1_000;
/** Part of that time which is reserved for combining the answers, in milliseconds. */
const MERGE_MS = 100;
/** Maximum size of one node's answer as JSON, in bytes; 5,000 budget buckets. */
const MAX_ANSWER_BYTES = 1 << 20;

export type MemberQuery =
  | { readonly kind: "list"; readonly table: MeasuredTable }
  | { readonly kind: "failures" | "members" | "history"; readonly provider: string }
  /** Records of requests from a position on, since a time in milliseconds since 1970. */
  | { readonly kind: "decisions"; readonly from: number; readonly since: number }
  | { readonly kind: "records"; readonly limit: number; readonly event: AuditEventName | undefined };

type Row = Readonly<Record<string, unknown>>;

interface Gathered {
  readonly items: readonly Row[];
  /** Ids of members that did not answer in time. */
  readonly unanswered: readonly string[];
  /** Ids of members that had more rows than they answered. */
  readonly cut: readonly string[];
}

interface NodeRows {
  readonly node: string;
  readonly items: readonly Row[];
  readonly isCut: boolean;
}

/** Asks all other members and combines their rows with `own`, the rows of this node. Rejects only with the signal's reason. */
export async function gather(
  cluster: Pick<Cluster, "status" | "askMember">,
  question: MemberQuery,
  own: Iterable<unknown>,
  signal: AbortSignal,
): Promise<Gathered> {
  const { nodeId, members } = cluster.status();
  const others = members.map(({ id }) => id).filter((id) => id !== nodeId);
  const asked = others.map((id) => askOne(cluster, id, question, signal));
  const mine: NodeRows = { node: nodeId, items: [...own].map((row) => row as Row), isCut: false };
  const parts = await Promise.all(asked);
  signal.throwIfAborted();
  const answered = [mine, ...parts.filter((part) => part !== undefined)];
  return {
    items: answered.flatMap(({ node, items }) => items.map((row) => ({ ...row, node }))),
    unanswered: others.filter((_, at) => parts[at] === undefined),
    cut: answered.filter(({ isCut }) => isCut).map(({ node }) => node),
  };
}

/** Gathers the rows of a table from all nodes. Returns `undefined` for a table that is the same on every node. */
export type GatherRows = (
  table: TableName,
  own: Iterable<unknown>,
  signal: AbortSignal,
) => Promise<Gathered> | undefined;

export const gatherRows =
  (cluster: Pick<Cluster, "status" | "askMember">): GatherRows =>
  (table, own, signal) =>
    isMeasured(table) ? gather(cluster, { kind: "list", table }, own, signal) : undefined;

async function askOne(
  cluster: Pick<Cluster, "askMember">,
  node: string,
  question: MemberQuery,
  signal: AbortSignal,
): Promise<NodeRows | undefined> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  // This timeout also applies if this node's own raft worker, which forwards the question, hangs.
  const limit = setTimeout(end, TIMEOUT_MS - MERGE_MS / 2);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    const body = await cluster.askMember(node, question, { timeoutMs: TIMEOUT_MS - MERGE_MS, signal: ending.signal });
    return body === undefined ? undefined : parseAnswer(node, body);
  } catch {
    return undefined; // timed out, or the caller has left: `gather` then throws the signal's reason
  } finally {
    clearTimeout(limit);
    signal.removeEventListener("abort", end);
  }
}

/** Parses another node's answer; `undefined` if it is invalid, which a node of another version may cause. */
function parseAnswer(node: string, body: Uint8Array): NodeRows | undefined {
  if (body.length > 2 * MAX_ANSWER_BYTES) return undefined;
  const { items, cut } = JSON.parse(Buffer.from(body).toString("utf8")) as { items?: unknown; cut?: unknown };
  if (!Array.isArray(items) || !items.every(isRow)) return undefined;
  return { node, items, isCut: cut === true };
}

const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the answer to another member, with at most `maxRows` rows. With `fromEnd`, the last rows are kept if not all fit. */
export function encodeRows(
  rows: Iterable<unknown>,
  {
    fromEnd = false,
    maxRows = Number.POSITIVE_INFINITY,
  }: { readonly fromEnd?: boolean; readonly maxRows?: number } = {},
): Uint8Array {
  const texts: string[] = [];
  let bytes = 0;
  let isCut = false;
  for (const row of fromEnd ? [...rows].reverse() : rows) {
    const text = JSON.stringify(row);
    bytes += Buffer.byteLength(text) + 1;
    isCut = bytes > MAX_ANSWER_BYTES || texts.length >= maxRows;
    if (isCut) break;
    texts.push(text);
  }
  if (fromEnd) texts.reverse();
  return Buffer.from(`{"items":[${texts.join(",")}],"cut":${isCut}}`);
}

const isTable = (name: string): name is TableName => Object.hasOwn(TABLES, name);

/** Parses another member's question; `undefined` for one that this version does not know. */
export function readMemberQuery(value: unknown): MemberQuery | undefined {
  const { kind, table, provider, limit, event, from, since } = isRow(value) ? value : {};
  if (kind === "list") {
    return typeof table === "string" && isTable(table) && isMeasured(table) ? { kind, table } : undefined;
  }
  if ((kind === "failures" || kind === "members" || kind === "history") && typeof provider === "string")
    return { kind, provider };
  if (kind === "decisions") {
    return typeof from === "number" && typeof since === "number" ? { kind, from, since } : undefined;
  }
  if (kind !== "records" || typeof limit !== "number" || !(limit > 0)) return undefined;
  return { kind, limit, event: typeof event === "string" ? (event as AuditEventName) : undefined };
}

/** Sorts oldest first, by an RFC 3339 time in UTC with milliseconds; stable for equal times. */
export function sortByTime<Item>(items: readonly Item[], field: keyof Item): Item[] {
  return [...items].sort((a, b) => (a[field] < b[field] ? -1 : a[field] > b[field] ? 1 : 0));
}
