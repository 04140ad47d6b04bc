/**
 * A budget of the deployment document, compiled: what a limit is, how usage is priced, and which bucket pays.
 * Source: document 3, `budgets[]`; cluster reference, 7.2 (bucket ids).
 */

import { type CompileCost, type CostOf, type CostType, constantUnits, expressionCost, tokenCost } from "./cost.ts";
import { MAX_UNITS } from "./units.ts";
import { windowLength } from "./windows.ts";

/** As the document has it, with its defaults filled in. */
export interface BudgetConfig {
  readonly name: string;
  readonly cost?: { readonly type: CostType; readonly cel?: string | undefined } | undefined;
  readonly limit: number;
  readonly window: string;
  readonly shared: boolean;
}

/** What the ledger enforces of a budget. */
export interface Limit {
  readonly windowMs: number;
  /** Cost units in a window. */
  readonly limit: number;
  /**
   * Of the configuration that the limit stands in. The same on every node, and higher with every configuration, also
   * when an older document is put back: a limit of a lower revision does not replace one of a higher.
   */
  readonly limitRev: number;
}

export interface BudgetRule extends Limit {
  readonly name: string;
  readonly isShared: boolean;
  readonly costType: CostType;
  readonly cost: CostOf;
  /** What a request costs, whatever it uses; left out where that depends. */
  readonly constantCost?: number;
}

export type CompiledBudget =
  | { readonly kind: "rule"; readonly rule: BudgetRule }
  /** `key`: of `budgets[]`, where the problem is. */
  | { readonly kind: "invalid"; readonly key: "window" | "cost"; readonly message: string };

export function compileBudget(config: BudgetConfig, limitRev: number, compileCost: CompileCost): CompiledBudget {
  const length = windowLength(config.window);
  if (length.kind === "invalid") return { kind: "invalid", key: "window", message: length.message };
  const costType = config.cost?.type ?? "TotalToken";
  let cost: CostOf;
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
 * Who pays: all that refer to a shared budget together, otherwise each principal alone. A principal is the id of a
 * virtual key, or a digest of a token's issuer and subject, which may be of any length and hold any character. To be
 * made once a caller, not once a request.
 */
export function bucketName(budget: string, isShared: boolean, principal: string): string {
  const shared = `b/${segment(budget)}`;
  return isShared ? shared : `${shared}/k/${segment(principal)}`;
}

/** Without a slash, so that no name of a budget makes the bucket of another. */
const segment = (name: string): string => name.replaceAll("%", "%25").replaceAll("/", "%2F");
