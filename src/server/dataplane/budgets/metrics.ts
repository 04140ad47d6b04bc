/** Metrics of budgets. Names of budgets come from the configuration. */
import { type Counter, type Instruments, LATENCY_BOUNDS_SECONDS } from "../../../base/index.ts";
import type { BudgetRefusal, LedgerCounts } from "../../core/budgets/index.ts";

type CarriedReport = "answered" | "refused" | "lost";

export interface BudgetMetrics {
  charged(budget: string, units: number): void;
  refused(budget: string, code: BudgetRefusal["code"]): void;
  /** Records the seconds that a request waited for an allowance, whatever the outcome. */
  waited(seconds: number): void;
  unpriced(budget: string): void;
  reported(outcome: CarriedReport): void;
  /** Updates the counters from the ledger's totals. */
  follow(counts: LedgerCounts): void;
}

/** Creates the metrics. `buckets` and `held` are called at each scrape. */
export function createBudgetMetrics(
  instruments: Instruments,
  buckets: () => number,
  held: () => number,
): BudgetMetrics {
  const units = instruments.counter("gateway_budget_units_total", "Cost units charged to budgets by this node.", [
    "budget",
  ]);
  const refusals = instruments.counter(
    "gateway_budget_refusals_total",
    "Requests and sessions that a budget refused.",
    ["budget", "code"],
  );
  const waits = instruments
    .histogram(
      "gateway_budget_wait_seconds",
      "How long requests were held up for an allowance of the cluster; most are not and do not count here.",
      LATENCY_BOUNDS_SECONDS,
    )
    .with();
  const unpriced = instruments.counter(
    "gateway_budget_cost_errors_total",
    "Requests whose cost expression failed; the reserved amount is charged instead.",
    ["budget"],
  );
  const reports = instruments.counter("gateway_budget_reports_total", "Reports to the cluster, by what came of them.", [
    "outcome",
  ]);
  const excess = instruments
    .counter(
      "gateway_budget_excess_units_total",
      "Cost units charged above what requests had reserved: no budget is overspent by more.",
    )
    .with();
  const unreported = instruments
    .counter(
      "gateway_budget_unreported_units_total",
      "Cost units that could not be reported before their window was dropped; anything but 0 calls for a look.",
    )
    .with();
  const unreportedUnits = instruments
    .counter(
      "gateway_budget_untold_units_total",
      "Cost units charged for processes of this node that ended before they could tell what they had used.",
    )
    .with();
  instruments.observedGauge("gateway_budget_buckets", "Buckets that this node keeps an account of.", buckets);
  instruments.observedGauge(
    "gateway_budget_held_units",
    "Cost units that were handed to this node and that nothing uses, over all budgets, a few seconds ago at most.",
    held,
  );

  // Counters by budget are cached, because joining label values costs more than counting.
  const charged = new Map<string, Counter>();
  let seenExcess = 0;
  let seenUnreported = 0;
  let seenUntold = 0;
  return {
    charged(budget, by) {
      let counter = charged.get(budget);
      if (counter === undefined) {
        counter = units.with(budget);
        charged.set(budget, counter);
      }
      counter.inc(by);
    },
    refused: (budget, code) => refusals.with(budget, code).inc(),
    waited: (seconds) => waits.observe(seconds),
    unpriced: (budget) => unpriced.with(budget).inc(),
    reported: (outcome) => reports.with(outcome).inc(),
    follow(counts) {
      if (counts.excess !== seenExcess) excess.inc(counts.excess - seenExcess);
      if (counts.unreported !== seenUnreported) unreported.inc(counts.unreported - seenUnreported);
      if (counts.untold !== seenUntold) unreportedUnits.inc(counts.untold - seenUntold);
      seenUntold = counts.untold;
      seenExcess = counts.excess;
      seenUnreported = counts.unreported;
    },
  };
}
