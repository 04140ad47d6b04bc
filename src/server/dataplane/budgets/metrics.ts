/** Metrics of budgets. Names of budgets come from the configuration. */
import { type Counter, type Instruments, LATENCY_BOUNDS_SECONDS } from "../../../base/index.ts";
import type { BudgetRefusal, LedgerCounts } from "../../core/budgets/index.ts";

type ReportResult = "answered" | "refused" | "lost";

export interface BudgetMetrics {
  addUnits(budget: string, units: number): void;
  countRefusal(budget: string, code: BudgetRefusal["code"]): void;
  /** Records the seconds that a request waited for an allowance, whatever the outcome. */
  observeWait(seconds: number): void;
  countCostError(budget: string): void;
  countReport(outcome: ReportResult): void;
  /** Updates the counters from the ledger's totals. */
  updateTotals(counts: LedgerCounts): void;
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
      "Time that requests waited for a grant of the cluster. Requests that did not wait are not counted.",
      LATENCY_BOUNDS_SECONDS,
    )
    .with();
  const unpriced = instruments.counter(
    "gateway_budget_cost_errors_total",
    "Requests whose cost expression failed. The reserved amount is charged instead.",
    ["budget"],
  );
  const reports = instruments.counter(
    "gateway_budget_reports_total",
    "Usage reports of this node to the cluster, by outcome.",
    ["outcome"],
  );
  const excess = instruments
    .counter(
      "gateway_budget_excess_units_total",
      "Cost units charged above the reserved amounts, which is the most by which budgets can be overspent.",
    )
    .with();
  const unreported = instruments
    .counter(
      "gateway_budget_unreported_units_total",
      "Cost units that could not be reported to the cluster before their window was discarded. Investigate any value above 0.",
    )
    .with();
  const unreportedUnits = instruments
    .counter(
      "gateway_budget_untold_units_total",
      "Cost units charged for processes of this node that ended before they reported their usage.",
    )
    .with();
  instruments.observedGauge("gateway_budget_buckets", "Budget buckets that this node tracks.", buckets);
  instruments.observedGauge(
    "gateway_budget_held_units",
    "Cost units granted to this node and not in use, over all budgets. Updated every few seconds.",
    held,
  );

  // Counters by budget are cached, because joining label values costs more than counting.
  const charged = new Map<string, Counter>();
  let seenExcess = 0;
  let seenUnreported = 0;
  let seenPresumed = 0;
  return {
    addUnits(budget, by) {
      let counter = charged.get(budget);
      if (counter === undefined) {
        counter = units.with(budget);
        charged.set(budget, counter);
      }
      counter.inc(by);
    },
    countRefusal: (budget, code) => refusals.with(budget, code).inc(),
    observeWait: (seconds) => waits.observe(seconds),
    countCostError: (budget) => unpriced.with(budget).inc(),
    countReport: (outcome) => reports.with(outcome).inc(),
    updateTotals(counts) {
      if (counts.excess !== seenExcess) excess.inc(counts.excess - seenExcess);
      if (counts.unreported !== seenUnreported) unreported.inc(counts.unreported - seenUnreported);
      if (counts.presumed !== seenPresumed) unreportedUnits.inc(counts.presumed - seenPresumed);
      seenPresumed = counts.presumed;
      seenExcess = counts.excess;
      seenUnreported = counts.unreported;
    },
  };
}
