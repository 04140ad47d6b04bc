/** Renews the certificates of a long-running process every 30 days, before they expire. */

import type { Identity } from "./identity.ts";

const RENEW_AFTER_MS = 30 * 24 * 60 * 60 * 1000;
/** Interval of checks. A timer cannot wait for 30 days, and an interval does not count while a machine sleeps. */
const CHECK_EVERY_MS = 60 * 60 * 1000;

interface RenewalOptions {
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
  readonly onFailure: (error: unknown) => void;
  /** Calls `check` every `ms` milliseconds until the returned function is called. */
  readonly every?: (ms: number, check: () => void) => () => void;
}

/** Starts the renewal. Returns a function that ends it. */
export function startCertificateRenewal(
  identity: Identity,
  { now, onFailure, every = startInterval }: RenewalOptions,
): () => void {
  return every(CHECK_EVERY_MS, () => {
    if (now() - identity.issuedAt < RENEW_AFTER_MS) return;
    identity.refresh().catch(onFailure);
  });
}

function startInterval(ms: number, check: () => void): () => void {
  const timer = setInterval(check, ms);
  timer.unref();
  return () => clearInterval(timer);
}
