/**
 * Plans how sources are joined. An equality of values of one kind becomes a key of a lookup if one side reads only the joined
 * source and the other only sources before it; for an inner join this includes conditions of WHERE. The other conditions of an
 * inner join are checked on the joined row, those of a left join on the source alone or on the pair of rows.
 */

import type { Expr, Relation, Source } from "./plan.ts";

export interface JoinedSource {
  readonly relation: Relation;
  readonly join: "inner" | "left";
  readonly on: readonly Expr[];
  /** Returns the number of columns of the relation, once the statement is bound. */
  readonly width: () => number;
}

/** Returns whether the two sides of an equality compare without conversion: no text that may be a number. */
export type IsSameKind = (equality: Expr) => boolean;

/** Returns the parts of a conjunction. */
export function conjuncts(condition: Expr | undefined): readonly Expr[] {
  if (condition === undefined) return [];
  const isAnd = condition.kind === "call" && condition.operation === "and";
  return isAnd ? condition.args.flatMap(conjuncts) : [condition];
}

function conjunction(parts: readonly Expr[]): Expr | undefined {
  const [first, ...others] = parts;
  return others.length === 0 ? first : { kind: "call", operation: "and", args: parts };
}

/**
 * Returns the numbers of the sources that an expression reads; `undefined` if it contains a sub-query, which is evaluated as
 * late as possible.
 */
function sourcesOf(expr: Expr): ReadonlySet<number> | undefined {
  switch (expr.kind) {
    case "column":
      return new Set([expr.source]);
    case "call": {
      const all = expr.args.map(sourcesOf);
      if (!all.every((it) => it !== undefined)) return undefined;
      return new Set(all.flatMap((it) => [...it]));
    }
    case "in-values":
      return sourcesOf(expr.operand);
    case "query":
      return undefined;
    default:
      return new Set();
  }
}

type Key = Source["keys"][number];

/** Returns the equality as a key of source `index`, if it is one. */
function keyOf(expr: Expr, index: number, isSameKind: IsSameKind): Key | undefined {
  if (expr.kind !== "call" || expr.operation !== "eq" || !isSameKind(expr)) return undefined;
  const [a, b] = expr.args;
  if (a === undefined || b === undefined) return undefined;
  const isHere = (it: Expr): boolean => {
    const read = sourcesOf(it);
    return read !== undefined && read.size === 1 && read.has(index);
  };
  const isBefore = (it: Expr): boolean => {
    const read = sourcesOf(it);
    return read !== undefined && read.size > 0 && [...read].every((source) => source < index);
  };
  if (isHere(b) && isBefore(a)) return { left: a, right: b };
  if (isHere(a) && isBefore(b)) return { left: b, right: a };
  return undefined;
}

export function planJoins(
  joined: readonly JoinedSource[],
  where: Expr | undefined,
  isSameKind: IsSameKind,
): { readonly sources: readonly Source[]; readonly where: Expr | undefined } {
  let left = [...conjuncts(where)];
  const sources = joined.map((source, index): Source => {
    const { relation, join, on, width } = source;
    if (join === "inner") {
      left.push(...on);
      const keys: Key[] = [];
      left = left.filter((expr) => {
        const key = index > 0 ? keyOf(expr, index, isSameKind) : undefined;
        if (key !== undefined) keys.push(key);
        return key === undefined;
      });
      return { relation, join, keys, on: undefined };
    }
    const keys = on.map((expr) => keyOf(expr, index, isSameKind));
    const others = on.filter((_, at) => keys[at] === undefined);
    const isOfSource = others.every((expr) => {
      const read = sourcesOf(expr);
      return read !== undefined && [...read].every((it) => it === index);
    });
    const found = keys.filter((key) => key !== undefined);
    if (found.length === 0 || !isOfSource) return { relation, join, keys: [], on: conjunction(on) };
    return { relation: filterSource(relation, index, others, width()), join, keys: found, on: undefined };
  });
  return { sources, where: conjunction(left) };
}

/** Returns only the rows of a left-joined source that can match. */
function filterSource(relation: Relation, index: number, parts: readonly Expr[], width: number): Relation {
  if (parts.length === 0) return relation;
  return {
    kind: "select",
    sources: [{ relation, join: "inner", keys: [], on: undefined }],
    where: conjunction(parts.map((part) => asFirstSource(part, index))),
    group: undefined,
    having: undefined,
    outputs: Array.from({ length: width }, (_, column) => ({ kind: "column", source: 0, column })),
  };
}

/** Rewrites an expression over source `index` to one over source 0, for a SELECT whose only source it becomes. */
function asFirstSource(expr: Expr, index: number): Expr {
  switch (expr.kind) {
    case "column":
      return expr.source === index ? { ...expr, source: 0 } : expr;
    case "call":
      return { ...expr, args: expr.args.map((arg) => asFirstSource(arg, index)) };
    case "in-values":
      return { ...expr, operand: asFirstSource(expr.operand, index) };
    default:
      return expr;
  }
}
