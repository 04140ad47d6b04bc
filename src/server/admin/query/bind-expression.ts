/** Binds expressions: looks up their names. Aggregates are collected if a SELECT may have them, and refused elsewhere. */

import { aggregateType, functionOf, resultType } from "./functions.ts";
import type { Aggregate, Expr, Operation, Relation, Value } from "./plan.ts";
import { openSubQueryScope, resolveColumn, type Scope, type Typed } from "./scope.ts";
import type { Expression, Query } from "./syntax.ts";
import { invalid } from "./tokens.ts";

/** Source number of an aggregate's value, until the SELECT is known to be grouped; no source has this number. */
export const AGGREGATE_SOURCE = -1;

/** Maximum number of aggregates in one SELECT; each is compared with each. */
const MAX_AGGREGATES = 128;

export interface Binding {
  /** Values of the `?`. */
  readonly parameters: readonly Value[];
  /** Binds a sub-query; `scope` is the enclosing one. */
  readonly query: (
    query: Query,
    scope: Scope,
  ) => { readonly relation: Relation; readonly columns: readonly Typed["type"][] };
}

/** Context of an expression: the names that it may use, and the aggregates it may add to; `undefined` if it may have none. */
export interface ExpressionContext {
  readonly scope: Scope;
  readonly aggregates: Aggregate[] | undefined;
  /** Name of the clause, for the message about an aggregate where none is allowed. */
  readonly name: string;
}

export function bindExpression(expression: Expression, context: ExpressionContext, binding: Binding): Typed {
  const bind = (it: Expression): Typed => bindExpression(it, context, binding);
  switch (expression.kind) {
    case "literal":
      return {
        expr: { kind: "value", value: expression.value },
        type: typeOfValue(expression.value, expression.isReal),
      };
    case "parameter": {
      const value = binding.parameters[expression.index] ?? null;
      return { expr: { kind: "value", value }, type: typeOfValue(value, false) };
    }
    case "column":
      return resolveColumn(context.scope, expression.table, expression.name);
    case "operation":
      return bindOperation(expression.operation, expression.args.map(bind));
    case "call":
      return bindCall(expression, context, binding);
    case "scalar":
    case "exists":
    case "in":
      return bindSubQuery(expression, context, binding);
    default:
      return expression satisfies never;
  }
}

function typeOfValue(value: Value, isReal: boolean): Typed["type"] {
  if (typeof value === "string") return "text";
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "number") return isReal || !Number.isInteger(value) ? "real" : "integer";
  return "unknown";
}

function bindOperation(written: Operation, args: readonly Typed[]): Typed {
  const types = args.map(({ type }) => type);
  const operation = written === "div" ? divisionOf(types) : written;
  const type = resultType(operation, types);
  const exprs = args.map(({ expr }) => expr);
  const [operand, ...items] = exprs;
  if (operation === "in" && operand !== undefined && items.every((item) => item.kind === "value")) {
    return { expr: { kind: "in-values", operand, values: items.map((item) => item.value) }, type };
  }
  return { expr: { kind: "call", operation, args: exprs }, type };
}

/** Returns the division: integers divide to an integer; if the types are unknown, the values decide. */
function divisionOf(types: readonly Typed["type"][]): Operation {
  if (types.includes("real")) return "div_real";
  return types.every((type) => type === "integer") ? "div_integer" : "div";
}

function bindCall(call: Extract<Expression, { kind: "call" }>, context: ExpressionContext, binding: Binding): Typed {
  const { name, args, isDistinct, isStar } = call;
  if (name === "now" && args.length === 0 && !isStar) return { expr: { kind: "now" }, type: "text" };
  if (isStar && name !== "count") throw invalid(`\`${name}(*)\` is not known.`);
  const called = isStar ? ({ kind: "aggregate", name: "count_rows" } as const) : functionOf(name, args.length);
  if (called.kind === "scalar") {
    if (isDistinct) throw invalid(`\`${name}\` is not an aggregate and takes no DISTINCT.`);
    return bindOperation(
      called.operation,
      args.map((arg) => bindExpression(arg, context, binding)),
    );
  }
  const { aggregates } = context;
  if (aggregates === undefined) throw invalid(`The aggregate \`${name}\` is not allowed in ${context.name}.`);
  const inner: ExpressionContext = { ...context, aggregates: undefined, name: "another aggregate" };
  const bound = args.map((arg) => bindExpression(arg, inner, binding));
  const aggregate: Aggregate = { name: called.name, args: bound.map(({ expr }) => expr), isDistinct };
  const text = JSON.stringify(aggregate);
  const known = aggregates.findIndex((it) => JSON.stringify(it) === text);
  const column = known >= 0 ? known : aggregates.push(aggregate) - 1;
  if (column >= MAX_AGGREGATES) throw invalid(`A SELECT may have ${MAX_AGGREGATES} aggregates.`);
  return {
    expr: { kind: "column", source: AGGREGATE_SOURCE, column },
    type: aggregateType(called.name, bound[0]?.type ?? "unknown"),
  };
}

function bindSubQuery(
  expression: Extract<Expression, { kind: "scalar" | "exists" | "in" }>,
  context: ExpressionContext,
  binding: Binding,
): Typed {
  const operand = expression.kind === "in" ? bindExpression(expression.operand, context, binding).expr : undefined;
  const scope = openSubQueryScope(context.scope);
  const { relation, columns } = binding.query(expression.query, scope);
  if (expression.kind !== "exists" && columns.length !== 1) {
    throw invalid(`A sub-query used as a value has one column, not ${columns.length}.`);
  }
  const outer: readonly Expr[] = scope.outer.map(({ expr }) => expr);
  return {
    expr: { kind: "query", form: expression.kind, operand, query: relation, outer },
    type: expression.kind === "scalar" ? (columns[0] ?? "unknown") : "boolean",
  };
}
