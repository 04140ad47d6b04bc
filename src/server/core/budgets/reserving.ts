/**
 * Admission of a request: reserves what it may cost, lets it wait for an answer of the leader, or refuses it.
 *
 * A refusal relies on an answer that is at most half a second old: `exhausted` means that the units left of the limit then,
 * together with what is or will be free here, are less than the request needs. Every other refusal is `unavailable`. Later
 * requests wait behind earlier ones, so that small requests do not starve a large one. No request waits longer than `WAIT_MS`
 * for an answer, or `MAX_WAIT_MS` while answers keep arriving.
 *
 * A request reserves the upper bound of its cost or, while more than a fifth of the limit is left, the recent cost of similar
 * requests; what it may cost above that is its risk. The upper bound of every admitted request, together with all risks of the
 * node, fits into the node's grant, and all grants fit into the limit. So the charges of a window are at most the limit, plus:
 * - for a request that does not state its maximum output, the cost of output beyond 16,384 tokens; if it ran alone because less
 *   was left, its cost beyond that rest (one such request at a time in each process of the data plane)
 * - for sessions, the cost of running answers when the bucket was overdrawn
 * - the risks of running requests whose process died, or whose node died or was silent for a minute
 * The cost of requests that state their maximum output is bounded by it, on any number of nodes. Source: cluster reference, 7.2
 * rules 2 and 3, 7.3; decisions, sections 2 and 8.
 */

import { chunkOf, recordAdmission, unitsForRisks, unitsToPledgeAhead } from "./bucket-rates.ts";
import { secondsUntil } from "./budget-windows.ts";
import { wholeUnits } from "./cost-units.ts";
import type { Demand } from "./estimate.ts";
import {
  type Bucket,
  claimOf,
  freeOf,
  hasPassed,
  isLeased,
  type Ledger,
  LOW_WATERMARK,
  type Reservation,
  type Share,
  shareAt,
  spareOf,
  updateLeastSpare,
} from "./ledger.ts";

export const WAIT_MS = 250;
/**
 * Maximum wait while answers keep arriving and units are left, in milliseconds: the leader is then reachable, but grants a small
 * limit one or two units at a time, each with a commit.
 */
const MAX_WAIT_MS = 2_000;
/** Maximum age of an answer that a refusal may rely on, in milliseconds. */
const MAX_ANSWER_AGE_MS = 500;
/** Maximum number of waiting requests; further ones are refused as unavailable. */
const MAX_WAITING = 10_000;
/** Fraction of the limit below which a request reserves its bound instead of its probable cost. */
const TIGHT = 1 / 5;

interface ReserveOptions {
  /** True for a WebSocket session: its later usage is charged in the window in which it occurs. */
  readonly isSession?: boolean;
}

/**
 * Reserves units. If the state is `held`, now or after `waiting`, call one of `settle`, `abort` and `release`. `takeDecided`
 * returns reservations that waited.
 */
export function reserve(
  ledger: Ledger,
  bucket: Bucket,
  demand: Demand,
  now: number,
  { isSession = false }: ReserveOptions = {},
): Reservation {
  const share = shareAt(bucket, now);
  const hard = wholeUnits(demand.hard);
  const reservation: Reservation = {
    state: "waiting",
    spent: 0,
    share,
    hard,
    soft: Math.min(hard, wholeUnits(demand.soft)),
    least: Math.min(hard, wholeUnits(demand.least ?? hard)),
    amount: 0,
    unchargedAmount: 0,
    risk: 0,
    spentBefore: 0,
    spentInShare: 0,
    isSession,
    reportState: "unsent",
    waitingSince: now,
  };
  if (share.queue.length > 0) decideQueue(ledger, share, now);
  if (share.queue.length === 0 && tryReserve(ledger, reservation, now)) return reservation;
  if (isExhausted(ledger, reservation, now)) refuse(ledger, reservation, "exhausted");
  else if (ledger.waiting.size >= MAX_WAITING) refuse(ledger, reservation, "unavailable");
  else {
    share.queue.push(reservation);
    ledger.waiting.add(reservation);
    requestSoon(ledger, share, now);
  }
  return reservation;
}

/** Returns true if little is left, as far as this node knows; false before the first answer. */
const isTight = (share: Share): boolean =>
  share.remaining !== undefined && obtainableUnits(share, share.remaining) <= TIGHT * share.bucket.limit;

/** Returns the amount to reserve: the bound if little is left. */
const amountOf = ({ share, hard, soft }: Reservation): number => (isTight(share) ? hard : soft);

/**
 * Returns the units that requests here can get if the leader reported `remaining`. Spending of this node above its grant, which
 * makes the claim negative, is already excluded from `remaining` and is not subtracted again.
 */
function obtainableUnits(share: Share, remaining: number): number {
  const overdrawn = Math.max(0, share.ackedSpent - (share.granted - share.returned));
  return claimOf(share) + overdrawn + remaining;
}

