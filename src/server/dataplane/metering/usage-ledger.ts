/** Write-only view of the usage ledger for the data plane. */
import type { Use } from "../../core/budgets/index.ts";

export interface UsageLedger {
  /** Adds to the ledger in memory. Never waits and never throws. */
  add(use: Use): void;
}
