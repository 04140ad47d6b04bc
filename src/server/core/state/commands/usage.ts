/**
 * Budgets without a round trip per request: nodes spend from allowances granted here, and report what they spent.
 *
 * `spent` and `ret` of a report are cumulative for (node, incarnation, bucket, window), so lost, repeated or late reports do no
 * harm; the answer's `granted` is cumulative too. A grant only comes from what is left of the limit after all grants and all
 * spending above them.
 *
 * A grant is leased. Besides its spending, a node reports its pledge: a total that it will not exceed before a later report of
 * its own was answered. A node that is silent for a minute of log time keeps its pledge, which it may have spent, and loses the
 * rest of its grant to others; its next answer says so. An ended process is charged in the same way: its pledge, not its grant.
 * The limit does not depend on any clock: a wrong clock takes a grant back early or late, but never grants what a node may still
 * spend. Source: cluster reference, 7.2; decisions, 8.
 */

import { define, type Site } from "../command.ts";
import { ok, refused } from "../command-refusals.ts";
import { integer, label, listOf, object, optional } from "../fields.ts";
import type { Draft } from "../mutation-draft.ts";
import { memberRowKey, memberRows } from "./member-rows.ts";
import {
  bucketName,
  chargeOf,
  type HoldingRow,
  holdingRowKey,
  holdingRows,
  holdingsOf,
  pledgedOf,
  type UsageRow,
  unit,
  usageRowKey,
  usageRows,
  type WindowOf,
  windowMs,
} from "./usage-rows.ts";

/** Divisor of the limit for the minimum grant, while that much is left. Otherwise the last units would cost a report each. */
const MIN_GRANT_DIVISOR = 64;

/**
 * Time after which a node counts as silent. Longer than a node spends what it could not renew (45 s), even if its clock is slow
 * by a quarter.
 */
const SILENT_MS = 60_000;

const report = object({
  b: bucketName,
  w: integer(),
  window_ms: windowMs,
  limit: unit,
  limit_rev: integer(),
  spent: unit,
  /** Units requested above what is granted. */
  want: unit,
  /** Part of `want` that waiting requests need. */
  need: optional(unit),
  ret: unit,
  /** Maximum of `spent` before a later report is answered, at least what may be spent now. Used from feature level 2 on. */
  pledge: optional(unit),
  /** Report number, sent with `pledge`, so that a late report does not restore an older pledge. */
  seq: optional(integer(1)),
});
type ReportRow = ReturnType<typeof report>;

export interface UsageAnswer {
  readonly b: string;
  readonly w: number;
  readonly window_ms: number;
  /** Total granted to this incarnation in the window. */
  readonly granted: number;
  /** Units of the limit that are left for other nodes. */
  readonly remaining: number;
  /** Total of `granted` that this incarnation returned or lost; only if a pledge was reported. */
  readonly returned?: number;
}

export const usageReport = define(
  "usage.report",
  object({ node: label(), inc: integer(1), rows: listOf(report, 500) }),
  ({ node, inc, rows }, site) => {
    const member = site.draft.get(memberRowKey(node));
    if (member === undefined) return refused("not_a_member");
    if (memberRows.read(member).incarnation !== inc) return refused("stale_incarnation");
    const members = Array.from(site.draft.scan("member/"), ([, value]) => memberRows.read(value).id);
    return ok({ rows: rows.map((row) => settle(site, node, inc, row, members)) });
  },
);

function settle(
  { draft, now }: Site,
  node: string,
  inc: number,
  row: ReportRow,
  members: readonly string[],
): UsageAnswer {
  const of = { bucket: row.b, window_ms: row.window_ms, window: row.w };
  const answer = { b: row.b, w: row.w, window_ms: row.window_ms };
  const current = Math.floor(now / row.window_ms);
  // Too far ahead: the node's clock is fast. Too far behind: the rows are removed already.
  if (row.w > current + 1 || row.w < current - 2) return { ...answer, granted: 0, remaining: 0 };

  const before = holdingOf(draft, node, inc, of);
  const usage = usageOf(draft, of, row);
  const isNewer = row.limit_rev > usage.limit_rev;
  const limit = isNewer ? row.limit : usage.limit;

  const spent = Math.max(before.spent, row.spent);
  const returned = Math.max(before.returned, Math.min(row.ret, before.granted - spent));
  const settled: HoldingRow = { ...before, spent, returned, ...pledgeIn(row, before, now) };
  const committed = usage.used + usage.open - chargeOf(before) + chargeOf(settled);
  const isLeased = row.pledge !== undefined && row.want > limit - committed;
  const back = isLeased ? takeBack(draft, members, of, { now, but: node }) : 0;
  const charged = committed - back;
  const left = Math.max(0, limit - charged);
  const mayGrant = row.w >= current && charged <= limit;
  const grant = mayGrant ? grantOf(settled, row, left, limit, members.length) : 0;
  const after: HoldingRow = { ...settled, granted: settled.granted + grant };

  draft.put(holdingRowKey(node, of), holdingRows.write(after));
  draft.put(
    usageRowKey(of),
    usageRows.write({
      ...usage,
      limit,
      limit_rev: isNewer ? row.limit_rev : usage.limit_rev,
      open: usage.open - back - chargeOf(before) + chargeOf(after),
      granted: usage.granted - back - (before.granted - before.returned) + (after.granted - after.returned),
      spent: usage.spent - before.spent + after.spent,
    }),
  );
  const remaining = left - (chargeOf(after) - chargeOf(settled));
  return { ...answer, granted: after.granted, remaining, ...(row.pledge !== undefined && { returned }) };
}

