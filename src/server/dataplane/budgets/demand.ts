/** What a request is to hold, and what it is told when it cannot. */
import { GatewayError } from "../../../base/index.ts";
import {
  type Averages,
  averageOf,
  type BudgetRefusal,
  type Demand,
  estimate,
  flatDemand,
} from "../../core/budgets/index.ts";
import type { BudgetMetrics } from "./metrics.ts";
import type { Spending } from "./types.ts";

/** Held where the price of the request's bounds cannot be told: it is not free, and no more is known. */
const UNKNOWN = flatDemand(1);

export function demandOf({ rule, demand, at, like }: Spending, averages: Averages, metrics: BudgetMetrics): Demand {
  if (demand.kind !== "tokens") return flatDemand(demand.units);
  const estimated = estimate(rule, at, demand.bounds, averageOf(averages, like));
  if (estimated.kind === "demand") return estimated.demand;
  metrics.unpriced(rule.name);
  return UNKNOWN;
}

/** Says of whose budget, and when it resets; never what others used. `endsAt`: of the window, milliseconds since 1970. */
export function refusalFor(
  { rule, bucket }: Spending,
  { code, retryAfterSeconds }: BudgetRefusal,
  { endsAt, needed }: { readonly endsAt: number; readonly needed: number },
): GatewayError {
  return new GatewayError(code, messageOf(code, rule.name, { endsAt, isTooLarge: needed > rule.limit }), {
    retryAfterSeconds,
    by: { kind: "budget", name: rule.name, bucket },
  });
}

function messageOf(
  code: BudgetRefusal["code"],
  budget: string,
  { endsAt, isTooLarge }: { readonly endsAt: number; readonly isTooLarge: boolean },
): string {
  if (code === "budget_unavailable") {
    return `Budget ${budget} could not be charged: this node's part of it is spent, and the cluster gave no more in time.`;
  }
  const resets = new Date(endsAt).toISOString();
  return isTooLarge
    ? `This request may cost more than budget ${budget} allows in a whole window, which resets at ${resets}. Ask for fewer output tokens.`
    : `Budget ${budget} has too little left for this request. It resets at ${resets}.`;
}
