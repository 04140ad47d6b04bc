/**
 * Computes the cost of usage: the count of one class of tokens, or the value of an expression over all counts.
 *
 * The module that compiles budgets passes in the expression engine as a function (`CompileCost`). Source: document 3,
 * `budgets[].cost`; decisions, section 6 (`cost.cel` variables).
 */

import type { Usage } from "../dialects/index.ts";
import { MAX_UNITS } from "./cost-units.ts";

/** Token count of each cost type. */
const CLASSES = {
  InputToken: (usage) => usage.inputTokens,
  OutputToken: (usage) => usage.outputTokens,
  TotalToken: (usage) => usage.totalTokens,
  CachedInputToken: (usage) => usage.cachedInputTokens,
  CacheCreationInputToken: (usage) => usage.cacheCreationInputTokens,
  ReasoningToken: (usage) => usage.reasoningTokens,
} as const satisfies Record<string, (usage: Usage) => number>;

export type TokenClass = keyof typeof CLASSES;
export type CostType = TokenClass | "CEL";

/** Variables of a cost expression, by name. Counts are CEL ints. */
export interface CostVariables {
  readonly model: string;
  /** Name of the provider. */
  readonly backend: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly reasoning_tokens: number;
}

/** Result of an expression; a value that is not a number is an error. `message` must not quote anything of the request. */
export type CostValue =
  | { readonly kind: "value"; readonly value: number | bigint }
  | { readonly kind: "error"; readonly message: string };
type EvaluateCost = (variables: CostVariables) => CostValue;

type CompiledCost =
  /** `constant` is the value if it does not depend on usage; otherwise absent. */
  | { readonly kind: "compiled"; readonly evaluate: EvaluateCost; readonly constant?: number }
  | { readonly kind: "invalid"; readonly message: string };
/** Port to the CEL engine: checks types against `CostVariables` and limits the cost of an evaluation. */
export type CompileCost = (expression: string) => CompiledCost;

/** Cost in units, or an error; then the reserved amount is charged. */
type Cost = { readonly kind: "units"; readonly units: number } | { readonly kind: "error"; readonly message: string };

/** Target of a request, which its price may depend on. */
export interface PriceTarget {
  readonly model: string;
  readonly backend: string;
}
export type CostFunction = (usage: Usage, at: PriceTarget) => Cost;

export function tokenCost(type: TokenClass): CostFunction {
  const count = CLASSES[type];
  return (usage) => unitsOf(count(usage));
}

export function expressionCost(evaluate: EvaluateCost): CostFunction {
  return (usage, { model, backend }) => {
    const result = evaluate({
      model,
      backend,
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      total_tokens: usage.totalTokens,
      cached_input_tokens: usage.cachedInputTokens,
      cache_creation_input_tokens: usage.cacheCreationInputTokens,
      reasoning_tokens: usage.reasoningTokens,
    });
    return result.kind === "error" ? result : unitsOf(Number(result.value));
  };
}

/** Returns the units of a cost that does not depend on usage. */
export function constantUnits(value: number | undefined): number | undefined {
  const cost = value === undefined ? undefined : unitsOf(value);
  return cost?.kind === "units" ? cost.units : undefined;
}

/**
 * Converts a cost to units. Rounds up, and rejects negative costs, which would add to the budget, and values that are too large.
 */
function unitsOf(value: number): Cost {
  if (!(value >= 0)) return { kind: "error", message: "the cost is negative or not a number" };
  if (value > MAX_UNITS) return { kind: "error", message: "the cost is larger than a budget can count" };
  return { kind: "units", units: Math.ceil(value) };
}
