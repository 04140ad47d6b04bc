/**
 * What time does to a ledger: waits end, unused allowance goes back, windows that are over are forgotten.
 *
 * What lay unused for five seconds is given back, down to where more would be asked for at once. It is taken out of
 * the node's own view first and not used again, also when the report of it is lost. Buckets are looked at in slices, so
 * that a tick costs the same with a hundred thousand of them. Source: cluster reference, 7.2 rule 6.
 */

import {
  type Bucket,
  chunkOf,
  freeOf,
  isGone,
  isPast,
  type Ledger,
  LOW_WATERMARK,
  noteRate,
  type Share,
} from "./ledger.ts";
import { endWaits } from "./reserving.ts";

export const UNUSED_MS = 5_000;
/** How often `tick` is to be called; a wait ends with at most this delay. */
export const TICK_MS = 50;
/** A hundred thousand buckets are gone through in five seconds. */
const SLICE = 1_000;
/** Longer than it takes to compile what a restored state configures, and than most requests of before take to arrive. */
const SETTLING_MS = 60_000;

export function tick(ledger: Ledger, now: number): void {
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
  for (const share of bucket.shares.values()) {
    if (isOver(share, now)) forget(ledger, share);
    else if (now < share.endsAt) {
      giveBack(ledger, share, now);
      ledger.sweptFree += Math.max(0, freeOf(share));
    }
  }
  if (bucket.shares.size === 0 && bucket.open === 0) ledger.buckets.delete(keyOf(ledger, bucket));
}

/** A bucket that was put aside stands under another key than its name. */
const keyOf = (ledger: Ledger, bucket: Bucket): string =>
  ledger.buckets.get(bucket.name) === bucket ? bucket.name : `${bucket.name}\u0000${bucket.windowMs}`;

function isOver(share: Share, now: number): boolean {
  if (now < share.endsAt || share.open > 0 || share.queue.length > 0) return false;
  return isGone(share, now) || (share.reportId === 0 && share.spent <= share.ackedSpent);
}

function forget(ledger: Ledger, share: Share): void {
  ledger.counts.unreported += Math.max(0, share.spent - share.ackedSpent);
  share.bucket.shares.delete(share.window);
  if (share.bucket.latest === share) share.bucket.latest = undefined;
  ledger.dirty.delete(share);
  ledger.urgent.delete(share);
}

function giveBack(ledger: Ledger, share: Share, now: number): void {
  if (!isPast(share.leastSince, UNUSED_MS, now)) return;
  const kept = Math.ceil(LOW_WATERMARK * chunkOf(share.bucket));
  const unused = share.queue.length > 0 ? 0 : share.least - kept;
  if (unused > 0) {
    share.returned += unused;
    ledger.dirty.add(share);
  }
  share.least = freeOf(share);
  share.leastSince = now;
}

/**
 * The process ends: what it holds and nobody reserved goes back, so that others may spend it, and all that was spent is
 * due at once. Nothing may be reserved after this.
 */
export function giveAllBack(ledger: Ledger, now: number): void {
  ledger.reportedAt = Number.NEGATIVE_INFINITY;
  for (const bucket of ledger.buckets.values()) {
    bucket.rate = 0; // so that nothing is asked for any more
    for (const share of bucket.shares.values()) {
      const free = now < share.endsAt ? freeOf(share) : 0;
      if (free <= 0) continue;
      share.returned += free;
      ledger.dirty.add(share);
    }
  }
}
