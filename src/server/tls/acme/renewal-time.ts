/**
 * Decides when a certificate is renewed. Source: design decisions, section 15 (two thirds of its life, half below ten days);
 * RFC 9773 section 4.2 (a random moment in the window that the authority suggests).
 */
import type { CertificateRecord, Issued, Window } from "./certificate-record.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** A clock further off than this is set right before anything is ordered, or waited for. */
export const MAX_SKEW_MS = HOUR;

/** Written by a clock that was ahead of this one: what was to be waited from it on is not. */
export const isAhead = (at: number, now: number): boolean => at > now + MAX_SKEW_MS;

const SHORT_LIVED = 10 * DAY;

/** Certificates of a fleet that began together do not renew together. */
const SPREAD = 0.02;

/** `random`: in [0, 1). */
export function renewalTime(notBefore: number, notAfter: number, random: number): number {
  const life = notAfter - notBefore;
  const share = life < SHORT_LIVED ? 1 / 2 : 2 / 3;
  return Math.round(notBefore + life * (share - SPREAD * random));
}

/** Returns `undefined` for an invalid window, or one from which a moment was drawn already. */
export function drawWindow(
  { start, end }: Pick<Window, "start" | "end">,
  before: Window | null,
  random: number,
): Window | undefined {
  if (!(end > start)) return undefined;
  if (before !== null && before.start === start && before.end === end) return before;
  return { start, end, at: Math.round(start + (end - start) * random) };
}

/** Minimum age before renewal: an authority that suggests an immediate renewal would otherwise cause an endless loop. */
const leastAge = ({ notBefore, notAfter }: Issued): number => Math.min(HOUR, (notAfter - notBefore) / 20);

/** A window of never would let it expire: the last tenth of its life is for attempts. */
const LATEST = 0.1;

export function renewalDue(issued: Issued): number {
  const { window, notBefore, notAfter, issuedAt, renewAt } = issued;
  if (window === null) return renewAt;
  const latest = notAfter - (notAfter - notBefore) * LATEST;
  return Math.min(Math.max(window.at, issuedAt + leastAge(issued)), latest);
}

/** Pause by number of failures in a row. */
const BACKOFF_MS: readonly number[] = [1, 5, 15, 30, 60].map((minutes) => minutes * MINUTE);

/** An authority may ask for more patience than is good for a certificate; a week is the longest of the public limits. */
const MAX_RETRY_AFTER_MS = 7 * DAY;

/** `failures`: including this one. */
export function nextAttempt(now: number, failures: number, retryAt = 0): number {
  const wait = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length) - 1] ?? MINUTE;
  return Math.max(now + wait, Math.min(retryAt, now + MAX_RETRY_AFTER_MS));
}

/** Public authorities issue five for a set of names in a week; a loop must not spend them. */
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
