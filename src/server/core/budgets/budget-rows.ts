/**
 * Rows of the admin list `budgets`: a bucket in its current window, computed from replicated usage and from this node's own
 * ledger. Source: decisions, section 3 (columns); `admin-api/columns.ts`.
 */

import { formatDuration } from "../../../base/index.ts";
import { resetsAt, windowAt } from "./budget-windows.ts";
import type { Ledger, Share } from "./ledger.ts";

/** Replicated usage of a bucket in a window; see the state's `UsageRow`. */
interface ReplicatedUsage {
  readonly limit: number;
  readonly limit_rev: number;
  /** Units charged for shares that are closed. */
  readonly used: number;
  /** Units granted to nodes with an open share and not returned. */
  readonly granted: number;
  /** Units that nodes with an open share have reported as spent. */
  readonly spent: number;
  /** Part of `used` for which no report says whether it was spent. */
  readonly untold?: number;
}

/** Share of a bucket on one node; see the state's `HoldingRow`. */
interface ReplicatedHolding {
  readonly node: string;
  readonly inc: number;
  readonly granted: number;
  readonly returned: number;
  readonly spent: number;
  /** Maximum units that the node may have spent without reporting them. `heard` is the log time of its last report. */
  readonly pledge?: number;
  readonly heard?: number;
}

export interface BucketRowInput {
  readonly budget: string;
  /** Name of the bucket, as returned by `bucketName`. */
  readonly name: string;
  /** Id and name of the key that owns the bucket; `undefined` for a shared one. */
  readonly key?: { readonly id: string; readonly name: string } | undefined;
  readonly windowMs: number;
  readonly limit: number;
  readonly usage?: ReplicatedUsage | undefined;
  /** Shares of all nodes, in the current window. */
  readonly holdings: readonly ReplicatedHolding[];
}

/** Row with the columns of `budgets`. */
export interface BudgetRow {
  readonly budget: string;
  readonly bucket: string;
  readonly key: string | null;
  readonly limit: number;
  readonly used: number;
  readonly unaccounted: number;
  readonly reserved: number;
  readonly granted: number;
  readonly remaining: number;
  readonly window: string;
  readonly resets_at: string;
  readonly status: "ok" | "low" | "exhausted";
}

export function budgetRow(ledger: Ledger, question: BucketRowInput, now: number): BudgetRow {
  const { budget, name, key, windowMs, limit, usage, holdings } = question;
  const window = windowAt(now, windowMs);
  const bucket = ledger.buckets.get(name);
  const share = bucket?.windowMs === windowMs ? bucket.shares.get(window) : undefined;
  const ownHolding = holdings.find(({ node, inc }) => node === ledger.node && inc === ledger.incarnation);
  const unreported = Math.max(0, (share?.spent ?? 0) - (ownHolding?.spent ?? 0));
  const silentHoldings = holdings.filter((holding) => holding !== ownHolding && isSilent(holding, now));
  const pledged = silentHoldings.reduce((sum, holding) => sum + maxUnreported(holding), 0);
  const unaccounted = (usage?.untold ?? 0) + pledged;
  const used = (usage?.used ?? 0) + (usage?.spent ?? 0) + unreported + pledged;
  const reserved = share === undefined ? 0 : reservedIn(share);
  const remaining = Math.max(0, limit - used - reserved);
  return {
    budget,
    bucket: key?.id ?? "shared",
    key: key?.name ?? null,
    limit,
    used,
    unaccounted,
    reserved,
    granted: grantedUnspent(holdings, unreported, ownHolding),
    remaining,
    window: formatDuration(windowMs),
    resets_at: new Date(resetsAt(window, windowMs)).toISOString(),
    status: remaining === 0 ? "exhausted" : remaining * 10 < limit ? "low" : "ok",
  };
}

/** Returns the reserved units. For a share with loans these are the reservations of the borrowers, not their larger pledges. */
function reservedIn({ loans, reserved }: Share): number {
  if (loans.size === 0) return reserved;
  let sum = 0;
  for (const loan of loans) sum += loan.reserved;
  return sum;
}

/**
 * Returns true if the node has not reported for a minute. Its unspent grant is then taken back, except what it may have spent;
 * see the command `usage.report`.
 */
const isSilent = ({ heard }: ReplicatedHolding, now: number): boolean =>
  heard !== undefined && now - heard >= SILENT_MS;
const SILENT_MS = 60_000;

/** Returns the units that the node may have spent without reporting them. */
const maxUnreported = ({ granted, returned, spent, pledge = Number.POSITIVE_INFINITY }: ReplicatedHolding): number =>
  Math.max(0, Math.min(granted - returned, pledge) - spent);

/**
 * Sums what nodes were granted and have not spent. It sums per node, so that one that spent above its grant does not reduce
 * what the others have.
 */
function grantedUnspent(
  holdings: readonly ReplicatedHolding[],
  unreported: number,
  own: ReplicatedHolding | undefined,
): number {
  return holdings.reduce((sum, holding) => {
    const spent = holding.spent + (holding === own ? unreported : 0);
    return sum + Math.max(0, holding.granted - holding.returned - spent);
  }, 0);
}
