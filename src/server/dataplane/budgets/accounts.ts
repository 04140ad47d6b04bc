/** The ledger of this node with what surrounds it, as reservations, charges and reports share it. */
import type { GatewayError } from "../../../base/index.ts";
import type { Averages, Ledger, Reservation } from "../../core/budgets/index.ts";
import type { BudgetMetrics } from "./metrics.ts";
import type { Spending } from "./types.ts";

export interface Accounts {
  readonly ledger: Ledger;
  readonly averages: Averages;
  readonly metrics: BudgetMetrics;
  /** Milliseconds since 1970, by the later of this node's clock and the cluster's log. */
  now(): number;
  /** To be called after each call that may have changed the ledger: hands on what was decided, and sees to reports. */
  changed(): void;
  /** Calls back once the reservation, which waits, is decided: at most 250 ms from now. */
  whenDecided(reservation: Reservation, decided: () => void): void;
  /** Of a reservation that came to nothing; counted. Undefined: the bucket could not be had at all. */
  refusal(spending: Spending, reservation: Reservation | undefined): GatewayError;
}
