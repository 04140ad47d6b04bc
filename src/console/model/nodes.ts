/**
 * Determines which nodes the numbers of a reading cover. Values that each node measures are read from every node and merged
 * where they describe the whole gateway; everything else comes from the connected node. Source: design decisions, section 3
 * (`?nodes=all`).
 */

import type { BackendRecord, RowOf, TableName } from "../../admin-api/index.ts";
import { type Data, type Need, type ReadableId, rowsOf } from "./data.ts";
import { remember } from "./remember.ts";

/**
 * Lists that are read from every node, with the blocking time in milliseconds: an answer waits at most this long for a change
 * on the connected node, since changes on other nodes are not noticed meanwhile.
 */
export const EVERY_NODE_MS: ReadonlyMap<TableName, number> = new Map([
  ["refusals", 3_000],
  ["requests", 3_000],
  ["backends", 3_000],
  ["mcp_servers", 3_000],
  ["a2a_agents", 3_000],
  ["history", 10_000],
  ["history_minutes", 15_000],
  ["budgets", 3_000],
  ["guardrails", 5_000],
  ["controls", 10_000],
  ["certificates", 10_000],
]);

const OF_EVERY_NODE: ReadonlySet<ReadableId> = new Set<ReadableId>([
  ...[...EVERY_NODE_MS.keys()].map((table) => `list_${table}` as const),
  "list_backend_errors",
  "list_backend_members",
  "list_audit_records",
]);

/**
 * Returns `of all 3 nodes`, `of 2 of 3 nodes` or `of n1`; `undefined` if the reading is the same on every node, or not known
 * yet.
 */
export function coverageText(data: Data, need: Need): string | undefined {
  if (!OF_EVERY_NODE.has(need.id)) return undefined;
  const reading = data.get(need);
  const node = data.get({ id: "get_status" })?.value?.node;
  const members = rowsOf(data, "cluster_members").length;
  if (reading?.value === undefined) return undefined;
  if (reading.gaps?.isOfOne === true || members < 2) return node === undefined ? undefined : `of ${node}`;
  const missing = reading.gaps?.unanswered.length ?? 0;
  return missing === 0 ? `of all ${members} nodes` : `of ${members - missing} of ${members} nodes`;
}

/** Returns the connected node and the number of members; `undefined` while they are unknown. */
export function nodesOf(data: Data): { readonly own: string; readonly members: number } | undefined {
  const own = data.get({ id: "get_status" })?.value?.node;
  return own === undefined ? undefined : { own, members: rowsOf(data, "cluster_members").length };
}

/** Lists of upstreams. */
export type CalledTable = "backends" | "mcp_servers" | "a2a_agents";

/** Fields that all upstreams have, and those that only providers have. */
type Called = Omit<RowOf<"a2a_agents">, "url" | "protocol" | "suspended_until"> &
  Partial<Pick<BackendRecord, "retries" | "failovers_in" | "failovers_out" | "members">>;

interface MergedRow<Row> {
  /** Merged row: counts and rates are sums, the state is the worst, times to the first byte are those of the slowest node. */
  readonly record: Row;
  /** Rows of the nodes, in the order of the answer. */
  readonly parts: readonly Row[];
}

/** Merges the rows of each name, in the order of the connected node. */
export function mergedRows<T extends CalledTable>(data: Data, table: T): readonly MergedRow<RowOf<T>>[] {
  return summed(rowsOf(data, table)) as readonly MergedRow<RowOf<T>>[];
}

const summed = remember((rows: readonly Called[]): readonly MergedRow<Called>[] => {
  const byName = new Map<string, Called[]>();
  for (const row of rows) {
    const parts = byName.get(row.name);
    if (parts === undefined) byName.set(row.name, [row]);
    else parts.push(row);
  }
  return [...byName.values()].map((parts) => ({ parts, record: sumOf(parts) }));
}, 6);

/** Rank of each state, worst first; an unknown state ranks like a suspension. */
const RANKS: Readonly<Record<string, number>> = { failing: 0, suspended: 1, ok: 2, idle: 3 };
const rankOf = ({ state }: Called): number => RANKS[state] ?? 1;

/** Merges rows of one name; there is at least one. */
export function sumOf<Row extends Called>(parts: readonly Row[]): Row {
  const [first] = parts;
  if (first === undefined) throw new RangeError("there is nothing to sum");
  if (parts.length === 1) return first;
  const sum = (of: (row: Row) => number): number => parts.reduce((total, row) => total + of(row), 0);
  const most = (of: (row: Row) => number | null): number | null =>
    parts.reduce<number | null>((largest, row) => {
      const value = of(row);
      return value === null ? largest : Math.max(value, largest ?? value);
    }, null);
  const met = parts.filter(({ error_ratio: ratio }) => ratio !== null);
  const rate = met.reduce((total, row) => total + row.rate, 0);
  // Rates are rounded, so even a node with a request in the last minute may have rate 0.
  const weights = met.map((row) => (rate === 0 ? 1 / met.length : row.rate / rate));
  const failed = parts.find(({ last_failure: cause }) => cause !== undefined);
  const worst = parts.reduce((a, b) => (rankOf(b) < rankOf(a) ? b : a));
  return {
    ...first,
    state: worst.state,
    rate: sum((row) => row.rate),
    error_ratio:
      met.length === 0 ? null : met.reduce((total, row, at) => total + (row.error_ratio ?? 0) * (weights[at] ?? 0), 0),
    ...(failed?.last_failure !== undefined && { last_failure: failed.last_failure }),
    ttfb_p50_ms: most((row) => row.ttfb_p50_ms),
    ttfb_p95_ms: most((row) => row.ttfb_p95_ms),
    in_flight: sum((row) => row.in_flight),
    units_per_minute: sum((row) => row.units_per_minute),
    ...(first.retries !== undefined && { retries: sum(({ retries = 0 }) => retries) }),
    ...(first.failovers_in !== undefined && { failovers_in: sum(({ failovers_in: came = 0 }) => came) }),
    ...(first.failovers_out !== undefined && { failovers_out: sum(({ failovers_out: left = 0 }) => left) }),
    ...(first.members !== undefined && { members: most(({ members = 0 }) => members) ?? 0 }),
    node: parts.map(({ node }) => node).join(", "),
  };
}
