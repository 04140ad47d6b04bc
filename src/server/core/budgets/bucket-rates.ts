/** Rate at which a bucket is used, and the amounts to request and pledge at a time. Times are as in `ledger.ts`. */

import type { Bucket, Ledger } from "./ledger.ts";

/** Time whose usage one chunk covers at the current rate, in milliseconds; longer if answers are slow. */
const CHUNK_MS = 2_000;
/** Time whose usage a pledge covers in advance, in milliseconds; longer if answers are slow. */
const AHEAD_MS = 500;
const ANSWERS_AHEAD = 4;
const MAX_AHEAD_MS = 8_000;
/** Interval at which the rate is computed, and time over which earlier values fade, in milliseconds. */
const RATE_MS = 500;
const RATE_MEMORY_MS = 1_000;

/** Notes that a request was admitted with `units`, and may cost `risk` more. */
export function recordAdmission(
  bucket: Bucket,
  { units, risk }: { readonly units: number; readonly risk: number },
  now: number,
): void {
  bucket.typicalRisk = bucket.typical === 0 ? risk : bucket.typicalRisk + (risk - bucket.typicalRisk) / 4;
  bucket.typical = bucket.typical === 0 ? units : bucket.typical + (units - bucket.typical) / 4;
  bucket.admittedAt = now;
  recordRate(bucket, units, now);
}

/** Notes admitted units; 0 only updates the rate as time passes. */
export function recordRate(bucket: Bucket, units: number, now: number): void {
  bucket.rateUnits += units;
  const elapsed = now - bucket.rateAt;
  if (elapsed >= 0 && elapsed < RATE_MS) return;
  // The first interval, and one in which the clock was set, have no usable length.
  const isKnown = elapsed > 0 && elapsed < Number.POSITIVE_INFINITY;
  if (isKnown) bucket.rate += (bucket.rateUnits / elapsed - bucket.rate) * Math.min(1, elapsed / RATE_MEMORY_MS);
  bucket.rateAt = now;
  bucket.rateUnits = isKnown ? 0 : units;
}

const aheadMs = (ledger: Ledger, least: number): number =>
  Math.min(MAX_AHEAD_MS, Math.max(least, ANSWERS_AHEAD * ledger.answerMs));

/** Returns the units to request from the cluster at a time. */
export const chunkOf = (ledger: Ledger, bucket: Bucket): number =>
  bucket.rate === 0 ? 0 : Math.floor(usedIn(bucket, aheadMs(ledger, CHUNK_MS)));

/**
 * Returns the units to request in addition to a chunk, for the risks of two more concurrent requests; at most a small part of
 * the limit, since other nodes need it too. 0 for an idle bucket: its rate only fades, but its units must become free at once.
 */
export const unitsForRisks = ({ rate, typical, limit, typicalRisk }: Bucket): number =>
  rate === 0 || typical === 0 ? 0 : Math.floor(Math.min(2 * typicalRisk, limit / 16));

/** Returns the units to pledge in addition to those that are reserved. */
export const unitsToPledgeAhead = (ledger: Ledger, bucket: Bucket): number =>
  Math.ceil(usedIn(bucket, aheadMs(ledger, AHEAD_MS)));

/** Returns the expected usage in a period; at least two typical requests, so that a rare request need not wait. */
const usedIn = ({ rate, typical }: Bucket, ms: number): number => Math.max(rate * ms, 2 * typical);
