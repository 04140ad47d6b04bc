/** Metrics of reconciliation. */
import type { Instruments } from "../../base/index.ts";
import type { LedgerEntry } from "./judge/ledger-entry.ts";

interface ReconcileMetrics {
  /** Publishes the breaches of the whole lookback. */
  setBreaches(entries: readonly LedgerEntry[]): void;
  countRound(provider: string, isHad: boolean): void;
}

export function createReconcileMetrics(instruments: Instruments): ReconcileMetrics {
  const gauge = instruments.gauge(
    "gateway_reconcile_breaches",
    "Days in the lookback on which metered usage and the provider's report differ by more than the limits. The same on every node.",
    ["provider", "class"],
  );
  const rounds = instruments.counter("gateway_reconcile_rounds_total", "Reconciliation runs of this node, by result.", [
    "provider",
    "result",
  ]);
  const exported = new Map<string, readonly [provider: string, tokenClass: string]>();
  return {
    setBreaches(entries) {
      const counts = new Map<string, number>();
      for (const { provider, judged } of entries) {
        for (const { class: name, breach } of judged?.classes ?? []) {
          const key = `${provider}\u0000${name}`;
          exported.set(key, [provider, name]);
          counts.set(key, (counts.get(key) ?? 0) + (breach ? 1 : 0));
        }
      }
      // An exported series stays and returns to 0.
      for (const [key, labels] of exported) gauge.with(...labels).set(counts.get(key) ?? 0);
    },
    countRound: (provider, isHad) => rounds.with(provider, isHad ? "fetched" : "failed").inc(),
  };
}
