/** Metrics of credentials presented upstream. Label values come from the configuration and from our own unions. */
import type { Instruments } from "../../base/index.ts";
import type { CredentialKind } from "./types.ts";

export interface CredentialMetrics {
  /** Counts a fetch. `refused`: only this caller's token was refused; others are not affected. */
  countFetch(name: string, kind: CredentialKind, outcome: "fetched" | "failed" | "refused"): void;
  /** Sets the gauge, which is 1 while the last fetch failed. */
  setFailing(name: string, isFailing: boolean): void;
  /** Counts a request that was sent again with another token, key or time. */
  countRepeat(name: string, reason: "token" | "keys" | "clock"): void;
  setClockOffset(host: string, offsetMs: number): void;
}

export function createCredentialMetrics(instruments: Instruments): CredentialMetrics {
  const fetches = instruments.counter(
    "gateway_credential_fetches_total",
    "Requests for tokens and keys to token endpoints and the platform, by outcome.",
    ["credential", "kind", "outcome"],
  );
  const failing = instruments.gauge(
    "gateway_credential_failing",
    "1 while a credential cannot be fetched. The previous token or keys are used until they expire.",
    ["credential"],
    "farthest",
  );
  const repeats = instruments.counter(
    "gateway_credential_repeats_total",
    "Requests that were repeated because the upstream refused the token, the keys or the signing time.",
    ["credential", "reason"],
  );
  const offsets = instruments.gauge(
    "gateway_signing_clock_offset_seconds",
    "Seconds that are added to this node's time when requests are signed, because the verifier's clock differs.",
    ["host"],
    "farthest",
  );
  return {
    countFetch: (name, kind, outcome) => fetches.with(name, kind, outcome).inc(),
    setFailing: (name, isFailing) => failing.with(name).set(isFailing ? 1 : 0),
    countRepeat: (name, reason) => repeats.with(name, reason).inc(),
    setClockOffset: (host, offsetMs) => offsets.with(host).set(offsetMs / 1_000),
  };
}
