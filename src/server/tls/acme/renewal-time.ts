/**
 * Decides when a certificate is renewed. Source: design decisions, section 15 (two thirds of its life, half below ten days);
 * RFC 9773 section 4.2 (a random moment in the window that the authority suggests).
 */
import type { CertificateRecord, Issued, RenewalWindow } from "./certificate-record.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Largest accepted clock error. A clock that is further off must be set right before anything is ordered. */
export const MAX_SKEW_MS = HOUR_MS;

/** Returns whether a time was written by a clock that was ahead of this one. Waits that start from it are ignored. */
export const isAhead = (at: number, now: number): boolean => at > now + MAX_SKEW_MS;

const SHORT_LIFETIME_MS = 10 * DAY_MS;

/** Random share of the lifetime, so that certificates that were issued together are not renewed together. */
const RENEWAL_SPREAD = 0.02;

/** Returns the renewal time by lifetime. `random`: in [0, 1). */
export function renewalTime(notBefore: number, notAfter: number, random: number): number {
  const life = notAfter - notBefore;
  const share = life < SHORT_LIFETIME_MS ? 1 / 2 : 2 / 3;
  return Math.round(notBefore + life * (share - RENEWAL_SPREAD * random));
}

/**
 * Draws a random renewal time in a suggested window, or keeps the earlier draw for the same window. Returns `undefined` for an
 * invalid window.
 */
export function drawWindow(
  { start, end }: Pick<RenewalWindow, "start" | "end">,
  before: RenewalWindow | null,
  random: number,
): RenewalWindow | undefined {
  if (!(end > start)) return undefined;
  if (before !== null && before.start === start && before.end === end) return before;
  return { start, end, at: Math.round(start + (end - start) * random) };
}

/**
 * Returns the minimum age before renewal: an authority that suggests an immediate renewal would otherwise cause an endless loop.
 */
const minAge = ({ notBefore, notAfter }: Issued): number => Math.min(HOUR_MS, (notAfter - notBefore) / 20);

/** Share of the lifetime that is reserved for attempts, so that a suggested window cannot let the certificate expire. */
const RESERVED_SHARE = 0.1;

export function renewalDue(issued: Issued): number {
  const { window, notBefore, notAfter, issuedAt, renewAt } = issued;
  if (window === null) return renewAt;
  const latest = notAfter - (notAfter - notBefore) * RESERVED_SHARE;
  return Math.min(Math.max(window.at, issuedAt + minAge(issued)), latest);
}

/** Pause by number of failures in a row. */
const BACKOFF_MS: readonly number[] = [1, 5, 15, 30, 60].map((minutes) => minutes * MINUTE_MS);

/**
 * Maximum `Retry-After` that is followed. A week is the longest limit of public authorities; longer pauses endanger the
 * certificate.
 */
const MAX_RETRY_AFTER_MS = 7 * DAY_MS;

/** Returns the time of the next attempt. `failures`: number of failures, including this one. */
export function nextAttempt(now: number, failures: number, retryAt = 0): number {
  const wait = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length) - 1] ?? MINUTE_MS;
  return Math.max(now + wait, Math.min(retryAt, now + MAX_RETRY_AFTER_MS));
}

/**
 * Maximum number of certificates in a day. Public authorities issue five for a set of names in a week; a loop must not use them
 * up.
 */
const MAX_FINALIZED_PER_DAY = 2;

export const recentlyFinalized = (finalized: readonly number[], now: number): readonly number[] =>
  finalized.filter((at) => at > now - DAY_MS && !isAhead(at, now));

/** Returns the time from which another order may begin; 0 means now. */
export function allowedFrom({ finalized }: Pick<CertificateRecord, "finalized">, now: number): number {
  const recent = recentlyFinalized(finalized, now);
  if (recent.length < MAX_FINALIZED_PER_DAY) return 0;
  return (recent.at(-MAX_FINALIZED_PER_DAY) ?? 0) + DAY_MS;
}

export const RENEWAL_INFO_DELAY = { minMs: MINUTE_MS, defaultMs: 6 * HOUR_MS, maxMs: DAY_MS };

/** Returns when to request renewal information again. `retryAfterMs`: from the answer. */
export function nextRenewalInfoRequest(now: number, retryAfterMs: number | undefined): number {
  const { minMs, defaultMs, maxMs } = RENEWAL_INFO_DELAY;
  return now + Math.min(Math.max(retryAfterMs ?? defaultMs, minMs), maxMs);
}
