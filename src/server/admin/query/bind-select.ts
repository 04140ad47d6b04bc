/** Binds one SELECT: its sources, its outputs by name and type, and the columns of its order. */

import { type Binding, bindExpression, type ExpressionContext } from "./bind-expression.ts";
import { conjuncts, type IsSameKind, type JoinedSource, planJoins } from "./joins.ts";
import type { Aggregate, Expr, Operation, OrderKey, Relation, SelectRelation, SqlType } from "./plan.ts";
import { hasAggregate, regrouping } from "./regroup.ts";
import {
  columnExpr,
  findColumn,
  isNamed,
  openScope,
  quotedName,
  resolveColumn,
  type Scope,
  type ScopeColumn,
  type ScopeSource,
  type Typed,
} from "./scope.ts";
import type { Expression, FromItem, Name, OrderItem, Output, Select } from "./syntax.ts";
import { invalid } from "./tokens.ts";

export interface BoundOutput {
  readonly name: string;
  readonly type: SqlType;
}

export interface BoundRelation {
  readonly relation: Relation;
  readonly outputs: readonly BoundOutput[];
}

export interface BoundSource extends BoundRelation {
  readonly columns: readonly ScopeColumn[];
  readonly width: () => number;
  readonly name: string;
}

export interface SelectBinding extends Binding {
  readonly source: (item: FromItem, scope: Scope) => BoundSource;
}

interface NamedValue extends Typed {
  readonly name: string;
}

/** Maximum length of a name made from an expression's text. */
const MAX_NAME_LENGTH = 64;

export function bindSelect(
  select: Select,
  order: readonly OrderItem[],
  parent: Scope | undefined,
  binding: SelectBinding,
): BoundRelation & { readonly keys: readonly OrderKey[] } {
  const scope = openScope(parent);
  const joined = select.from.map((item) => bindSource(item, scope, binding));
  const aggregates: Aggregate[] = [];
  const contextOf = (name: string, mayAggregate: boolean): ExpressionContext => ({
    scope,
    aggregates: mayAggregate ? aggregates : undefined,
    name,
  });
  const where = select.where && bindExpression(select.where, contextOf("WHERE", false), binding).expr;
  const outputs = select.outputs.flatMap((it) => bindOutput(it, contextOf("SELECT", true), binding));
  const having = select.having && bindExpression(select.having, contextOf("HAVING", true), binding).expr;
  const keys = select.group.map((it) => bindGroupKey(it, outputs, contextOf("GROUP BY", false), binding));
  const sorted = order.map((it) => bindOrderItem(it, outputs, contextOf("ORDER BY", true), binding));

  const isGrouped = keys.length > 0 || aggregates.length > 0 || having !== undefined;
  const after = isGrouped ? regrouping(keys, scope) : (expr: Expr) => expr;
  const values = outputs.map(({ expr }) => after(expr));
  const columns: Expr[] = [...values];
  const orderKeys = sorted.map(({ isDescending, nullsFirst, value }): OrderKey => {
    const column = typeof value === "number" ? value : columnFor(after(value), columns, select.isDistinct);
    return { column, isDescending, nullsFirst };
  });
  const { sources, where: left } = planJoins(joined, where, sameKind(scope));
  const relation: SelectRelation = {
    kind: "select",
    sources,
    where: left,
    group: isGrouped ? { keys, aggregates } : undefined,
    having: having && after(having),
    outputs: columns,
  };
  return {
    relation: select.isDistinct ? { kind: "distinct", of: relation, width: values.length } : relation,
    outputs: outputs.map(({ name, type }) => ({ name, type })),
    keys: orderKeys,
  };
}

/** Returns the number of the column with this expression. Appends the expression if no column has it. */
function columnFor(expr: Expr, columns: Expr[], isDistinct: boolean): number {
  const text = JSON.stringify(expr);
  const known = columns.findIndex((it) => JSON.stringify(it) === text);
  if (known >= 0) return known;
  if (isDistinct) throw invalid("With DISTINCT, ORDER BY can only use columns that SELECT lists.");
  return columns.push(expr) - 1;
}

function bindSource(item: FromItem, scope: Scope, binding: SelectBinding): JoinedSource {
  const { relation, columns, width, name } = binding.source(item, scope);
  if (scope.sources.some((it) => it.name.toLowerCase() === name.toLowerCase())) {
    throw invalid(`The table \`${name}\` is in FROM twice: give each an alias.`);
  }
  const index = scope.sources.length;
  const before: Scope = { ...scope, sources: [...scope.sources], merged: new Set(scope.merged), parent: undefined };
  scope.sources.push({ name, columns });
  const on = item.using.map((it) => usingPair(it, before, { name, columns }, index, scope));
  if (item.on !== undefined) {
    const context = { scope, aggregates: undefined, name: "ON" };
    on.push(...conjuncts(bindExpression(item.on, context, binding).expr));
  }
  return { relation, join: item.join, on, width };
}

