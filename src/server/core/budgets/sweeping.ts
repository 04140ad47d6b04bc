/**
 * What time does to a ledger: waits end, unused allowance goes back, windows that are over are forgotten.
 *
 * What lay unused for five seconds is given back, down to where more would be asked for at once. It is taken out of
 * the node's own view first and not used again, also when the report of it is lost. Buckets are looked at in slices, so
 * that a tick costs the same with a hundred thousand of them. A bucket in use has its next window asked for before that
 * begins, and what it holds is renewed in time. Source: cluster reference, 7.2 rule 6; decisions, section 8 (leases).
 */

import {
  type Bucket,
  claimOf,
  isGone,
  isPast,
  knownBucket,
  type Ledger,
  LOW_WATERMARK,
  noteLeast,
  type Share,
  shareOf,
  spareOf,
} from "./ledger.ts";
import { chunkOf, noteRate, risksOf } from "./rates.ts";
import { askWhenLow, endWaits } from "./reserving.ts";

export const UNUSED_MS = 5_000;
/** How often `tick` is to be called; a wait ends with at most this delay. */
export const TICK_MS = 50;
/** A hundred thousand buckets are gone through in five seconds. */
const SLICE = 1_000;
/** Longer than it takes to compile what a restored state configures, and than most requests of before take to arrive. */
const SETTLING_MS = 60_000;
/** Several times, before a lease is over. */
const RENEW_MS = 15_000;
/** Before a window begins, in which nothing would be granted yet; half of a short one. */
const PREPARE_MS = 2_000;

/** `elapsed`: milliseconds of a clock that is never set; left out where there is none but `now`. */
export function tick(ledger: Ledger, now: number, elapsed?: number): void {
  ledger.elapsed = elapsed;
  endWaits(ledger, now);
  const { unsettledSince } = ledger;
  if (unsettledSince !== undefined && isPast(unsettledSince, SETTLING_MS, now)) ledger.unsettledSince = undefined;
  for (let count = 0; count < SLICE; count += 1) {
    ledger.sweeping ??= ledger.buckets.values();
    const next = ledger.sweeping.next();
    if (next.done === true) {
      ledger.sweeping = undefined;
      ledger.heldUnused = ledger.sweptFree;
      ledger.sweptFree = 0;
      return;
    }
    sweepBucket(ledger, next.value, now);
  }
}

function sweepBucket(ledger: Ledger, bucket: Bucket, now: number): void {
  noteRate(bucket, 0, now);
  if (isPast(bucket.admittedAt, UNUSED_MS, now)) bucket.typical = 0;
  for (const share of bucket.shares.values()) {
    if (isOver(share, now)) forget(ledger, share);
    else if (now < share.endsAt) {
      giveBack(ledger, share, now);
      ledger.sweptFree += Math.max(0, claimOf(share));
      renew(ledger, share, now);
    }
  }
  prepare(ledger, bucket, now);
  if (bucket.shares.size === 0 && bucket.open === 0) ledger.buckets.delete(keyOf(ledger, bucket));
}

/** A bucket that was put aside stands under another key than its name. */
const keyOf = (ledger: Ledger, bucket: Bucket): string =>
  ledger.buckets.get(bucket.name) === bucket ? bucket.name : `${bucket.name}\u0000${bucket.windowMs}`;

function isOver(share: Share, now: number): boolean {
  if (now < share.endsAt || share.open > 0 || share.queue.length + share.asks.length > 0) return false;
  return isGone(share, now) || (share.reportId === 0 && share.spent <= share.ackedSpent);
}

function forget(ledger: Ledger, share: Share): void {
  ledger.counts.unreported += Math.max(0, share.spent - share.ackedSpent);
  share.bucket.shares.delete(share.window);
  if (share.bucket.latest === share) share.bucket.latest = undefined;
  ledger.dirty.delete(share);
  ledger.urgent.delete(share);
  if (ledger.borrows) ledger.forgotten.push(share);
}

function giveBack(ledger: Ledger, share: Share, now: number): void {
  if (!isPast(share.leastSince, UNUSED_MS, now)) return;
  const kept = Math.ceil(LOW_WATERMARK * chunkOf(ledger, share.bucket)) + risksOf(share.bucket);
  const unused = share.queue.length + share.asks.length > 0 ? 0 : share.least - kept;
  if (unused > 0) {
    share.returned += unused;
    ledger.dirty.add(share);
  }
  share.least = spareOf(share);
  share.leastSince = now;
}

/** What is held and not reported of would be taken back. */
function renew(ledger: Ledger, share: Share, now: number): void {
  const isHeld = claimOf(share) + share.reserved > 0;
  const isOld = isPast(share.renewedAt, RENEW_MS, ledger.elapsed ?? now);
  // Of a borrower, it is as old as the lender's own, which may not be renewed yet.
  if (isHeld && isOld && isPast(share.answeredAt, RENEW_MS / 3, now)) ledger.dirty.add(share);
}

function prepare(ledger: Ledger, bucket: Bucket, now: number): void {
  const { latest } = bucket;
  if (latest === undefined || bucket.typical === 0 || now >= latest.endsAt) return;
  if (now < latest.endsAt - Math.min(PREPARE_MS, bucket.windowMs / 2)) return;
  askWhenLow(ledger, shareOf(bucket, latest.window + 1, now), now);
}

/**
 * The process ends: what it holds and nobody reserved goes back, so that others may spend it, and all that was spent is
 * due at once. Nothing may be reserved after this.
 */
export function giveAllBack(ledger: Ledger, now: number): void {
  ledger.reportedAt = Number.NEGATIVE_INFINITY;
  for (const bucket of ledger.buckets.values()) {
    // So that nothing is asked for any more.
    bucket.rate = 0;
    bucket.typical = 0;
    for (const share of bucket.shares.values()) {
      const unused = now < share.endsAt ? spareOf(share) : 0;
      if (unused <= 0) continue;
      share.returned += unused;
      ledger.dirty.add(share);
    }
  }
}

/**
 * What nothing here may come to need goes back at once, though it may have been used a moment later: the lender has another
 * use for it. What it is to be told of the share; undefined: nothing is held of it.
 */
export function giveBackNow(ledger: Ledger, { b, w, window_ms }: ShareName, now: number): GivenBack | undefined {
  const share = knownBucket(ledger, b, window_ms)?.shares.get(w);
  if (share === undefined || share.isClosed || now >= share.endsAt) return undefined;
  share.returned += Math.max(0, spareOf(share));
  noteLeast(share);
  // What was told counted this in.
  share.remaining = undefined;
  ledger.dirty.add(share);
  return { b, w, window_ms, spent: share.spent, ret: share.returned };
}

/** As a row of a report names it. */
export interface ShareName {
  readonly b: string;
  readonly w: number;
  readonly window_ms: number;
}

export interface GivenBack extends ShareName {
  readonly spent: number;
  readonly ret: number;
}
