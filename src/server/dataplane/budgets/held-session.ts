/**
 * What one WebSocket session holds and is charged. Its flat cost is held from the start and charged with the first of
 * its answers, or at its end; an answer that overdraws the bucket has the cluster asked whether there is more.
 * Source: specification document 3 (`cost_per_session`); cluster reference, 7.2 rule 4.
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

/** `reservation`: held, of a session. */
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
    // Decided only after the session was over: nobody is refused anything any more.
    if (reservation.state !== "held") return;
    isBroken = true;
    accounts.refusal(spending, cover);
    onBroken();
  };

  /** Whether the bucket has more to give, be it one unit beyond what is owed. */
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