function usingPair(name: Name, before: Scope, source: ScopeSource, index: number, scope: Scope): Expr {
  const left = resolveColumn(before, undefined, name);
  const column = source.columns.find((it) => isNamed(name, it.name));
  if (column === undefined) throw invalid(`There is no column ${quotedName(name)} in \`${source.name}\`, for USING.`);
  scope.merged.add(`${index}.${column.name}`);
  return { kind: "call", operation: "eq", args: [left.expr, columnExpr(index, column).expr] };
}

function bindOutput(output: Output, context: ExpressionContext, binding: Binding): readonly NamedValue[] {
  const { scope } = context;
  if (output.kind === "all") return allColumns(output.table, scope);
  const { value, alias, text } = output;
  const bound = bindExpression(value, context, binding);
  const own = value.kind === "column" ? declaredName(value.name, value.table, scope) : text.replace(/\s+/g, " ");
  return [{ ...bound, name: alias?.text ?? own.slice(0, MAX_NAME_LENGTH) }];
}

/** Returns the table's spelling of a name, whatever case the statement uses. */
function declaredName(name: Name, table: Name | undefined, scope: Scope): string {
  const sources = scope.sources.filter((it) => table === undefined || isNamed(table, it.name));
  const column = sources.flatMap(({ columns }) => columns).find((it) => isNamed(name, it.name));
  return column?.name ?? name.text;
}

function allColumns(table: Name | undefined, scope: Scope): readonly NamedValue[] {
  const values = scope.sources.flatMap((source, index) =>
    table === undefined || isNamed(table, source.name)
      ? source.columns
          .filter((column) => table !== undefined || !scope.merged.has(`${index}.${column.name}`))
          .map((column) => ({ ...columnExpr(index, column), name: column.name }))
      : [],
  );
  if (values.length > 0) return values;
  throw invalid(table === undefined ? "`*` needs a FROM." : `There is no table ${quotedName(table)} in this FROM.`);
}

/** Returns the output that a number or an alias refers to. */
function outputAt(expression: Expression, outputs: readonly NamedValue[], clause: string): number | undefined {
  if (expression.kind === "literal" && typeof expression.value === "number") {
    const index = expression.value - 1;
    if (outputs[index] === undefined)
      throw invalid(`${clause} ${expression.value}: SELECT lists ${outputs.length} columns.`);
    return index;
  }
  if (expression.kind !== "column" || expression.table !== undefined) return undefined;
  const { name } = expression;
  const index = outputs.findIndex((it) => isNamed(name, it.name));
  return index >= 0 ? index : undefined;
}

function bindGroupKey(
  expression: Expression,
  outputs: readonly NamedValue[],
  context: ExpressionContext,
  binding: Binding,
): Expr {
  // A column of the tables takes precedence over an alias of the same name.
  const isColumn =
    expression.kind === "column" && findColumn(context.scope, expression.table, expression.name) !== undefined;
  const output = isColumn ? undefined : outputAt(expression, outputs, "GROUP BY");
  const key = output === undefined ? undefined : outputs[output]?.expr;
  if (key === undefined) return bindExpression(expression, context, binding).expr;
  if (hasAggregate(key)) throw invalid("An aggregate is not allowed in GROUP BY.");
  return key;
}

interface BoundOrderItem extends Pick<OrderItem, "isDescending" | "nullsFirst"> {
  readonly value: Expr | number;
}

function bindOrderItem(
  item: OrderItem,
  outputs: readonly NamedValue[],
  context: ExpressionContext,
  binding: Binding,
): BoundOrderItem {
  const { isDescending, nullsFirst } = item;
  const index = outputAt(item.value, outputs, "ORDER BY");
  return { isDescending, nullsFirst, value: index ?? bindExpression(item.value, context, binding).expr };
}

/** Result types of operations that always return the same type. */
const FIXED_KINDS: Readonly<Partial<Record<Operation, "text" | "number">>> = {
  json_text: "text",
  concat: "text",
  upper: "text",
  lower: "text",
  trim: "text",
  substr: "text",
  replace: "text",
  cast_text: "text",
  cast_integer: "number",
  cast_real: "number",
};

/** Returns a function that tells whether both sides have the same known kind. */
function sameKind(scope: Scope): IsSameKind {
  const kindOf = (expr: Expr | undefined): string | undefined => {
    if (expr?.kind === "call") return FIXED_KINDS[expr.operation];
    if (expr?.kind !== "column") return undefined;
    const type = scope.sources[expr.source]?.columns.find((it) => it.assignedNumber() === expr.column)?.type;
    if (type === "integer" || type === "real") return "number";
    return type === "text" || type === "json" ? "text" : type === "boolean" ? "boolean" : undefined;
  };
  return (equality) => {
    if (equality.kind !== "call") return false;
    const [a, b] = equality.args.map(kindOf);
    return a !== undefined && a === b;
  };
}
