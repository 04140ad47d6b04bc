/** Generates the engine's text of one step of a plan, with its parameters. Sources are `s0`, `s1`, …, columns `c0`, … */

import type { Aggregate, Expr, Source, Value } from "../plan.ts";
import { engineName } from "./aggregates.ts";
import { functionName } from "./engine.ts";

/** Statement for the engine. Parameters: `v…` constants, `o…` slots of a sub-query, `t…` rows, `n0` the current time. */
export interface Statement {
  readonly text: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Returns the value of the parameter that represents a sub-query. */
type SubQueries = (query: Extract<Expr, { kind: "query" }>) => unknown;

interface Writer {
  readonly parameters: Record<string, unknown>;
  readonly expr: (expr: Expr) => string;
  readonly param: (value: unknown) => string;
}

function openWriter(subQueries: SubQueries): Writer {
  const parameters: Record<string, unknown> = {};
  let count = 0;
  const param = (value: unknown): string => {
    const name = `v${count}`;
    count += 1;
    parameters[name] = value;
    return `$${name}`;
  };
  const call = (name: string, args: readonly string[]): string => `${functionName(name)}(${args.join(",")})`;
  const expr = (it: Expr): string => {
    switch (it.kind) {
      case "value":
        return param(it.value);
      case "now":
        return "$n0";
      case "column":
        return `s${it.source}.c${it.column}`;
      case "outer":
        return `$o${it.slot}`;
      case "call":
        return call(it.operation, it.args.map(expr));
      case "in-values":
        return call("among", [expr(it.operand), param(it.values)]);
      case "query": {
        const operand = it.operand === undefined ? [] : [expr(it.operand)];
        const form = it.form === "in" ? "in_query" : it.form;
        return call(form, [param(subQueries(it)), ...operand, ...it.outer.map(expr)]);
      }
      default:
        return it satisfies never;
    }
  };
  return { parameters, expr, param };
}

function fromText(sources: readonly Source[], { expr }: Writer): string {
  if (sources.length === 0) return "FROM $t0 AS s0";
  const keys = (name: string, side: readonly Expr[]): string => `${functionName(name)}(${side.map(expr).join(",")})`;
  const parts = sources.map(({ join, keys: pairs, on }, index) => {
    const source = `$t${index} AS s${index}`;
    if (index === 0) return source;
    const kind = join === "left" ? "LEFT JOIN" : "INNER JOIN";
    if (pairs.length > 0) {
      const left = keys(
        "left_key",
        pairs.map((pair) => pair.left),
      );
      return `${kind} ${source} ON ${left} = ${keys(
        "right_key",
        pairs.map((pair) => pair.right),
      )}`;
    }
    if (join === "inner") return `CROSS JOIN ${source}`;
    return `${kind} ${source} ON ${keys("true", on === undefined ? [TRUE] : [on])}`;
  });
  return `FROM ${parts.join(" ")}`;
}

const TRUE: Expr = { kind: "value", value: true satisfies Value };

/** Generates a statement from rows to rows. Each row that is kept is counted with its width. */
export function rowsStatement(
  sources: readonly Source[],
  where: Expr | undefined,
  outputs: readonly Expr[],
  subQueries: SubQueries,
): Statement {
  const writer = openWriter(subQueries);
  const columns = outputs.map((output, index) => `${writer.expr(output)} AS c${index}`);
  const from = fromText(sources, writer);
  const condition = `${functionName("row")}(${writer.param(outputs.length)},${writer.expr(where ?? TRUE)})`;
  return { text: `SELECT ${columns.join(",")} ${from} WHERE ${condition}`, parameters: writer.parameters };
}

/** Aggregate of a group that needs none (`SELECT 1 FROM t HAVING true`): the engine requires at least one column. */
const NOTHING_ASKED: readonly Aggregate[] = [{ name: "count_rows", args: [], isDistinct: false }];

/**
 * Generates a statement from rows to groups: their keys, then their aggregates. Without keys there is one group, even of no
 * rows.
 */
export function groupsStatement(
  sources: readonly Source[],
  where: Expr | undefined,
  group: { readonly keys: readonly Expr[]; readonly aggregates: readonly Aggregate[] },
  subQueries: SubQueries,
): Statement {
  const writer = openWriter(subQueries);
  const { keys, aggregates } = group;
  const all: readonly Aggregate[] = [
    ...keys.map((key): Aggregate => ({ name: "first", args: [key], isDistinct: false })),
    ...aggregates,
  ];
  const columns = (all.length > 0 ? all : NOTHING_ASKED).map(({ name, args, isDistinct }, index) => {
    const value = args[0] === undefined ? writer.param(true) : writer.expr(args[0]);
    const more = args[1] === undefined ? writer.param(",") : writer.expr(args[1]);
    return `${engineName(name, isDistinct)}(${value},${more}) AS c${index}`;
  });
  const from = fromText(sources, writer);
  const condition = where === undefined ? "" : ` WHERE ${functionName("true")}(${writer.expr(where)})`;
  const by = keys.length === 0 ? "" : ` GROUP BY ${functionName("key")}(${keys.map(writer.expr).join(",")})`;
  return { text: `SELECT ${columns.join(",")} ${from}${condition}${by}`, parameters: writer.parameters };
}

/** Generates a statement that orders the rows of one source. */
export function orderStatement(
  keys: readonly { readonly column: number; readonly isDescending: boolean; readonly nullsFirst: boolean }[],
  width: number,
): Statement {
  const writer = openWriter(() => undefined);
  const columns = Array.from({ length: width }, (_, index) => `s0.c${index} AS c${index}`);
  const by = keys.flatMap(({ column, isDescending, nullsFirst }) => {
    const isNullLeast = writer.param(nullsFirst !== isDescending);
    const direction = isDescending ? " DESC" : "";
    const kind = `${functionName("sort_kind")}(s0.c${column},${isNullLeast})${direction}`;
    return [kind, `${functionName("sort")}(s0.c${column})${direction}`];
  });
  return { text: `SELECT ${columns.join(",")} FROM $t0 AS s0 ORDER BY ${by.join(",")}`, parameters: writer.parameters };
}
