/**
 * Turns a statement and its caller's tables into a plan. A missing table and a forbidden one are refused with the same message.
 * Only the named columns become part of the plan.
 */

import type { TableName } from "../../../admin-api/index.ts";
import { closestName } from "../../../base/index.ts";
import { bindExpression } from "./bind-expression.ts";
import {
  type BoundOutput,
  type BoundRelation,
  type BoundSource,
  bindSelect,
  type SelectBinding,
} from "./bind-select.ts";
import { columnsOf } from "./catalog.ts";
import { commonType } from "./functions.ts";
import { parseStatement } from "./parse.ts";
import type { OrderKey, Plan, Relation, Value } from "./plan.ts";
import { isNamed, openScope, quotedName, type Scope, type ScopeColumn } from "./scope.ts";
import type { Body, CommonTable, Expression, FromItem, Name, OrderItem, Query } from "./syntax.ts";
import { invalid } from "./tokens.ts";

/** Plans a statement. `tables`: tables that the caller may read. */
export function planStatement(sql: string, parameters: readonly Value[], tables: readonly TableName[]): Plan {
  const statement = parseStatement(sql);
  if (statement.parameters !== parameters.length) {
    throw invalid(`The statement has ${statement.parameters} \`?\`, and ${parameters.length} values were given.`);
  }
  const read = new Map<TableName, ReadTable>();
  const shared: SharedTable[] = [];
  const binding: SelectBinding = {
    parameters,
    query(query, scope) {
      const { relation, outputs } = bindQuery(query, scope, binding);
      return { relation, columns: outputs.map(({ type }) => type) };
    },
    source: (item) => bindSource(item, { tables, read, shared, binding }),
  };
  for (const table of statement.tables) {
    if (shared.some(({ name }) => name !== undefined && isNamed(table.name, name.text))) {
      throw invalid(`There are two common tables ${quotedName(table.name)}.`);
    }
    shared.push({ name: table.name, bound: bindCommonTable(table, binding) });
  }
  const { relation, outputs } = bindQuery(statement.query, undefined, binding);
  return {
    tables: [...read].map(([name, { columns }]) => ({ name, columns })),
    shared: shared.map(({ bound }) => bound.relation),
    query: relation,
    outputs,
  };
}

interface ReadTable {
  readonly index: number;
  /** Columns that the statement reads, in the order of their first use. */
  readonly columns: string[];
}

/** Common table, or sub-query in FROM, which has no name. Neither can refer to names of the enclosing statement. */
interface SharedTable {
  readonly name: Name | undefined;
  readonly bound: BoundRelation;
}

interface Sources {
  readonly tables: readonly TableName[];
  readonly read: Map<TableName, ReadTable>;
  /** Common tables and sub-queries so far. Each can read only those before it. */
  readonly shared: SharedTable[];
  readonly binding: SelectBinding;
}

/** Binds an item of FROM. A common table takes precedence over a list's table of the same name, and cannot refer to itself. */
function bindSource({ source, alias }: FromItem, { tables, read, shared, binding }: Sources): BoundSource {
  if (source.kind === "query") {
    const bound = bindQuery(source.query, undefined, binding);
    const index = shared.push({ name: undefined, bound }) - 1;
    return derivedSource(alias?.text ?? "", { ...bound, relation: { kind: "shared", index } });
  }
  const index = shared.findIndex(({ name }) => name !== undefined && isNamed(source.name, name.text));
  const known = shared[index];
  if (known !== undefined) {
    const name = alias ?? known.name;
    return derivedSource(name?.text ?? "", { ...known.bound, relation: { kind: "shared", index } });
  }
  const table = tables.find((it) => isNamed(source.name, it));
  if (table === undefined)
    throw unknownTable(source.name, [...tables, ...shared.flatMap(({ name }) => name?.text ?? [])]);
  const reading = read.get(table) ?? { index: read.size, columns: [] };
  read.set(table, reading);
  const columns = columnsOf(table).map(({ name, type }): ScopeColumn => {
    const assignedNumber = (): number | undefined => {
      const number = reading.columns.indexOf(name);
      return number < 0 ? undefined : number;
    };
    return { name, type, assignedNumber, assignNumber: () => assignedNumber() ?? reading.columns.push(name) - 1 };
  });
  return {
    relation: { kind: "table", table: reading.index },
    outputs: [],
    columns,
    width: () => reading.columns.length,
    name: alias?.text ?? table,
  };
}

