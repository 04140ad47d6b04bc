/**
 * Reservation and charge of one WebSocket session. The flat cost is reserved at the start and charged with the first answer, or
 * at the end. If an answer overdraws the bucket, the cluster is asked for more. Source: specification document 3
 * (`cost_per_session`); cluster reference, 7.2 rule 4.
 */
import {
  bucketOf,
  chargeRunning,
  flatDemand,
  type Reservation,
  release,
  reserve,
  settle,
  type Usage,
  wholeUnits,
} from "../../core/budgets/index.ts";
import type { Accounts } from "./accounts.ts";
import type { SessionCharge, Spending } from "./types.ts";

/** Creates the charge. `reservation`: a reservation for a session, in state `held`. */
export function createSessionCharge(
  accounts: Accounts,
  spending: Spending,
  reservation: Reservation,
  onExhausted: () => void,
): SessionCharge {
  const { ledger, metrics } = accounts;
  const { rule, at, bucket: name } = spending;
  const flat = reservation.amount;
  let total = flat;
  let counted = 0;
  let isProbing = false;
  let isExhausted = false;

  const recordCharged = (): void => {
    const units = reservation.spent - counted;
    counted = reservation.spent;
    if (units > 0) metrics.addUnits(rule.name, units);
  };

  const onProbeDecided = (probe: Reservation | undefined): void => {
    isProbing = false;
    if (probe?.state === "held") {
      release(ledger, probe, accounts.now());
      return;
    }
    // The session ended before the decision, so there is nothing to refuse.
    if (reservation.state !== "held") return;
    isExhausted = true;
    accounts.refusal(spending, probe);
    onExhausted();
  };

  /** Requests one unit from the bucket beyond its debt, to find out whether anything is left. */
  const probeBucket = (): void => {
    isProbing = true;
    const bucket = bucketOf(ledger, name, rule);
    const probe = bucket && reserve(ledger, bucket, flatDemand(1), accounts.now());
    if (probe?.state === "waiting") accounts.whenDecided(probe, () => onProbeDecided(probe));
    else onProbeDecided(probe);
  };

  return {
    get spent() {
      return reservation.spent;
    },
    needed: { least: flat, most: flat },
    spend(usage, isDoubtful = false) {
      if (reservation.state !== "held") return;
      total = wholeUnits(total + Math.max(unitsOf(usage), isDoubtful ? flat : 0));
      const isCovered = chargeRunning(ledger, reservation, total, accounts.now());
      recordCharged();
      if (!isCovered && !isProbing && !isExhausted) probeBucket();
      accounts.onLedgerChanged();
    },
    settle() {
      settle(ledger, reservation, total, accounts.now());
      recordCharged();
      accounts.onLedgerChanged();
    },
    release() {
      release(ledger, reservation, accounts.now());
      accounts.onLedgerChanged();
    },
  };

  function unitsOf(usage: Usage): number {
    const cost = rule.cost(usage, at);
    if (cost.kind === "units") return cost.units;
    metrics.countCostError(rule.name);
    return flat;
  }
}