function tryReserve(ledger: Ledger, reservation: Reservation, now: number): boolean {
  const { share, hard } = reservation;
  if (hard > 0 && !isLeased(ledger, share, now)) return false;
  const free = freeOf(share);
  let amount = amountOf(reservation);
  let risk = hard - amount;
  if (free < amount || claimOf(share) < share.risk + hard) {
    if (!mayRunAlone(reservation, now)) return false;
    amount = Math.min(hard, free);
    risk = 0;
  }
  reservation.state = "held";
  reservation.amount = amount;
  reservation.unchargedAmount = amount;
  reservation.risk = risk;
  share.reserved += amount;
  share.risk += risk;
  share.open += 1;
  share.bucket.open += 1;
  updateLeastSpare(share);
  ledger.counts.admitted += 1;
  recordAdmission(share.bucket, { units: amount, risk }, now);
  requestWhenLow(ledger, share, now);
  return true;
}

/** Returns true if a request without a bound may run alone: no other request is running here, and all that is left is here. */
const mayRunAlone = ({ share, hard, least }: Reservation, now: number): boolean =>
  least < hard && share.open === 0 && freeOf(share) >= least && isRemainingKnown(share, now) && share.remaining === 0;

/**
 * Returns true if the budget certainly has no room for the request. A worker process relies only on the answer to a report that
 * included this request: since an earlier answer, other processes of its node may have released units, and asking the node costs
 * no commit.
 */
function isExhausted(ledger: Ledger, { share, hard, least, reportState: question }: Reservation, now: number): boolean {
  if (least > share.bucket.limit && least > freeOf(share)) return true;
  if (ledger.borrows && question !== "answered") return false;
  const needed = share.open === 0 ? least : share.risk + hard;
  return isRemainingKnown(share, now) && needed > obtainableUnits(share, share.remaining ?? 0);
}

export const isRemainingKnown = (share: Share, now: number): boolean =>
  share.remaining !== undefined && !hasPassed(share.answeredAt, MAX_ANSWER_AGE_MS, now);

function refuse(ledger: Ledger, reservation: Reservation, state: "exhausted" | "unavailable"): void {
  reservation.state = state;
  ledger.counts[state] += 1;
}

/** Decides waiting requests in their order, as far as free units and known answers allow. Call it when either changed. */
export function decideQueue(ledger: Ledger, share: Share, now: number): void {
  if (now >= share.endsAt || now < share.startsAt || share.isClosed) {
    moveQueue(ledger, share, now);
    return;
  }
  const { queue } = share;
  let decidedCount = 0;
  for (const next of queue) {
    if (next.state === "waiting") {
      if (!tryReserve(ledger, next, now)) {
        if (!isExhausted(ledger, next, now)) break;
        refuse(ledger, next, "exhausted");
      }
      ledger.waiting.delete(next);
      ledger.decided.push(next);
    }
    decidedCount += 1;
  }
  if (decidedCount > 0) queue.splice(0, decidedCount);
  if (queue.length > 0) requestSoon(ledger, share, now);
}

/** Ends waits that have timed out, and moves those whose window has ended to the next. */
export function endTimedOutWaits(ledger: Ledger, now: number): void {
  let share: Share | undefined;
  for (const waiting of ledger.waiting) {
    if (waiting.share !== share) {
      share = waiting.share;
      decideQueue(ledger, share, now);
    }
    if (waiting.state !== "waiting" || !hasWaitTimedOut(ledger, waiting, now)) continue;
    refuse(ledger, waiting, "unavailable");
    ledger.waiting.delete(waiting);
    ledger.decided.push(waiting);
    decideQueue(ledger, waiting.share, now);
  }
}

function hasWaitTimedOut(ledger: Ledger, { waitingSince: since, share }: Reservation, now: number): boolean {
  if (hasPassed(since, MAX_WAIT_MS, now)) return true;
  // A request for units is on its way and the leader seems reachable, so the answer is only late because the machine is busy.
  if (ledger.hasLeader && (share.reportId !== 0 || ledger.urgent.has(share))) return false;
  // A node that could not lend yet has answered all the same: its worker asks again after a short pause. Only a cluster's
  // answer that grants nothing is no sign that the next one will.
  const isAnswered = ledger.borrows || share.remaining !== undefined;
  const from = isAnswered ? Math.max(since, share.answeredAt) : since;
  return hasPassed(from, WAIT_MS, now);
}

/**
 * Moves waiting requests to the current window, since a request is charged to the window of its admission. They go before later
 * ones.
 */
function moveQueue(ledger: Ledger, from: Share, now: number): void {
  if (from.queue.length === 0) return;
  const share = shareAt(from.bucket, now);
  const moved = from.queue.filter(({ state }) => state === "waiting");
  from.queue = [];
  for (const waiting of moved) waiting.share = share;
  share.queue.unshift(...moved);
  decideQueue(ledger, share, now);
}

export function requestSoon(ledger: Ledger, share: Share, now: number): void {
  if (share.reportId === 0 && now >= share.quietUntil) ledger.urgent.add(share);
}

