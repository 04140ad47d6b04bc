/** Evaluates a condition over a single column for a value, without the engine: rows for which it is not true are not sent on. */

import type { Expr, Value } from "../plan.ts";
import type { Cell } from "./compare.ts";
import { isAmong, type Operations, truth } from "./values.ts";

interface Given {
  readonly applied: Operations;
  /** Current time, in RFC 3339. */
  readonly now: string;
}

/** Returns whether the condition may be true for the value. Also true if it cannot be evaluated: the statement reports that. */
export function mayHold(condition: Expr, value: Value, given: Given): boolean {
  try {
    return truth(computed(condition, value, given)) === true;
  } catch {
    return true;
  }
}

function computed(expr: Expr, value: Value, given: Given): Cell {
  switch (expr.kind) {
    case "value":
      return expr.value;
    case "now":
      return given.now;
    case "column":
      return value;
    case "call":
      return given.applied[expr.operation](...expr.args.map((arg) => computed(arg, value, given)));
    case "in-values":
      return isAmong(computed(expr.operand, value, given), expr.values);
    default:
      throw new Error(`a condition over one column holds ${expr.kind}`);
  }
}