function derivedSource(name: string, bound: BoundRelation): BoundSource {
  const columns = bound.outputs.map(
    (output, index): ScopeColumn => ({ ...output, assignNumber: () => index, assignedNumber: () => index }),
  );
  return { ...bound, columns, width: () => columns.length, name };
}

function unknownTable(name: Name, known: readonly string[]): Error {
  const near = closestName(name.text, known);
  const hint = near === undefined ? "" : `did you mean \`${near}\`? `;
  const list = known.length === 0 ? "there is none" : `there are ${[...known].sort().join(", ")}`;
  return invalid(
    `There is no table ${quotedName(name)} that you may read: ${hint}${hint === "" ? list : `T${list.slice(1)}`}.`,
  );
}

function bindCommonTable({ name, columns, query }: CommonTable, binding: SelectBinding): BoundRelation {
  const bound = bindQuery(query, undefined, binding);
  if (columns.length === 0) return bound;
  if (columns.length !== bound.outputs.length) {
    throw invalid(
      `The common table ${quotedName(name)} names ${columns.length} columns and has ${bound.outputs.length}.`,
    );
  }
  return {
    ...bound,
    outputs: bound.outputs.map(({ type }, index) => ({ name: columns[index]?.text ?? "", type })),
  };
}

function bindQuery(query: Query, parent: Scope | undefined, binding: SelectBinding): BoundRelation {
  const { body, order } = query;
  const bound =
    body.kind === "select"
      ? bindSelect(body, order, parent, binding)
      : orderByOutput(bindBody(body, parent, binding), order);
  const { relation: of, outputs, keys } = bound;
  const limit = bindCount(query.limit, "LIMIT", binding);
  const offset = bindCount(query.offset, "OFFSET", binding) ?? 0;
  const isUnchanged = keys.length === 0 && limit === undefined && offset === 0;
  const relation: Relation = isUnchanged ? of : { kind: "order", of, keys, limit, offset, width: outputs.length };
  return { relation, outputs };
}

function bindBody(body: Body, parent: Scope | undefined, binding: SelectBinding): BoundRelation {
  if (body.kind === "select") return bindSelect(body, [], parent, binding);
  if (body.kind === "nested") return bindQuery(body.query, parent, binding);
  const left = bindBody(body.left, parent, binding);
  const right = bindBody(body.right, parent, binding);
  const width = left.outputs.length;
  if (right.outputs.length !== width) {
    const { operator } = body;
    throw invalid(`The sides of ${operator.toUpperCase()} have ${width} and ${right.outputs.length} columns.`);
  }
  return {
    relation: { kind: "set", operator: body.operator, left: left.relation, right: right.relation, width },
    outputs: left.outputs.map(({ name, type }, index) => ({
      name,
      type: commonType([type, right.outputs[index]?.type ?? "unknown"]),
    })),
  };
}

/** Binds the ORDER BY of a set operation, whose result can only be ordered by its own columns. */
function orderByOutput(
  bound: BoundRelation,
  order: readonly OrderItem[],
): BoundRelation & { readonly keys: readonly OrderKey[] } {
  const keys = order.map(({ value, isDescending, nullsFirst }): OrderKey => {
    const column = outputNumber(value, bound.outputs);
    if (column === undefined) throw invalid("ORDER BY after a set operation takes the name or number of a column.");
    return { column, isDescending, nullsFirst };
  });
  return { ...bound, keys };
}

function outputNumber(value: Expression, outputs: readonly BoundOutput[]): number | undefined {
  const index =
    value.kind === "literal" && typeof value.value === "number"
      ? value.value - 1
      : value.kind === "column" && value.table === undefined
        ? outputs.findIndex(({ name }) => isNamed(value.name, name))
        : -1;
  return outputs[index] === undefined ? undefined : index;
}

/** Returns the number in a LIMIT or OFFSET: a literal or a parameter, which may also be a number in a text. */
function bindCount(expression: Expression | undefined, clause: string, binding: SelectBinding): number | undefined {
  if (expression === undefined) return undefined;
  const context = { scope: openScope(undefined), aggregates: undefined, name: clause };
  const { expr } = bindExpression(expression, context, binding);
  const value = expr.kind === "value" ? expr.value : undefined;
  const number = typeof value === "string" && /^[0-9]{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isSafeInteger(number) || number < 0) {
    throw invalid(`${clause} takes a whole number, 0 or more.`);
  }
  return number;
}