/** Requests units before the share is empty, so that normally no request waits. */
export function requestWhenLow(ledger: Ledger, share: Share, now: number): void {
  const mayClaim = !(isRemainingKnown(share, now) && share.remaining === 0);
  if ((mayClaim && isClaimLow(ledger, share)) || isPledgeLow(ledger, share)) requestSoon(ledger, share, now);
}

const isClaimLow = (ledger: Ledger, share: Share): boolean =>
  spareOf(share) < Math.max(LOW_WATERMARK * chunkOf(ledger, share.bucket), unitsForRisks(share.bucket) / 2);

/** Returns true if the pledge will soon be used up although more is granted. */
function isPledgeLow(ledger: Ledger, share: Share): boolean {
  const free = freeOf(share);
  return free < unitsToPledgeAhead(ledger, share.bucket) / 2 && free < claimOf(share);
}

/** Sums what waiting requests will hold, their bounds plus all current risks, and what borrowers wish beyond that. */
function waitingTotals(share: Share): { readonly held: number; readonly bounds: number; readonly wished: number } {
  let held = 0;
  let bounds = share.risk;
  let wished = 0;
  for (const ask of share.loanRequests) {
    held += ask.held;
    bounds += ask.need;
    wished += ask.wish;
  }
  for (const next of share.queue) {
    if (next.state !== "waiting") continue;
    held += amountOf(next);
    bounds += next.hard;
  }
  return { held, bounds, wished };
}

export const heldByWaiting = (share: Share): number => waitingTotals(share).held;

/** Notes that the report that is now created includes all waiting requests. */
export function markSent({ queue }: Share): void {
  for (const next of queue) if (next.reportState === "unsent") next.reportState = "sent";
}

/** Notes that the answer to that report arrived; requests that joined the queue since are not part of it. */
export function markAnswered({ queue }: Share): void {
  for (const next of queue) if (next.reportState === "sent") next.reportState = "answered";
}

/** Notes that the report was lost, so that its requests go into the next one. */
export function markUnsent({ queue }: Share): void {
  for (const next of queue) if (next.reportState === "sent") next.reportState = "unsent";
}

/** Returns the units that waiting requests still lack here, by their upper bounds and with all risks. */
const missingUnits = (share: Share): number => waitingTotals(share).bounds - claimOf(share);

/** Returns what waiting requests need above the claim. It is granted before any chunk for later use. */
export function needOf(share: Share, now: number): number {
  if (now >= share.endsAt || share.isClosed || share.queue.length + share.loanRequests.length === 0) return 0;
  return Math.min(wholeUnits(missingUnits(share)), share.bucket.limit);
}

/** Returns how much to request: what waiting requests need, plus a chunk. */
export function wantOf(ledger: Ledger, share: Share, now: number): number {
  if (now >= share.endsAt || share.isClosed) return 0;
  const mayGetMore = !(isRemainingKnown(share, now) && share.remaining === 0);
  const { bucket } = share;
  const chunk = isClaimLow(ledger, share) && mayGetMore ? chunkOf(ledger, bucket) + unitsForRisks(bucket) : 0;
  return Math.min(wholeUnits(missingUnits(share) + waitingTotals(share).wished + chunk), share.bucket.limit);
}

/**
 * Returns the maximum that this process may spend before its next answer: spent and reserved units, what waits, and a small
 * advance.
 */
export function pledgeOf(ledger: Ledger, share: Share, now: number): number {
  const used = share.spent + share.reserved;
  if (now >= share.endsAt || share.isClosed) return wholeUnits(used);
  return wholeUnits(used + waitingTotals(share).held + unitsToPledgeAhead(ledger, share.bucket));
}

/** Returns reservations that waited and are now `held`, `exhausted` or `unavailable`; each once. */
export function takeDecided(ledger: Ledger): readonly Reservation[] {
  const { decided } = ledger;
  if (decided.length > 0) ledger.decided = [];
  return decided;
}

export interface BudgetRefusal {
  readonly code: "budget_exhausted" | "budget_unavailable";
  readonly retryAfterSeconds: number;
  /** Units that the request would have had to reserve; `undefined` for `budget_unavailable`. */
  readonly needed?: number;
  /** Units that were left for it, after what running requests may still cost. */
  readonly left?: number;
  /** True if the request does not bound its output, so that the required amount is an estimated maximum. */
  readonly isUnbounded?: boolean;
}

/** Returns the refusal for a reservation that failed; `undefined` for any other. */
export function refusalOf(reservation: Reservation, now: number): BudgetRefusal | undefined {
  const { state, share, hard, least } = reservation;
  if (state === "exhausted") {
    return {
      code: "budget_exhausted",
      retryAfterSeconds: secondsUntil(share.endsAt, now),
      needed: share.open === 0 ? least : hard,
      left: Math.max(0, obtainableUnits(share, share.remaining ?? 0) - share.risk),
      isUnbounded: least < hard,
    };
  }
  return state === "unavailable" ? UNAVAILABLE : undefined;
}

export const UNAVAILABLE: BudgetRefusal = { code: "budget_unavailable", retryAfterSeconds: 1 };
