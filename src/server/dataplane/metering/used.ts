/** The ledger of usage as the data plane has it: it is told, and asked nothing. */
import type { Use } from "../../core/budgets/index.ts";

export interface UsageLedger {
  /** In memory; waits for nothing and never throws. */
  add(use: Use): void;
}
