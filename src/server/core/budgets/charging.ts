/**
 * Charges the usage of a request while it runs and when it ends, to the window in which it was admitted.
 *
 * Usage is passed as a running total of the attempt, never as a difference, so repeated calls change nothing. A charge uses up
 * the request's reservation first, and then free units, which may become negative. In three cases a charge goes to another
 * share than that of the admission:
 * - a session whose window has ended: its reservation is charged there, later usage in the window where it occurs
 * - a share too old to be reported: later usage goes to the current window, since it would not be counted otherwise
 * - a share of an earlier incarnation: the cluster charges its grant in full, which covers the reservation unless others have
 *   used it up; the rest goes to the current window
 * Source: cluster reference, 7.2 rule 4 and "Window roll"; decisions, section 6 (a client that leaves).
 */

import { wholeUnits } from "./cost-units.ts";
import {
  claimOf,
  freeOf,
  isTooLateToReport,
  type Ledger,
  type Reservation,
  type Share,
  shareAt,
  updateLeastSpare,
} from "./ledger.ts";
import { decideQueue, requestWhenLow } from "./reserving.ts";

/** Approximate number of tokens between two charges of a stream; each charge prices the usage again. */
export const STREAM_CHARGE_TOKENS = 256;

/**
 * Charges while an answer is streamed. `used` is the total of the attempt so far. Returns false if the bucket is overdrawn: a
 * session must then `reserve` a demand of 1 and continue only if that is admitted; a request continues, since it was admitted.
 */
export function chargeRunning(ledger: Ledger, reservation: Reservation, used: number, now: number): boolean {
  if (reservation.state !== "held") return true;
  const more = reservation.spentBefore + wholeUnits(used) - reservation.spent;
  if (more > 0) {
    charge(ledger, reservation, more, now);
    if (!reservation.share.isClosed) requestWhenLow(ledger, reservation.share, now);
  }
  return claimOf(reservation.share) >= 0;
}

/**
 * Ends an attempt that is followed by another: its usage stays charged, and the reservation is refilled. Returns false if that
 * does not fit; the caller may continue, and usage is charged either way.
 */
export function startNextAttempt(ledger: Ledger, reservation: Reservation, now: number): boolean {
  if (reservation.state !== "held") return false;
  reservation.spentBefore = reservation.spent;
  const { share, amount, unchargedAmount: left } = reservation;
  if (share.isClosed || isTooLateToReport(share, now)) return left === amount;
  const isHeld = freeOf(share) >= amount - left;
  if (isHeld) {
    share.reserved += amount - left;
    reservation.unchargedAmount = amount;
    updateLeastSpare(share);
  }
  const risk = Math.max(0, reservation.hard - amount);
  share.risk += risk - reservation.risk;
  reservation.risk = risk;
  requestWhenLow(ledger, share, now);
  return isHeld;
}

/** Ends a complete request. `used` is the usage of its last attempt, and replaces what was charged while it was streamed. */
export function settle(ledger: Ledger, reservation: Reservation, used: number, now: number): void {
  if (reservation.state !== "held") return;
  const difference = reservation.spentBefore + wholeUnits(used) - reservation.spent;
  if (difference > 0) charge(ledger, reservation, difference, now);
  else if (difference < 0) reduceCharge(ledger, reservation, -difference);
  closeReservation(ledger, reservation, now);
}

/**
 * Ends a request that broke off after it went upstream. Charges the known usage, or the whole reservation if none is known,
 * since the upstream bills for what it generated.
 */
export function abort(ledger: Ledger, reservation: Reservation, used: number | undefined, now: number): void {
  if (reservation.state === "held") {
    const { spentBefore: before, spent, amount } = reservation;
    const known = Math.max(wholeUnits(used ?? 0), spent - before);
    const more = before + (known > 0 ? known : amount) - spent;
    if (more > 0) charge(ledger, reservation, more, now);
  }
  release(ledger, reservation, now);
}

/** Ends a request that did not reach an upstream, or whose client left while it waited. Nothing more is charged. */
export function release(ledger: Ledger, reservation: Reservation, now: number): void {
  if (reservation.state === "held") {
    closeReservation(ledger, reservation, now);
  } else if (reservation.state === "waiting") {
    reservation.state = "closed";
    ledger.waiting.delete(reservation);
    decideQueue(ledger, reservation.share, now);
  }
}

function closeReservation(ledger: Ledger, reservation: Reservation, now: number): void {
  const { share, unchargedAmount: left, risk } = reservation;
  reservation.state = "closed";
  reservation.unchargedAmount = 0;
  reservation.risk = 0;
  share.reserved -= left;
  share.risk -= risk;
  share.open -= 1;
  share.bucket.open -= 1;
  if (share.queue.length > 0) decideQueue(ledger, share, now);
}

function charge(ledger: Ledger, reservation: Reservation, units: number, now: number): void {
  const { share } = reservation;
  const isLate = isTooLateToReport(share, now) && !share.isClosed;
  const reserved = isLate ? 0 : Math.min(units, reservation.unchargedAmount);
  const risk = Math.min(units - reserved, reservation.risk);
  reservation.spent += units;
  reservation.unchargedAmount -= reserved;
  reservation.risk -= risk;
  share.reserved -= reserved;
  share.risk -= risk;
  ledger.counts.excess += units - reserved;
  const covered = share.isClosed ? chargeClosedGrant(share, reserved) : reserved;
  if (!share.isClosed) chargeShare(ledger, reservation, share, covered);
  if (covered === units) return;
  const isOver = share.isClosed || isLate || (reservation.isSession && now >= share.endsAt);
  chargeShare(ledger, reservation, isOver ? moveToCurrentShare(reservation, now) : share, units - covered);
}

/**
 * Charges reserved units to the grant of a closed share. Returns how many the grant covers: all, unless others have overdrawn
 * it.
 */
function chargeClosedGrant(share: Share, reserved: number): number {
  const covered = Math.min(reserved, Math.max(0, share.granted - share.returned - share.spent));
  share.spent += covered;
  return covered;
}

function chargeShare(ledger: Ledger, reservation: Reservation, share: Share, units: number): void {
  if (units === 0) return;
  share.spent += units;
  reservation.spentInShare += units;
  ledger.dirty.add(share);
  updateLeastSpare(share);
}

/**
 * Corrects the charge if the final usage is lower. Reported totals only grow, so the cluster's count stays above this node's
 * until later requests use up the difference.
 */
function reduceCharge(ledger: Ledger, reservation: Reservation, units: number): void {
  const { share } = reservation;
  const back = Math.min(units, reservation.spentInShare);
  reservation.spent -= back;
  reservation.spentInShare -= back;
  if (share.isClosed) return;
  share.spent -= back;
  ledger.dirty.add(share);
}

function moveToCurrentShare(reservation: Reservation, now: number): Share {
  const { share: from, unchargedAmount: left, risk } = reservation;
  const to = shareAt(from.bucket, now);
  if (to === from) return from;
  from.reserved -= left;
  from.risk -= risk;
  from.open -= 1;
  to.open += 1;
  reservation.unchargedAmount = 0;
  reservation.risk = 0;
  reservation.spentInShare = 0;
  reservation.share = to;
  return to;
}
