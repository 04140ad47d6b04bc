/**
 * Scopes of names in a SELECT: its sources and their columns, and for a sub-query those of the enclosing statements. A name
 * that only an enclosing statement knows becomes a slot, which gets its value from the outer row.
 */

import { closestName } from "../../../base/index.ts";
import type { Expr, SqlType } from "./plan.ts";
import type { Name } from "./syntax.ts";
import { invalid } from "./tokens.ts";

export interface Typed {
  readonly expr: Expr;
  readonly type: SqlType;
}

export interface ScopeColumn {
  readonly name: string;
  readonly type: SqlType;
  /** Returns the number of the column in its source. For a list's table, the number is assigned at the first use. */
  readonly assignNumber: () => number;
  /** Returns the number of the column if one was assigned. */
  readonly assignedNumber: () => number | undefined;
}

export interface ScopeSource {
  readonly name: string;
  readonly columns: readonly ScopeColumn[];
}

export interface Scope {
  readonly sources: ScopeSource[];
  /** Columns `source.column` that USING merged with a column further left. */
  readonly merged: Set<string>;
  readonly parent: Scope | undefined;
  /** Slots of a sub-query: expressions of the enclosing statement that the sub-query refers to. */
  readonly outer: Typed[] | undefined;
}

export const openScope = (parent: Scope | undefined): Scope => ({
  sources: [],
  merged: new Set(),
  parent,
  outer: undefined,
});

/** Opens a scope without sources, between the SELECTs of a sub-query and the enclosing statement. */
export const openSubQueryScope = (parent: Scope): Scope & { readonly outer: Typed[] } => ({
  ...openScope(parent),
  outer: [],
});

export function isNamed(name: Name, text: string): boolean {
  return name.isQuoted ? name.text === text : name.text.toLowerCase() === text.toLowerCase();
}

export const quotedName = ({ text, isQuoted }: Name): string => (isQuoted ? `"${text}"` : `\`${text}\``);

export function columnExpr(source: number, column: ScopeColumn): Typed {
  return { expr: { kind: "column", source, column: column.assignNumber() }, type: column.type };
}

/** Resolves the name of a column. Throws if it is unknown or ambiguous. */
export function resolveColumn(scope: Scope, table: Name | undefined, name: Name): Typed {
  const found = findColumn(scope, table, name);
  if (found !== undefined) return found;
  throw unknownColumn(scope, table, name);
}

/** Resolves the name of a column; `undefined` if neither this scope nor an enclosing one knows it. Throws if it is ambiguous. */
export function findColumn(scope: Scope, table: Name | undefined, name: Name): Typed | undefined {
  const here = scope.sources.flatMap((source, index) =>
    table === undefined || isNamed(table, source.name)
      ? source.columns
          .filter((column) => isNamed(name, column.name))
          .filter((column) => table !== undefined || !scope.merged.has(`${index}.${column.name}`))
          .map((column) => columnExpr(index, column))
      : [],
  );
  if (here.length > 1)
    throw invalid(`The column ${quotedName(name)} is in more than one table: write \`table.column\`.`);
  const [only] = here;
  if (only !== undefined || scope.parent === undefined) return only;
  const outer = findColumn(scope.parent, table, name);
  if (outer === undefined || scope.outer === undefined) return outer;
  return { expr: { kind: "outer", slot: slotOf(scope.outer, outer) }, type: outer.type };
}

function slotOf(slots: Typed[], value: Typed): number {
  const text = JSON.stringify(value.expr);
  const known = slots.findIndex(({ expr }) => JSON.stringify(expr) === text);
  return known >= 0 ? known : slots.push(value) - 1;
}

function unknownColumn(scope: Scope, table: Name | undefined, name: Name): Error {
  const visible: ScopeSource[] = [];
  for (let it: Scope | undefined = scope; it !== undefined; it = it.parent) visible.push(...it.sources);
  const sources = table === undefined ? visible : visible.filter((source) => isNamed(table, source.name));
  if (table !== undefined && sources.length === 0) {
    return invalid(`There is no table ${quotedName(table)} in this FROM, for the column ${quotedName(name)}.`);
  }
  const names = sources.flatMap(({ columns }) => columns.map((column) => column.name));
  const near = closestName(name.text, names);
  const hint =
    near !== undefined
      ? `; did you mean \`${near}\`?`
      : name.isQuoted
        ? "; a text is written in single quotes."
        : sources.length === 1
          ? `; there are ${names.join(", ")}.`
          : ".";
  return invalid(
    `There is no column ${quotedName(name)}${table === undefined ? "" : ` in ${quotedName(table)}`}${hint}`,
  );
}

/** Returns the name of a column of this scope, for a message. */
export function columnNameAt(scope: Scope, source: number, column: number): string {
  return scope.sources[source]?.columns.find((it) => it.assignedNumber() === column)?.name ?? "?";
}
