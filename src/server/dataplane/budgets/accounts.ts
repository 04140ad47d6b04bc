/** The ledger of this node with its clock and callbacks, shared by reservations, charges and reports. */
import type { GatewayError } from "../../../base/index.ts";
import type { Averages, Ledger, Reservation } from "../../core/budgets/index.ts";
import type { BudgetMetrics } from "./metrics.ts";
import type { Spending } from "./types.ts";

export interface Accounts {
  readonly ledger: Ledger;
  readonly averages: Averages;
  readonly metrics: BudgetMetrics;
  /** Returns the later of this node's clock and the cluster's log time, in milliseconds since 1970. */
  now(): number;
  /** Must be called after each call that may have changed the ledger. Delivers decided reservations and schedules reports. */
  onLedgerChanged(): void;
  /** Calls back once a waiting reservation is decided, at most 250 ms from now. */
  whenDecided(reservation: Reservation, decided: () => void): void;
  /**
   * Returns the refusal for a failed reservation, and counts it. `reservation`: `undefined` if the bucket itself was
   * unavailable.
   */
  refusal(spending: Spending, reservation: Reservation | undefined): GatewayError;
}
