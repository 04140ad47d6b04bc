/** Binds a grouped SELECT: the parts after the grouping can read only its keys and its aggregates. */

import { AGGREGATE_SOURCE } from "./bind-expression.ts";
import type { Expr } from "./plan.ts";
import { columnNameAt, type Scope } from "./scope.ts";
import { invalid } from "./tokens.ts";

/** Rewrites expressions over rows to expressions over the one source of groups: the keys, then the aggregates. */
export function regrouping(keys: readonly Expr[], scope: Scope): (expr: Expr) => Expr {
  const texts = new Map(keys.map((key, index) => [JSON.stringify(key), index]));
  const regroup = (expr: Expr): Expr => {
    const key = texts.get(JSON.stringify(expr));
    if (key !== undefined) return { kind: "column", source: 0, column: key };
    switch (expr.kind) {
      case "column":
        if (expr.source === AGGREGATE_SOURCE) return { kind: "column", source: 0, column: keys.length + expr.column };
        throw notGrouped(scope, expr.source, expr.column);
      case "call":
        return { ...expr, args: expr.args.map(regroup) };
      case "in-values":
        return { ...expr, operand: regroup(expr.operand) };
      case "query":
        return {
          ...expr,
          operand: expr.operand && regroup(expr.operand),
          outer: expr.outer.map(regroup),
        };
      default:
        return expr;
    }
  };
  return regroup;
}

function notGrouped(scope: Scope, source: number, column: number): Error {
  const name = columnNameAt(scope, source, column);
  return invalid(`The column \`${name}\` must be in GROUP BY or in an aggregate, since a group has many values of it.`);
}

export function hasAggregate(expr: Expr): boolean {
  switch (expr.kind) {
    case "column":
      return expr.source === AGGREGATE_SOURCE;
    case "call":
      return expr.args.some(hasAggregate);
    case "in-values":
      return hasAggregate(expr.operand);
    case "query":
      return expr.outer.some(hasAggregate) || (expr.operand !== undefined && hasAggregate(expr.operand));
    default:
      return false;
  }
}
