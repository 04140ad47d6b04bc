/** Classifies how close a certificate is to its expiry, as shown to operators. Source: front-door reference, section 2.3. */
import type { Certificate } from "./types.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Remaining share of the lifetime below which a stage begins, with a maximum for certificates that are valid for years. */
const SOON = { share: 1 / 4, maxMs: 30 * DAY_MS };
const URGENT = { share: 1 / 10, maxMs: 7 * DAY_MS };

export type ExpiryStage = "valid" | "expires_soon" | "expires_now" | "expired";

/** Returns the stage. `now`: milliseconds since 1970. */
export function expiryStage({ notBefore, notAfter }: Pick<Certificate, "notBefore" | "notAfter">, now: number) {
  const left = notAfter - now;
  const life = notAfter - notBefore;
  const isUnder = ({ share, maxMs }: typeof SOON): boolean => left < Math.min(life * share, maxMs);
  const stage: ExpiryStage =
    left <= 0 ? "expired" : isUnder(URGENT) ? "expires_now" : isUnder(SOON) ? "expires_soon" : "valid";
  return stage;
}
