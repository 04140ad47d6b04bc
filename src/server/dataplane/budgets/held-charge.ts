/** Reservation and charge of one request: usage is priced at the provider where it occurred, and passed to the ledger. */
import {
  abort,
  chargeRunning,
  NO_USAGE,
  observeCost,
  type PriceTarget,
  type Reservation,
  release,
  settle,
  startNextAttempt,
  type Usage,
} from "../../core/budgets/index.ts";
import type { Accounts } from "./accounts.ts";
import type { Charge, Spending } from "./types.ts";

/** This is a class because one is created per request: methods of an object literal would be created each time. */
export class HeldCharge implements Charge {
  readonly #accounts: Accounts;
  readonly #spending: Spending;
  readonly #reservation: Reservation;
  #at: PriceTarget;
  #isAttempted = false;

  /** Creates the charge. `reservation` must be in state `held`. */
  constructor(accounts: Accounts, spending: Spending, reservation: Reservation) {
    this.#accounts = accounts;
    this.#spending = spending;
    this.#reservation = reservation;
    this.#at = spending.at;
  }

  get spent(): number {
    return this.#reservation.spent;
  }

  get reserved(): number {
    return this.#reservation.amount;
  }

  get needed(): Charge["needed"] {
    return { least: this.#reservation.least, most: this.#reservation.hard };
  }

  attempt(at: PriceTarget): void {
    this.#at = at;
    if (this.#isAttempted) {
      startNextAttempt(this.#accounts.ledger, this.#reservation, this.#accounts.now());
      this.#accounts.onLedgerChanged();
    }
    this.#isAttempted = true;
  }

  spend(usage: Usage): void {
    const { rule, demand } = this.#spending;
    if (demand.kind === "flat") return;
    const cost = rule.cost(usage, this.#at);
    if (cost.kind === "error") return; // the request is charged at its end instead
    chargeRunning(this.#accounts.ledger, this.#reservation, cost.units, this.#accounts.now());
    this.#accounts.onLedgerChanged();
  }

  settle(usage: Usage | undefined): void {
    if (this.#reservation.state !== "held") return;
    const { demand, averageKey } = this.#spending;
    const { ledger, averages } = this.#accounts;
    const units = this.#unitsOf(usage);
    if (units === undefined) {
      abort(ledger, this.#reservation, undefined, this.#accounts.now());
    } else {
      settle(ledger, this.#reservation, units, this.#accounts.now());
      if (demand.kind === "tokens") observeCost(averages, averageKey, units);
    }
    this.#onEnded();
  }

  settleUnused(): void {
    if (this.#reservation.state !== "held") return;
    const { demand, averageKey } = this.#spending;
    if (demand.kind === "tokens") observeCost(this.#accounts.averages, averageKey, 0);
    this.release();
  }

  settleDoubtful(usage: Usage | undefined): void {
    if (this.#reservation.state !== "held") return;
    const units = Math.max(this.#unitsOf(usage) ?? 0, this.reserved);
    settle(this.#accounts.ledger, this.#reservation, units, this.#accounts.now());
    this.#onEnded();
  }

  abort(usage: Usage | undefined, atLeast?: Usage): void {
    if (this.#reservation.state !== "held") return;
    const floor = usage === undefined ? (this.#unitsOf(atLeast) ?? 0) : 0;
    const units = floor > this.reserved ? floor : this.#unitsOf(usage);
    abort(this.#accounts.ledger, this.#reservation, units, this.#accounts.now());
    this.#onEnded();
  }

  settleTimedOut(): void {
    if (this.#reservation.state !== "held") return;
    const { demand } = this.#spending;
    if (demand.kind !== "tokens") {
      this.release();
      return;
    }
    const { input } = demand.bounds;
    const units = this.#unitsOf({ ...NO_USAGE, inputTokens: input, totalTokens: input });
    abort(this.#accounts.ledger, this.#reservation, units, this.#accounts.now());
    this.#onEnded();
  }

  release(): void {
    if (this.#reservation.state !== "held") return;
    release(this.#accounts.ledger, this.#reservation, this.#accounts.now());
    this.#onEnded();
  }

  /** Returns the cost in units, or `undefined` if it is unknown. */
  #unitsOf(usage: Usage | undefined): number | undefined {
    const { rule, demand } = this.#spending;
    if (demand.kind === "flat") return demand.units;
    if (usage === undefined) return undefined;
    const cost = rule.cost(usage, this.#at);
    if (cost.kind === "units") return cost.units;
    this.#accounts.metrics.countCostError(rule.name);
    return undefined;
  }

  #onEnded(): void {
    this.#accounts.metrics.addUnits(this.#spending.rule.name, this.#reservation.spent);
    this.#accounts.onLedgerChanged();
  }
}
