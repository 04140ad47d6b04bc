/**
 * Reduces the rows of a packed table to those that a statement needs. Rows for which a condition over a single column is not
 * true are not made. Rows that differ only in columns that the statement only sums are merged. This saves memory and does not
 * change the answer.
 */

import { conjuncts } from "./joins.ts";
import type { Aggregate, Expr, Plan, Relation, SelectRelation } from "./plan.ts";

export interface NeededRows {
  /** Conditions over one column each. `column`: number of the column in the plan's table. In `condition`, the source is 0. */
  readonly conditions: readonly { readonly column: number; readonly condition: Expr }[];
  /** Numbers of the columns that are only summed; `undefined` if rows may not be merged. */
  readonly summed: ReadonlySet<number> | undefined;
}

const ALL_ROWS: NeededRows = { conditions: [], summed: undefined };

interface TableUse {
  readonly select: SelectRelation;
  readonly source: number;
  /** Whether the statement merges equal rows anyway. */
  readonly isDistinct: boolean;
}

/** Returns the needed part of a table. `table`: its number in the plan. `counts`: its columns of integers without NULL. */
export function neededRowsOf(plan: Plan, table: number, counts: ReadonlySet<number>): NeededRows {
  const places: TableUse[] = [];
  for (const relation of [...plan.shared, plan.query]) findUses(relation, table, false, places);
  const [place] = places;
  if (place === undefined || places.length > 1) return ALL_ROWS;
  return { conditions: conditionsAt(place), summed: summedAt(place, counts) };
}

function findUses(relation: Relation, table: number, isDistinct: boolean, found: TableUse[]): void {
  switch (relation.kind) {
    case "table":
    case "shared":
      return;
    case "distinct":
    case "order":
      findUses(relation.of, table, relation.kind === "distinct", found);
      return;
    case "set":
      findUses(relation.left, table, false, found);
      findUses(relation.right, table, false, found);
      return;
    case "select":
      for (const [source, { relation: of }] of relation.sources.entries()) {
        if (of.kind === "table" && of.table === table) found.push({ select: relation, source, isDistinct });
        findUses(of, table, false, found);
      }
      for (const expr of exprsOf(relation)) findInExpr(expr, table, found);
      return;
    default:
      relation satisfies never;
  }
}

const exprsOf = ({ sources, where, group, having, outputs }: SelectRelation): readonly Expr[] => [
  ...sources.flatMap(({ keys, on }) => [...keys.flatMap(({ left, right }) => [left, right]), ...optional(on)]),
  ...optional(where),
  ...(group?.keys ?? []),
  ...(group?.aggregates.flatMap(({ args }) => args) ?? []),
  ...optional(having),
  ...outputs,
];

const optional = (expr: Expr | undefined): readonly Expr[] => (expr === undefined ? [] : [expr]);

function findInExpr(expr: Expr, table: number, found: TableUse[]): void {
  if (expr.kind === "query") findUses(expr.query, table, false, found);
  for (const inner of partsOf(expr)) findInExpr(inner, table, found);
}

/** Returns the sub-expressions that belong to the same SELECT. */
function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "call":
      return expr.args;
    case "in-values":
      return [expr.operand];
    case "query":
      return [...optional(expr.operand), ...expr.outer];
    default:
      return [];
  }
}

function conditionsAt({ select, source }: TableUse): NeededRows["conditions"] {
  // A left join returns a row even if it finds no match.
  if (source > 0 && select.sources[source]?.join !== "inner") return [];
  return conjuncts(select.where).flatMap((condition) => {
    const columns = new Set<number>();
    const isOwn = readsOnlySource(condition, source, columns);
    const [column, ...others] = columns;
    return isOwn && column !== undefined && others.length === 0
      ? [{ column, condition: source === 0 ? condition : asFirstSource(condition) }]
      : [];
  });
}

/** Returns whether the expression reads only columns of this source, which are collected, and constants. */
function readsOnlySource(expr: Expr, source: number, columns: Set<number>): boolean {
  if (expr.kind === "outer" || expr.kind === "query") return false;
  if (expr.kind === "column") {
    columns.add(expr.column);
    return expr.source === source;
  }
  return partsOf(expr).every((part) => readsOnlySource(part, source, columns));
}

function asFirstSource(expr: Expr): Expr {
  switch (expr.kind) {
    case "column":
      return { ...expr, source: 0 };
    case "call":
      return { ...expr, args: expr.args.map(asFirstSource) };
    case "in-values":
      return { ...expr, operand: asFirstSource(expr.operand) };
    default:
      return expr;
  }
}

function summedAt({ select, isDistinct }: TableUse, counts: ReadonlySet<number>): NeededRows["summed"] {
  const { sources, where, group, outputs } = select;
  if (sources.length !== 1) return undefined;
  const distinguishing = new Set<number>();
  const summed = new Set<number>();
  for (const expr of optional(where)) columnsIn(expr, distinguishing);
  if (group === undefined) {
    if (!isDistinct) return undefined;
    for (const expr of outputs) columnsIn(expr, distinguishing);
    return summed;
  }
  for (const key of group.keys) columnsIn(key, distinguishing);
  for (const aggregate of group.aggregates) {
    if (ignoresDuplicates(aggregate)) for (const arg of aggregate.args) columnsIn(arg, distinguishing);
    else if (aggregate.name !== "sum" || !aggregate.args.every((arg) => isLinear(arg, counts, summed)))
      return undefined;
  }
  return [...summed].some((column) => distinguishing.has(column)) ? undefined : summed;
}

/** Returns whether duplicate rows do not change the aggregate. */
const ignoresDuplicates = ({ name, isDistinct }: Aggregate): boolean =>
  isDistinct || name === "min" || name === "max" || name === "first";

/**
 * Returns whether an expression of integers is linear, so that its sum over rows can be computed from the sums of its columns.
 * Adds these to `columns`.
 */
function isLinear(expr: Expr, counts: ReadonlySet<number>, columns: Set<number>): boolean {
  if (expr.kind === "column") {
    columns.add(expr.column);
    return counts.has(expr.column);
  }
  const isSum = expr.kind === "call" && ["add", "sub", "neg", "plus"].includes(expr.operation);
  return isSum && expr.args.every((arg) => isLinear(arg, counts, columns));
}

function columnsIn(expr: Expr, columns: Set<number>): void {
  if (expr.kind === "column") columns.add(expr.column);
  for (const part of partsOf(expr)) columnsIn(part, columns);
}
