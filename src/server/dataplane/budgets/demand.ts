/** Computes the demand of a request, and the refusal if it cannot be met. */
import { GatewayError, type RefusalCause } from "../../../base/index.ts";
import {
  type Averages,
  averageOf,
  type BudgetRefusal,
  type BudgetRule,
  type Demand,
  estimate,
  flatDemand,
} from "../../core/budgets/index.ts";
import type { BudgetMetrics } from "./metrics.ts";
import type { Spending } from "./types.ts";

/** Demand of a request whose price cannot be calculated: one unit, because it is not free. */
const UNKNOWN = flatDemand(1);

/** Returns the cost units to reserve for a request, from its bounds and the average cost of earlier ones. */
export function demandOf(
  { rule, demand, at, averageKey }: Spending,
  averages: Averages,
  metrics: BudgetMetrics,
): Demand {
  if (demand.kind !== "tokens") return flatDemand(demand.units);
  const estimated = estimate(rule, at, demand.bounds, averageOf(averages, averageKey));
  if (estimated.kind === "demand") return estimated.demand;
  metrics.countCostError(rule.name);
  return UNKNOWN;
}

/**
 * Returns the refusal, which names the budget, the units that the request needed and the end of the window. The remaining units
 * are only shown for a budget of one caller; for a shared one they would reveal what others used.
 *
 * `endsAt`: end of the window, in milliseconds since 1970. `soft`: units that the request is expected to cost.
 */
export function refusalFor(
  { rule, bucket }: Spending,
  refusal: BudgetRefusal,
  {
    endsAt,
    soft,
    needed,
  }: { readonly endsAt: number; readonly soft: number; readonly needed?: RefusalCause["needed"] },
): GatewayError {
  const { code, retryAfterSeconds } = refusal;
  return new GatewayError(code, messageOf(rule, refusal, { endsAt, isTooLarge: soft > rule.limit }), {
    retryAfterSeconds,
    by: { kind: "budget", name: rule.name, bucket, ...(needed !== undefined && { needed }) },
  });
}

function messageOf(
  { name: budget, isShared, limit }: BudgetRule,
  { code, needed, left, isUnbounded = false }: BudgetRefusal,
  { endsAt, isTooLarge }: { readonly endsAt: number; readonly isTooLarge: boolean },
): string {
  if (code === "budget_unavailable") {
    return `Budget ${budget} could not be charged: this node has used its share, and the cluster did not grant more in time.`;
  }
  if (limit === 0) return `Budget ${budget} allows no requests: its limit is 0.`;
  const resets = new Date(endsAt).toISOString();
  if (!isTooLarge && needed !== undefined && left !== undefined && needed > left && left > 0) {
    const units = needed.toLocaleString("en-US");
    const without = isUnbounded ? " without `max_tokens`" : "";
    const remaining = isShared ? "more than is left" : `and ${left.toLocaleString("en-US")} are left`;
    const remedy = isUnbounded ? "State `max_tokens`" : "Ask for fewer output tokens";
    return `Budget ${budget} refuses this request: it needs ${units} units${without}, ${remaining}. ${remedy}, or wait until it resets at ${resets}.`;
  }
  return isTooLarge
    ? `This request may cost more than budget ${budget} allows in a whole window, which resets at ${resets}. Ask for fewer output tokens.`
    : `Budget ${budget} has too little left for this request. It resets at ${resets}.`;
}
