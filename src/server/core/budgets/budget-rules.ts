/**
 * Compiles a budget of the deployment document: its limit, the price of usage, and the bucket that pays. Source: document 3,
 * `budgets[]`; cluster reference, 7.2 (bucket ids).
 */

import { windowLength } from "./budget-windows.ts";
import {
  type CompileCost,
  type CostFunction,
  type CostType,
  constantUnits,
  expressionCost,
  tokenCost,
} from "./cost-expression.ts";
import { MAX_UNITS } from "./cost-units.ts";

/** Budget as in the document, with defaults. */
interface BudgetConfig {
  readonly name: string;
  readonly cost?: { readonly type: CostType; readonly cel?: string | undefined } | undefined;
  readonly limit: number;
  readonly window: string;
  readonly shared: boolean;
}

/** Part of a budget that the ledger enforces. */
export interface Limit {
  readonly windowMs: number;
  /** Maximum cost units in a window. */
  readonly limit: number;
  /**
   * Revision of the configuration with this limit. It is equal on every node and grows with every configuration, even if an
   * older document is restored. A limit never replaces one of a higher revision.
   */
  readonly limitRev: number;
}

export interface BudgetRule extends Limit {
  readonly name: string;
  readonly isShared: boolean;
  readonly costType: CostType;
  readonly cost: CostFunction;
  /** Cost of every request, if it does not depend on usage; otherwise absent. */
  readonly constantCost?: number;
}

type CompiledBudget =
  | { readonly kind: "rule"; readonly rule: BudgetRule }
  /** `key` is the key of `budgets[]` that has the problem. */
  | { readonly kind: "invalid"; readonly key: "window" | "cost"; readonly message: string };

export function compileBudget(config: BudgetConfig, limitRev: number, compileCost: CompileCost): CompiledBudget {
  const length = windowLength(config.window);
  if (length.kind === "invalid") return { kind: "invalid", key: "window", message: length.message };
  const costType = config.cost?.type ?? "TotalToken";
  let cost: CostFunction;
  let constant: number | undefined;
  if (costType === "CEL") {
    const compiled = compileCost(config.cost?.cel ?? "");
    if (compiled.kind === "invalid") return { kind: "invalid", key: "cost", message: compiled.message };
    cost = expressionCost(compiled.evaluate);
    constant = constantUnits(compiled.constant);
  } else {
    cost = tokenCost(costType);
  }
  const limit = Math.min(config.limit, MAX_UNITS);
  const { name, shared: isShared } = config;
  const rule = { name, isShared, windowMs: length.windowMs, limit, limitRev, costType, cost };
  return { kind: "rule", rule: constant === undefined ? rule : { ...rule, constantCost: constant } };
}

/**
 * Returns the bucket's name: one bucket for all callers if the budget is shared, otherwise one per principal. A principal is the
 * id of a virtual key, or a digest of a token's issuer and subject, which may have any length and any character. Call it once
 * per caller, not per request.
 */
export function bucketName(budget: string, isShared: boolean, principal: string): string {
  const shared = `b/${segment(budget)}`;
  return isShared ? shared : `${shared}/k/${segment(principal)}`;
}

/** Escapes slashes, so that no budget's name can equal the bucket of another. */
const segment = (name: string): string => name.replaceAll("%", "%25").replaceAll("/", "%2F");
