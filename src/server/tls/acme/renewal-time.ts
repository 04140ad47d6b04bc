/**
 * Decides when a certificate is renewed. Source: design decisions, section 15 (two thirds of its life, half below ten days);
 * RFC 9773 section 4.2 (a random moment in the window that the authority suggests).
 */
import type { CertificateRecord, Issued, Window } from "./certificate-record.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Largest accepted clock error. A clock that is further off must be set right before anything is ordered. */
export const MAX_SKEW_MS = HOUR;

/** Returns whether a time was written by a clock that was ahead of this one. Waits that start from it are ignored. */
export const isAhead = (at: number, now: number): boolean => at > now + MAX_SKEW_MS;

const SHORT_LIVED = 10 * DAY;

/** Random share of the lifetime, so that certificates that were issued together are not renewed together. */
const SPREAD = 0.02;

/** Returns the renewal time by lifetime. `random`: in [0, 1). */
export function renewalTime(notBefore: number, notAfter: number, random: number): number {
  const life = notAfter - notBefore;
  const share = life < SHORT_LIVED ? 1 / 2 : 2 / 3;
  return Math.round(notBefore + life * (share - SPREAD * random));
}

/**
 * Draws a random renewal time in a suggested window, or keeps the earlier draw for the same window. Returns `undefined` for an
 * invalid window.
 */
export function drawWindow(
  { start, end }: Pick<Window, "start" | "end">,
  before: Window | null,
  random: number,
): Window | undefined {
  if (!(end > start)) return undefined;
  if (before !== null && before.start === start && before.end === end) return before;
  return { start, end, at: Math.round(start + (end - start) * random) };
}

/**
 * Returns the minimum age before renewal: an authority that suggests an immediate renewal would otherwise cause an endless loop.
 */
const leastAge = ({ notBefore, notAfter }: Issued): number => Math.min(HOUR, (notAfter - notBefore) / 20);

/** Share of the lifetime that is reserved for attempts, so that a suggested window cannot let the certificate expire. */
const LATEST = 0.1;

export function renewalDue(issued: Issued): number {
  const { window, notBefore, notAfter, issuedAt, renewAt } = issued;
  if (window === null) return renewAt;
  const latest = notAfter - (notAfter - notBefore) * LATEST;
  return Math.min(Math.max(window.at, issuedAt + leastAge(issued)), latest);
}

/** Pause by number of failures in a row. */
const BACKOFF_MS: readonly number[] = [1, 5, 15, 30, 60].map((minutes) => minutes * MINUTE);

/**
 * Maximum `Retry-After` that is followed. A week is the longest limit of public authorities; longer pauses endanger the
 * certificate.
 */
const MAX_RETRY_AFTER_MS = 7 * DAY;

/** Returns the time of the next attempt. `failures`: number of failures, including this one. */
export function nextAttempt(now: number, failures: number, retryAt = 0): number {
  const wait = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length) - 1] ?? MINUTE;
  return Math.max(now + wait, Math.min(retryAt, now + MAX_RETRY_AFTER_MS));
}

/**
 * Maximum number of certificates in a day. Public authorities issue five for a set of names in a week; a loop must not use them
 * up.
 */
const MAX_FINALIZED_A_DAY = 2;

export const recentlyFinalized = (finalized: readonly number[], now: number): readonly number[] =>
  finalized.filter((at) => at > now - DAY && !isAhead(at, now));

/** Returns the time from which another order may begin; 0 means now. */
export function allowedFrom({ finalized }: Pick<CertificateRecord, "finalized">, now: number): number {
  const recent = recentlyFinalized(finalized, now);
  if (recent.length < MAX_FINALIZED_A_DAY) return 0;
  return (recent.at(-MAX_FINALIZED_A_DAY) ?? 0) + DAY;
}

export const ASKED_AGAIN = { least: MINUTE, usual: 6 * HOUR, most: DAY };

/** Returns when to request renewal information again. `retryAfterMs`: from the answer. */
export function askAgain(now: number, retryAfterMs: number | undefined): number {
  const { least, usual, most } = ASKED_AGAIN;
  return now + Math.min(Math.max(retryAfterMs ?? usual, least), most);
}
