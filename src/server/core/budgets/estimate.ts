/**
 * Estimates what to reserve for a request when only bounds of its tokens are known.
 *
 * `hard` is an upper bound of the cost, `soft` the recent cost of similar requests. For a class of tokens the bound is exact.
 * For an expression it is the largest cost at the corners of the possible usage (cached, newly cached or plain input, reasoning
 * or plain output), which bounds every expression that is linear or convex in the counts. Source: cluster reference, 7.2 rule 1.
 */

import { FifoMap } from "../../../base/index.ts";
import type { Usage } from "../dialects/index.ts";
import type { BudgetRule } from "./budget-rules.ts";
import type { PriceTarget } from "./cost-expression.ts";
import { MAX_UNITS, wholeUnits } from "./cost-units.ts";

export interface TokenBounds {
  /** Upper bound of the request's input tokens. A text has at most as many tokens as bytes. */
  readonly input: number;
  /** `max_tokens` of the request, or else the maximum output of the model. */
  readonly output: number;
  /** True if the request itself bounds its output. */
  readonly hasOutputLimit: boolean;
}

/**
 * Units to reserve: `hard` when little of the budget is left, `soft` otherwise; `soft <= hard`. `least` is set only for a
 * request that does not state its maximum output: if less than `hard` is left, it may still run alone if at least `least` is
 * left.
 */
export interface Demand {
  readonly hard: number;
  readonly soft: number;
  readonly least?: number;
}

/** Returns the demand of a call or session whose cost is known beforehand. */
export const flatDemand = (units: number): Demand => ({ hard: units, soft: units });

type Estimate =
  | { readonly kind: "demand"; readonly demand: Demand }
  | { readonly kind: "error"; readonly message: string };

/**
 * Estimates the demand of a request. `average` is the recent cost of similar requests. It is `undefined` before the first one
 * has ended; then the upper bound is reserved, so that the first use of a bucket does not exceed it.
 *
 * For a request that does not state its maximum output, the upper bound is the cost at the usual maximum of models, but at most
 * the whole limit, and at least one unit, so that a limit of 0 refuses it. If less than that is left, the request may run alone
 * with all of it, provided that at least `average` is left, or, without an average, the cost of its text at four bytes per token.
 */
export function estimate(
  { cost, costType, limit }: Pick<BudgetRule, "cost" | "costType" | "limit">,
  at: PriceTarget,
  bounds: TokenBounds,
  average: number | undefined,
): Estimate {
  let bound = 0;
  for (const usage of costType === "CEL" ? cornerUsages(bounds) : [maximumUsage(bounds)]) {
    const corner = cost(usage, at);
    if (corner.kind === "error") return corner;
    bound = Math.max(bound, corner.units);
  }
  const hard = bounds.hasOutputLimit ? bound : Math.min(bound, Math.max(1, limit));
  const soft = average === undefined ? hard : Math.min(hard, Math.max(1, Math.ceil(average)));
  if (bounds.hasOutputLimit) return { kind: "demand", demand: { hard, soft } };
  const textCost = cost(maximumUsage({ ...bounds, input: bounds.input / BYTES_PER_TOKEN, output: 1 }), at);
  const least = average !== undefined || textCost.kind === "error" ? soft : Math.min(hard, Math.max(1, textCost.units));
  return { kind: "demand", demand: { hard, soft, least } };
}

const BYTES_PER_TOKEN = 4;

/** Returns a usage with every class at its own maximum. No real usage reaches all of them at once. */
function maximumUsage({ input, output }: TokenBounds): Usage {
  const inputTokens = wholeUnits(input);
  const outputTokens = wholeUnits(output);
  return {
    inputTokens,
    outputTokens,
    totalTokens: Math.min(inputTokens + outputTokens, MAX_UNITS),
    cachedInputTokens: inputTokens,
    cacheCreationInputTokens: inputTokens,
    reasoningTokens: outputTokens,
  };
}

/** Returns the largest usages within the bounds: all input as plain, cached or newly cached, each with and without reasoning. */
function cornerUsages(bounds: TokenBounds): readonly Usage[] {
  const { inputTokens, outputTokens, totalTokens } = maximumUsage(bounds);
  const corner = (cachedInputTokens: number, cacheCreationInputTokens: number, reasoningTokens: number): Usage => ({
    inputTokens,
    outputTokens,
    totalTokens,
    cachedInputTokens,
    cacheCreationInputTokens,
    reasoningTokens,
  });
  return [
    corner(0, 0, 0),
    corner(0, 0, outputTokens),
    corner(inputTokens, 0, 0),
    corner(inputTokens, 0, outputTokens),
    corner(0, inputTokens, 0),
    corner(0, inputTokens, outputTokens),
  ];
}

/** Moving averages of cost, by key, such as profile and model. */
export interface Averages {
  readonly byKey: FifoMap<string, number>;
}

/** Maximum number of averages; beyond it the oldest is dropped. A key may contain a model's name, which callers choose. */
const MAX_AVERAGES = 10_000;
/** Weight of the newest cost; about the last 16 costs matter. */
const WEIGHT = 1 / 16;

export const createAverages = (): Averages => ({ byKey: new FifoMap() });

export const averageOf = (averages: Averages, key: string): number | undefined => averages.byKey.get(key);

export function observeCost(averages: Averages, key: string, units: number): void {
  const before = averages.byKey.get(key);
  if (before === undefined && averages.byKey.size >= MAX_AVERAGES) {
    const oldest = averages.byKey.oldest();
    if (oldest !== undefined) averages.byKey.delete(oldest.key);
  }
  averages.byKey.set(key, before === undefined ? units : before + (units - before) * WEIGHT);
}
