/** Syntax tree of a statement: names are not looked up yet. Made by `parse.ts`, read by `bind*.ts`. */

import type { Operation, Value } from "./plan.ts";

export interface Name {
  readonly text: string;
  /** Written as `"…"`: matches exactly; other names match in any case. */
  readonly isQuoted: boolean;
}

export type Expression =
  /** `isReal` is true for a number that was written with a point or an exponent. */
  | { readonly kind: "literal"; readonly value: Value; readonly isReal: boolean }
  /** The nth `?`, from 0. */
  | { readonly kind: "parameter"; readonly index: number }
  | { readonly kind: "column"; readonly table: Name | undefined; readonly name: Name }
  /** Function call with its `name` in lower case. */
  | {
      readonly kind: "call";
      readonly name: string;
      readonly args: readonly Expression[];
      readonly isDistinct: boolean;
      readonly isStar: boolean;
    }
  | { readonly kind: "operation"; readonly operation: Operation; readonly args: readonly Expression[] }
  | { readonly kind: "scalar"; readonly query: Query }
  | { readonly kind: "exists"; readonly query: Query }
  | { readonly kind: "in"; readonly operand: Expression; readonly query: Query };

export type Output =
  | { readonly kind: "all"; readonly table: Name | undefined }
  /** `text` is the source text, which is the name if there is no other. */
  | { readonly kind: "value"; readonly value: Expression; readonly alias: Name | undefined; readonly text: string };

export interface FromItem {
  readonly join: "inner" | "left";
  readonly source: { readonly kind: "table"; readonly name: Name } | { readonly kind: "query"; readonly query: Query };
  readonly alias: Name | undefined;
  readonly on: Expression | undefined;
  readonly using: readonly Name[];
}

export interface Select {
  readonly kind: "select";
  readonly isDistinct: boolean;
  readonly outputs: readonly Output[];
  readonly from: readonly FromItem[];
  readonly where: Expression | undefined;
  readonly group: readonly Expression[];
  readonly having: Expression | undefined;
}

type SetOperator = "union" | "union all" | "except" | "intersect";

interface SetOperation {
  readonly kind: "set";
  readonly operator: SetOperator;
  readonly left: Body;
  readonly right: Body;
}

/** Body of a query. A parenthesized query can have its own ORDER BY and LIMIT. */
export type Body = Select | SetOperation | { readonly kind: "nested"; readonly query: Query };

export interface OrderItem {
  readonly value: Expression;
  readonly isDescending: boolean;
  readonly nullsFirst: boolean;
}

export interface Query {
  readonly body: Body;
  readonly order: readonly OrderItem[];
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
}

export interface CommonTable {
  readonly name: Name;
  readonly columns: readonly Name[];
  readonly query: Query;
}

export interface Statement {
  readonly tables: readonly CommonTable[];
  readonly query: Query;
  /** Number of `?`. */
  readonly parameters: number;
}
