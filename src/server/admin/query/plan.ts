/**
 * Plan of a statement: of the user's names only those of the outputs remain; sources and columns are numbers, literals and
 * parameters are values. Made by `bind*.ts`, run by `machine/`.
 *
 * Rows of every relation are objects with the columns `c0`, `c1`, …; an absent one is NULL.
 */

import type { TableName } from "../../../admin-api/index.ts";

export type Value = string | number | boolean | null;

/** Static type of a value. `json` is JSON text; `unknown` is NULL, or known only at run time. */
export type SqlType = "text" | "integer" | "real" | "boolean" | "json" | "unknown";

/** Scalar operations of the worker, operators and functions alike; `machine/scalar-operations.ts` implements them. */
export const OPERATIONS = [
  "and",
  "or",
  "not",
  "eq",
  "ne",
  "lt",
  "le",
  "gt",
  "ge",
  "is_same",
  "is_null",
  "is_true",
  "is_false",
  "between",
  "like",
  "in",
  "add",
  "sub",
  "mul",
  "div",
  "div_integer",
  "div_real",
  "mod",
  "neg",
  "plus",
  "concat",
  "json_text",
  "case",
  "case_of",
  "coalesce",
  "nullif",
  "cast_text",
  "cast_integer",
  "cast_real",
  "cast_boolean",
  "upper",
  "lower",
  "trim",
  "ltrim",
  "rtrim",
  "substr",
  "length",
  "replace",
  "instr",
  "round",
  "floor",
  "ceil",
  "abs",
  "epoch",
  "json_array_length",
] as const;
export type Operation = (typeof OPERATIONS)[number];

export const AGGREGATES = [
  "first",
  "count_rows",
  "count",
  "sum",
  "avg",
  "min",
  "max",
  "group_concat",
  "sides",
] as const;
export type AggregateName = (typeof AGGREGATES)[number];

export type Expr =
  | { readonly kind: "value"; readonly value: Value }
  /** Time of the read, in RFC 3339. */
  | { readonly kind: "now" }
  | { readonly kind: "column"; readonly source: number; readonly column: number }
  /** Value of the enclosing statement's row for which a sub-query is evaluated. */
  | { readonly kind: "outer"; readonly slot: number }
  | { readonly kind: "call"; readonly operation: Operation; readonly args: readonly Expr[] }
  | { readonly kind: "in-values"; readonly operand: Expr; readonly values: readonly Value[] }
  /** `outer` are the values of its slots. `operand` is that of `in`. */
  | {
      readonly kind: "query";
      readonly form: "scalar" | "exists" | "in";
      readonly operand: Expr | undefined;
      readonly query: Relation;
      readonly outer: readonly Expr[];
    };

export interface Source {
  readonly relation: Relation;
  readonly join: "inner" | "left";
  /** Keys of a lookup by equality. `left`: expression over earlier sources. `right`: expression over this source. */
  readonly keys: readonly { readonly left: Expr; readonly right: Expr }[];
  /** Condition of a left join without keys. */
  readonly on: Expr | undefined;
}

export interface Aggregate {
  readonly name: AggregateName;
  readonly args: readonly Expr[];
  readonly isDistinct: boolean;
}

export interface SelectRelation {
  readonly kind: "select";
  readonly sources: readonly Source[];
  readonly where: Expr | undefined;
  /**
   * Grouping. If set, `outputs` and `having` are over one source, whose columns are the keys, then the aggregates. Without keys
   * there is one group.
   */
  readonly group: { readonly keys: readonly Expr[]; readonly aggregates: readonly Aggregate[] } | undefined;
  readonly having: Expr | undefined;
  readonly outputs: readonly Expr[];
}

export interface OrderKey {
  readonly column: number;
  readonly isDescending: boolean;
  readonly nullsFirst: boolean;
}

export type Relation =
  /** One of `Plan.tables`. */
  | { readonly kind: "table"; readonly table: number }
  /** Refers to one of `Plan.shared`. */
  | { readonly kind: "shared"; readonly index: number }
  | SelectRelation
  | { readonly kind: "distinct"; readonly of: Relation; readonly width: number }
  | {
      readonly kind: "set";
      readonly operator: "union" | "union all" | "except" | "intersect";
      readonly left: Relation;
      readonly right: Relation;
      readonly width: number;
    }
  | {
      readonly kind: "order";
      readonly of: Relation;
      readonly keys: readonly OrderKey[];
      readonly limit: number | undefined;
      readonly offset: number;
      readonly width: number;
    };

export interface Plan {
  /** Lists and their columns that the statement reads, by name. */
  readonly tables: readonly { readonly name: TableName; readonly columns: readonly string[] }[];
  /** Common tables and sub-queries in FROM: each reads only those before it, and is computed once. */
  readonly shared: readonly Relation[];
  readonly query: Relation;
  readonly outputs: readonly { readonly name: string; readonly type: SqlType }[];
}
