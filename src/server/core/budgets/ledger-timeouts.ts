/**
 * Effects of time on a ledger: waits end, unused allowance is returned, ended windows are dropped.
 *
 * Units unused for five seconds are returned, except as many as would be requested again at once. They are first removed from
 * the node's own view and never used again, even if the report is lost. Buckets are visited in slices, so that a tick costs the
 * same with 100,000 of them. A bucket in use requests its next window before that begins, and renews its leases in time. Source:
 * cluster reference, 7.2 rule 6; decisions, section 8 (leases).
 */

import { chunkOf, recordRate, unitsForRisks } from "./bucket-rates.ts";
import {
  type Bucket,
  claimOf,
  findBucket,
  hasPassed,
  isTooLateToReport,
  type Ledger,
  LOW_WATERMARK,
  type Share,
  shareOf,
  spareOf,
  updateLeastSpare,
} from "./ledger.ts";
import { endTimedOutWaits, requestWhenLow } from "./reserving.ts";

const UNUSED_MS = 5_000;
/** Interval at which to call `tick`, in milliseconds; a wait ends with at most this delay. */
export const TICK_MS = 50;
/** Number of buckets visited per tick: 100,000 buckets take five seconds. */
const SLICE = 1_000;
/**
 * Time after a restart in which limits of lower revisions are accepted, in milliseconds. Longer than compiling a restored
 * configuration takes, and than most requests under an earlier one.
 */
const SETTLING_MS = 60_000;
/** Interval of renewal, in milliseconds; several times within a lease. */
const RENEW_MS = 15_000;
/** Time before a window begins at which its share is requested, in milliseconds; half of a short window. */
const PREPARE_MS = 2_000;

/** Advances the ledger. `elapsed` is a monotonic clock in milliseconds; absent if there is only `now`. */
export function tick(ledger: Ledger, now: number, elapsed?: number): void {
  ledger.elapsed = elapsed;
  endTimedOutWaits(ledger, now);
  const { unsettledSince } = ledger;
  if (unsettledSince !== undefined && hasPassed(unsettledSince, SETTLING_MS, now)) ledger.unsettledSince = undefined;
  for (let count = 0; count < SLICE; count += 1) {
    ledger.sweeping ??= ledger.buckets.values();
    const next = ledger.sweeping.next();
    if (next.done === true) {
      ledger.sweeping = undefined;
      ledger.unusedUnits = ledger.sweptFree;
      ledger.sweptFree = 0;
      return;
    }
    sweepBucket(ledger, next.value, now);
  }
}

function sweepBucket(ledger: Ledger, bucket: Bucket, now: number): void {
  recordRate(bucket, 0, now);
  if (hasPassed(bucket.admittedAt, UNUSED_MS, now)) bucket.typical = 0;
  for (const share of bucket.shares.values()) {
    if (isFinished(share, now)) dropShare(ledger, share);
    else if (now < share.endsAt) {
      returnUnused(ledger, share, now);
      ledger.sweptFree += Math.max(0, claimOf(share));
      renewLease(ledger, share, now);
    }
  }
  requestNextWindow(ledger, bucket, now);
  if (bucket.shares.size === 0 && bucket.open === 0) ledger.buckets.delete(keyOf(ledger, bucket));
}

/** Returns the key of a bucket in the map, which differs from its name if it is kept aside. */
const keyOf = (ledger: Ledger, bucket: Bucket): string =>
  ledger.buckets.get(bucket.name) === bucket ? bucket.name : `${bucket.name}\u0000${bucket.windowMs}`;

function isFinished(share: Share, now: number): boolean {
  if (now < share.endsAt || share.open > 0 || share.queue.length + share.loanRequests.length > 0) return false;
  return isTooLateToReport(share, now) || (share.reportId === 0 && share.spent <= share.ackedSpent);
}

function dropShare(ledger: Ledger, share: Share): void {
  ledger.counts.unreported += Math.max(0, share.spent - share.ackedSpent);
  share.bucket.shares.delete(share.window);
  if (share.bucket.latest === share) share.bucket.latest = undefined;
  ledger.dirty.delete(share);
  ledger.urgent.delete(share);
  if (ledger.borrows) ledger.forgotten.push(share);
}

function returnUnused(ledger: Ledger, share: Share, now: number): void {
  if (!hasPassed(share.leastSpareSince, UNUSED_MS, now)) return;
  const targetSpare = Math.ceil(LOW_WATERMARK * chunkOf(ledger, share.bucket)) + unitsForRisks(share.bucket);
  const unused = share.queue.length + share.loanRequests.length > 0 ? 0 : share.leastSpare - targetSpare;
  if (unused > 0) {
    share.returned += unused;
    ledger.dirty.add(share);
  }
  share.leastSpare = spareOf(share);
  share.leastSpareSince = now;
}

/** Makes a report due that renews the lease. Shares without reports would be taken back. */
function renewLease(ledger: Ledger, share: Share, now: number): void {
  const isHeld = claimOf(share) + share.reserved > 0;
  const isOld = hasPassed(share.renewedAt, RENEW_MS, ledger.elapsed ?? now);
  // A borrower's lease is as old as the lender's, which may not be renewed yet.
  if (isHeld && isOld && hasPassed(share.answeredAt, RENEW_MS / 3, now)) ledger.dirty.add(share);
}

function requestNextWindow(ledger: Ledger, bucket: Bucket, now: number): void {
  const { latest } = bucket;
  if (latest === undefined || bucket.typical === 0 || now >= latest.endsAt) return;
  if (now < latest.endsAt - Math.min(PREPARE_MS, bucket.windowMs / 2)) return;
  requestWhenLow(ledger, shareOf(bucket, latest.window + 1, now), now);
}

/**
 * Ends the ledger: returns all units that are not reserved, and makes all spending due for a report. Nothing may be reserved
 * after this.
 */
export function returnAll(ledger: Ledger, now: number): void {
  ledger.reportedAt = Number.NEGATIVE_INFINITY;
  for (const bucket of ledger.buckets.values()) {
    // With these at 0, nothing more is requested.
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
 * Gives unneeded units back at once because the lender needs them elsewhere. Returns the totals to report, or `undefined` if
 * this ledger has nothing of the share.
 */
export function returnSpare(ledger: Ledger, { b, w, window_ms }: ShareName, now: number): ReturnedShare | undefined {
  const share = findBucket(ledger, b, window_ms)?.shares.get(w);
  if (share === undefined || share.isClosed || now >= share.endsAt) return undefined;
  share.returned += Math.max(0, spareOf(share));
  updateLeastSpare(share);
  // The last answer counted these units as available here.
  share.remaining = undefined;
  ledger.dirty.add(share);
  return { b, w, window_ms, spent: share.spent, ret: share.returned };
}

/** Name of a share, as in a row of a report. */
export interface ShareName {
  readonly b: string;
  readonly w: number;
  readonly window_ms: number;
}

export interface ReturnedShare extends ShareName {
  readonly spent: number;
  readonly ret: number;
}
