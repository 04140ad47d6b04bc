/** Metrics of recognized callers. Label values come from the configuration and from our own unions. */

import type { Instruments } from "../../base/index.ts";
import type { Identification } from "./caller.ts";

interface CallerMetrics {
  count(identification: Identification): void;
}

/** Creates the metrics. Must be called once per process. `cachedTokens` is called at each scrape. */
export function createCallerMetrics(instruments: Instruments, cachedTokens: () => number): CallerMetrics {
  const callers = instruments.counter(
    "gateway_callers_total",
    "Requests by kind of caller (key, agent, user), or by the reason why no caller was recognized.",
    ["outcome", "issuer"],
  );
  const byKey = callers.with("key", "");
  instruments.observedGauge("gateway_cached_tokens", "Verified tokens in the cache.", cachedTokens);
  return {
    count(identification) {
      if (identification.kind === "refused") {
        callers.with(identification.fault, identification.issuer ?? "").inc();
      } else if (identification.caller.kind === "key") {
        byKey.inc();
      } else {
        callers.with(identification.caller.kind, identification.caller.issuer ?? "").inc();
      }
    },
  };
}