/** Returns the pledge fields of a report; none if the report is late, since it does not describe the present. */
function pledgeIn({ pledge, seq = 0 }: ReportRow, before: HoldingRow, now: number): Partial<HoldingRow> {
  return pledge === undefined || seq <= (before.seq ?? 0) ? {} : { pledge, seq, heard: now };
}

/**
 * Takes back from silent nodes the part of their grants in this window that they cannot have spent. Returns the sum; the caller
 * writes the usage row.
 */
function takeBack(
  draft: Draft,
  members: readonly string[],
  of: WindowOf,
  { now, but }: { readonly now: number; readonly but: string },
): number {
  let sum = 0;
  for (const node of members) {
    const key = holdingRowKey(node, of);
    const value = node === but ? undefined : draft.get(key);
    const held = value === undefined ? undefined : holdingRows.read(value);
    if (held?.heard === undefined || now - held.heard < SILENT_MS) continue;
    const back = held.granted - held.returned - pledgedOf(held);
    if (back <= 0) continue;
    draft.put(key, holdingRows.write({ ...held, returned: held.returned + back }));
    sum += back;
  }
  return sum;
}

/** Returns the usage row of the bucket in this window; a new row has the reported limit. */
function usageOf(draft: Draft, of: WindowOf, { limit, limit_rev }: ReportRow): UsageRow {
  const known = draft.get(usageRowKey(of));
  return known === undefined
    ? { ...of, limit, limit_rev, used: 0, open: 0, granted: 0, spent: 0 }
    : usageRows.read(known);
}

/** Returns this process's share, after closing the share of an earlier process of the node. */
function holdingOf(draft: Draft, node: string, inc: number, of: WindowOf): HoldingRow {
  const value = draft.get(holdingRowKey(node, of));
  const held = value === undefined ? undefined : holdingRows.read(value);
  if (held?.inc === inc) return held;
  if (held !== undefined) closeHolding(draft, held);
  return { ...of, node, inc, granted: 0, returned: 0, spent: 0 };
}

/**
 * Returns the units to grant: at most half of what is left, divided by the number of nodes, so that others get some too. If
 * there are no other nodes and requests are waiting, all is granted, since smaller pieces would only make them wait for more
 * commits. A holder that spent above its grant has already been charged for that, so raising the grant to its spending takes
 * nothing from the limit.
 */
function grantOf(
  holding: HoldingRow,
  { want, need = 0 }: ReportRow,
  left: number,
  limit: number,
  members: number,
): number {
  const least = Math.max(1, Math.floor(limit / MIN_GRANT_DIVISOR), need);
  const share = members === 1 ? left : Math.max(least, Math.floor(left / (2 * members)));
  const catchUp = chargeOf(holding) - (holding.granted - holding.returned);
  return Math.min(want, catchUp + Math.min(left, share));
}

/**
 * Maximum number of shares that one entry closes, so that a node with very many budgets does not delay all replicas. The others
 * are closed when their node first reports about them, or expire with their window; the charge is the same either way.
 */
const MAX_CLOSED = 2_000;

/**
 * Closes a node's shares: its pledges stay charged as used, since nobody knows what it spent of them, and the rest of its grants
 * is free again. Called when its process restarts and when the node is removed.
 */
export function closeHoldings(draft: Draft, node: string): void {
  let closed = 0;
  for (const [, value] of draft.scan(holdingsOf(node))) {
    if (closed === MAX_CLOSED) return;
    closeHolding(draft, holdingRows.read(value));
    closed += 1;
  }
}

export function closeHolding(draft: Draft, holding: HoldingRow): void {
  draft.delete(holdingRowKey(holding.node, holding));
  const key = usageRowKey(holding);
  const known = draft.get(key);
  if (known === undefined) return;
  const usage = usageRows.read(known);
  const charge = pledgedOf(holding);
  const untold = (usage.untold ?? 0) + charge - holding.spent;
  draft.put(
    key,
    usageRows.write({
      ...usage,
      used: usage.used + charge,
      // Rows written before this field existed stay as they were.
      ...(holding.pledge !== undefined && { untold }),
      open: usage.open - chargeOf(holding),
      granted: usage.granted - (holding.granted - holding.returned),
      spent: usage.spent - holding.spent,
    }),
  );
}
