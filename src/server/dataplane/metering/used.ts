/** Usage ledger as seen by the data plane, which only writes to it. */
import type { Use } from "../../core/budgets/index.ts";

export interface UsageLedger {
  /** Adds to the ledger in memory. Never waits and never throws. */
  add(use: Use): void;
}
