/** Metrics of token verification. Label values come from the configuration and from our own unions, never a token. */

import type { Instruments } from "../../base/index.ts";
import type { TokenFault } from "./types.ts";

export interface TokenMetrics {
  /** Counts a verification. `issuer`: its name; `undefined` for a token of no known issuer. */
  countVerification(issuer: string | undefined, outcome: "verified" | TokenFault): void;
  countKeyFetch(issuer: string, outcome: "loaded" | "failed"): void;
}

/** Creates the metrics. Must be called once per process, so that a new verifier continues the series of the previous one. */
export function createTokenMetrics(instruments: Instruments): TokenMetrics {
  const verifications = instruments.counter(
    "gateway_token_verifications_total",
    "Verifications of issuers' tokens, by result. Cached tokens are not verified again.",
    ["issuer", "outcome"],
  );
  const fetches = instruments.counter("gateway_issuer_key_fetches_total", "Fetches of an issuer's key set.", [
    "issuer",
    "outcome",
  ]);
  return {
    countVerification: (issuer, outcome) => verifications.with(issuer ?? "", outcome).inc(),
    countKeyFetch: (issuer, outcome) => fetches.with(issuer, outcome).inc(),
  };
}
