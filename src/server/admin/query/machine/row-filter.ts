/** Evaluates a condition over a single column for a value, without the engine: rows for which it is not true are not sent on. */

import type { Expr, Value } from "../plan.ts";
import type { Cell } from "./compare.ts";
import { isAmong, type Operations, toCondition } from "./scalar-operations.ts";

interface EvaluationContext {
  readonly operations: Operations;
  /** Current time, in RFC 3339. */
  readonly now: string;
}

/** Returns whether the condition may be true for the value. Also true if it cannot be evaluated: the statement reports that. */
export function mayBeTrue(condition: Expr, value: Value, context: EvaluationContext): boolean {
  try {
    return toCondition(evaluate(condition, value, context)) === true;
  } catch {
    return true;
  }
}

function evaluate(expr: Expr, value: Value, context: EvaluationContext): Cell {
  switch (expr.kind) {
    case "value":
      return expr.value;
    case "now":
      return context.now;
    case "column":
      return value;
    case "call":
      return context.operations[expr.operation](...expr.args.map((arg) => evaluate(arg, value, context)));
    case "in-values":
      return isAmong(evaluate(expr.operand, value, context), expr.values);
    default:
      throw new Error(`a condition over one column holds ${expr.kind}`);
  }
}
