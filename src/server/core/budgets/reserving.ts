/**
 * Before a request: hold what it may cost, or let it wait for an answer of the leader, or refuse it.
 *
 * A refusal is told on the word of an answer that is at most half a second old: `exhausted` says that what was left of
 * the limit then, together with what is free here or will be, is less than the request needs. Everything else is `unavailable`.
 * Who comes later waits behind who waits already, so that small requests do not starve a large one; nobody waits
 * longer than `WAIT_MS` for an answer. Source: cluster reference, 7.2 rules 2 and 3; decisions, sections 2 and 8.
 */

import type { Demand } from "./estimate.ts";
import {
  type Bucket,
  chunkOf,
  freeOf,
  isPast,
  type Ledger,
  LOW_WATERMARK,
  noteRate,
  type Reservation,
  type Share,
  shareAt,
} from "./ledger.ts";
import { wholeUnits } from "./units.ts";
import { secondsUntil } from "./windows.ts";

export const WAIT_MS = 250;
/**
 * Where answers keep coming and leave something, the leader is not out of reach: a small limit is granted a unit or two at
 * a time, and each is a commit. No longer than this in all.
 */
export const MAX_WAIT_MS = 2_000;
/** How long an answer's word on what is left is taken. */
const TOLD_MS = 500;
/** More than a node admits at a time: further ones are refused as unavailable. */
const MAX_WAITING = 10_000;
/** From here on a request holds the bound of its cost, where before it held what it will probably cost. */
const TIGHT = 1 / 5;

export interface ReserveOptions {
  /** A WebSocket session: what it uses later is charged in the window in which it does. */
  readonly isSession?: boolean;
}

/**
 * To be followed by one of `settle`, `abort` and `release` when the state is `held`, also after it was `waiting`.
 * `takeDecided` hands out those that waited.
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
    amount: 0,
    left: 0,
    before: 0,
    spentHere: 0,
    isSession,
    since: now,
  };
  if (share.queue.length > 0) decideQueue(ledger, share, now);
  if (share.queue.length === 0 && hold(ledger, reservation, now)) return reservation;
  if (isExhausted(reservation, now)) refuse(ledger, reservation, "exhausted");
  else if (ledger.waiting.size >= MAX_WAITING) refuse(ledger, reservation, "unavailable");
  else {
    share.queue.push(reservation);
    ledger.waiting.add(reservation);
    askSoon(ledger, share, now);
  }
  return reservation;
}

/** What is held of the demand: its bound where little is left, as far as this node knows. */
function amountOf({ share, hard, soft }: Reservation): number {
  const isTight = share.remaining !== undefined && roomOf(share, share.remaining) <= TIGHT * share.bucket.limit;
  return isTight ? hard : soft;
}

/**
 * What requests here may come to have, when the leader has told that `remaining` is left. That leaves out all that this
 * node spent, also what it spent above its grant, for which `free` is negative: to catch up takes nothing of it.
 */
function roomOf(share: Share, remaining: number): number {
  const overdrawn = Math.max(0, share.ackedSpent - (share.granted - share.returned));
  return freeOf(share) + overdrawn + remaining;
}

function hold(ledger: Ledger, reservation: Reservation, now: number): boolean {
  const { share } = reservation;
  const amount = amountOf(reservation);
  const free = freeOf(share) - amount;
  if (free < 0) return false;
  reservation.state = "held";
  reservation.amount = amount;
  reservation.left = amount;
  share.reserved += amount;
  share.open += 1;
  share.bucket.open += 1;
  if (free < share.least) share.least = free;
  ledger.counts.admitted += 1;
  noteRate(share.bucket, amount, now);
  askWhenLow(ledger, share, now);
  return true;
}

function isExhausted(reservation: Reservation, now: number): boolean {
  const { share } = reservation;
  const amount = amountOf(reservation);
  if (amount > freeOf(share) && amount > share.bucket.limit) return true;
  return isTold(share, now) && amount > roomOf(share, share.remaining ?? 0);
}

const isTold = (share: Share, now: number): boolean =>
  share.remaining !== undefined && !isPast(share.answeredAt, TOLD_MS, now);

function refuse(ledger: Ledger, reservation: Reservation, as: "exhausted" | "unavailable"): void {
  reservation.state = as;
  ledger.counts[as] += 1;
}

