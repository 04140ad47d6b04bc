/**
 * Reservation and charge of one WebSocket session. The flat cost is reserved at the start and charged with the first answer, or
 * at the end. If an answer overdraws the bucket, the cluster is asked for more. Source: specification document 3
 * (`cost_per_session`); cluster reference, 7.2 rule 4.
 */
import {
  bucketOf,
  flatDemand,
  type Reservation,
  release,
  reserve,
  settle,
  spend,
  type Usage,
  wholeUnits,
} from "../../core/budgets/index.ts";
import type { Accounts } from "./accounts.ts";
import type { SessionCharge, Spending } from "./types.ts";

/** Creates the charge. `reservation`: a reservation for a session, in state `held`. */
export function heldSession(
  accounts: Accounts,
  spending: Spending,
  reservation: Reservation,
  onBroken: () => void,
): SessionCharge {
  const { ledger, metrics } = accounts;
  const { rule, at, bucket: name } = spending;
  const flat = reservation.amount;
  let total = flat;
  let counted = 0;
  let isAsking = false;
  let isBroken = false;

  const count = (): void => {
    const units = reservation.spent - counted;
    counted = reservation.spent;
    if (units > 0) metrics.charged(rule.name, units);
  };

  const judge = (cover: Reservation | undefined): void => {
    isAsking = false;
    if (cover?.state === "held") {
      release(ledger, cover, accounts.now());
      return;
    }
    // The session ended before the decision, so there is nothing to refuse.
    if (reservation.state !== "held") return;
    isBroken = true;
    accounts.refusal(spending, cover);
    onBroken();
  };

  /** Requests one unit from the bucket beyond its debt, to find out whether anything is left. */
  const ask = (): void => {
    isAsking = true;
    const bucket = bucketOf(ledger, name, rule);
    const cover = bucket && reserve(ledger, bucket, flatDemand(1), accounts.now());
    if (cover?.state === "waiting") accounts.whenDecided(cover, () => judge(cover));
    else judge(cover);
  };

  return {
    get spent() {
      return reservation.spent;
    },
    needed: { least: flat, most: flat },
    spend(usage, isDoubtful = false) {
      if (reservation.state !== "held") return;
      total = wholeUnits(total + Math.max(unitsOf(usage), isDoubtful ? flat : 0));
      const isCovered = spend(ledger, reservation, total, accounts.now());
      count();
      if (!isCovered && !isAsking && !isBroken) ask();
      accounts.changed();
    },
    settle() {
      settle(ledger, reservation, total, accounts.now());
      count();
      accounts.changed();
    },
    release() {
      release(ledger, reservation, accounts.now());
      accounts.changed();
    },
  };

  function unitsOf(usage: Usage): number {
    const cost = rule.cost(usage, at);
    if (cost.kind === "units") return cost.units;
    metrics.unpriced(rule.name);
    return flat;
  }
}