/** Ends waits, in their order, as far as what is free and what is known allow. To be called when either changed. */
export function decideQueue(ledger: Ledger, share: Share, now: number): void {
  if (now >= share.endsAt || now < share.startsAt || share.isClosed) {
    moveQueue(ledger, share, now);
    return;
  }
  const { queue } = share;
  let done = 0;
  for (const next of queue) {
    if (next.state === "waiting") {
      if (!hold(ledger, next, now)) {
        if (!isExhausted(next, now)) break;
        refuse(ledger, next, "exhausted");
      }
      ledger.waiting.delete(next);
      ledger.decided.push(next);
    }
    done += 1;
  }
  if (done > 0) queue.splice(0, done);
  if (queue.length > 0) askSoon(ledger, share, now);
}

/** Ends the waits that are over, and moves those whose window is over into the next. */
export function endWaits(ledger: Ledger, now: number): void {
  let share: Share | undefined;
  for (const waiting of ledger.waiting) {
    if (waiting.share !== share) {
      share = waiting.share;
      decideQueue(ledger, share, now);
    }
    if (waiting.state !== "waiting" || !isWaitOver(waiting, now)) continue;
    refuse(ledger, waiting, "unavailable");
    ledger.waiting.delete(waiting);
    ledger.decided.push(waiting);
    decideQueue(ledger, waiting.share, now);
  }
}

function isWaitOver({ since, share }: Reservation, now: number): boolean {
  const from = share.remaining === undefined ? since : Math.max(since, share.answeredAt);
  return isPast(from, WAIT_MS, now) || isPast(since, MAX_WAIT_MS, now);
}

/** A request that was not admitted yet is charged to the window in which it is. It goes before those who came later. */
function moveQueue(ledger: Ledger, from: Share, now: number): void {
  if (from.queue.length === 0) return;
  const share = shareAt(from.bucket, now);
  const moved = from.queue.filter(({ state }) => state === "waiting");
  from.queue = [];
  for (const waiting of moved) waiting.share = share;
  share.queue.unshift(...moved);
  decideQueue(ledger, share, now);
}

function askSoon(ledger: Ledger, share: Share, now: number): void {
  if (share.reportId === 0 && now >= share.quietUntil) ledger.urgent.add(share);
}

/** Before the share runs dry, so that in the steady state nobody waits. */
export function askWhenLow(ledger: Ledger, share: Share, now: number): void {
  if (freeOf(share) >= LOW_WATERMARK * chunkOf(share.bucket)) return;
  if (isTold(share, now) && share.remaining === 0) return;
  askSoon(ledger, share, now);
}

function waitingIn(share: Share): number {
  let waiting = 0;
  for (const next of share.queue) if (next.state === "waiting") waiting += amountOf(next);
  return waiting;
}

/** What waits, above what is free: to be granted before a chunk that may be used some time. */
export function needOf(share: Share, now: number): number {
  if (now >= share.endsAt || share.isClosed || share.queue.length === 0) return 0;
  return Math.min(wholeUnits(waitingIn(share) - freeOf(share)), share.bucket.limit);
}

/** How much to ask for: what waits, and a chunk beyond it. */
export function wantOf(share: Share, now: number): number {
  if (now >= share.endsAt || share.isClosed) return 0;
  const free = freeOf(share);
  const isLow = free < LOW_WATERMARK * chunkOf(share.bucket);
  const mayGetMore = !(isTold(share, now) && share.remaining === 0);
  const chunk = isLow && mayGetMore ? chunkOf(share.bucket) : 0;
  return Math.min(wholeUnits(waitingIn(share) + chunk - free), share.bucket.limit);
}

/** Those that waited and are `held`, `exhausted` or `unavailable` now; each is handed out once. */
export function takeDecided(ledger: Ledger): readonly Reservation[] {
  const { decided } = ledger;
  if (decided.length > 0) ledger.decided = [];
  return decided;
}

export interface BudgetRefusal {
  readonly code: "budget_exhausted" | "budget_unavailable";
  readonly retryAfterSeconds: number;
}

/** What a reservation that came to nothing is answered with; undefined for any other. */
export function refusalOf({ state, share }: Reservation, now: number): BudgetRefusal | undefined {
  if (state === "exhausted") return { code: "budget_exhausted", retryAfterSeconds: secondsUntil(share.endsAt, now) };
  return state === "unavailable" ? UNAVAILABLE : undefined;
}

export const UNAVAILABLE: BudgetRefusal = { code: "budget_unavailable", retryAfterSeconds: 1 };
