/** Functions that a statement may call, and the result types of operations. */

import { closestName } from "../../../base/index.ts";
import type { AggregateName, Operation, SqlType } from "./plan.ts";
import { invalid } from "./tokens.ts";

/** Minimum and maximum number of arguments. */
type Arity = readonly [min: number, max: number];

const SCALARS: Readonly<Record<string, readonly [Operation, ...Arity]>> = {
  upper: ["upper", 1, 1],
  lower: ["lower", 1, 1],
  trim: ["trim", 1, 1],
  ltrim: ["ltrim", 1, 1],
  rtrim: ["rtrim", 1, 1],
  substr: ["substr", 2, 3],
  substring: ["substr", 2, 3],
  length: ["length", 1, 1],
  replace: ["replace", 3, 3],
  instr: ["instr", 2, 2],
  round: ["round", 1, 2],
  floor: ["floor", 1, 1],
  ceil: ["ceil", 1, 1],
  ceiling: ["ceil", 1, 1],
  abs: ["abs", 1, 1],
  coalesce: ["coalesce", 1, 64],
  ifnull: ["coalesce", 2, 2],
  nullif: ["nullif", 2, 2],
  epoch: ["epoch", 1, 1],
  json_array_length: ["json_array_length", 1, 1],
};

const AGGREGATES: Readonly<Record<string, readonly [AggregateName, ...Arity]>> = {
  count: ["count", 1, 1],
  sum: ["sum", 1, 1],
  avg: ["avg", 1, 1],
  min: ["min", 1, 1],
  max: ["max", 1, 1],
  group_concat: ["group_concat", 1, 2],
};

export const FUNCTION_NAMES = [...Object.keys(SCALARS), ...Object.keys(AGGREGATES), "now"].sort();

type FunctionCall =
  | { readonly kind: "scalar"; readonly operation: Operation }
  | { readonly kind: "aggregate"; readonly name: AggregateName };

/** Returns the function called `name` with this number of arguments; throws if there is none. */
export function functionOf(name: string, args: number): FunctionCall {
  const scalar = Object.hasOwn(SCALARS, name) ? SCALARS[name] : undefined;
  const aggregate = Object.hasOwn(AGGREGATES, name) ? AGGREGATES[name] : undefined;
  const [, min, max] = scalar ?? aggregate ?? [undefined, 0, 0];
  if (scalar === undefined && aggregate === undefined) throw unknownFunction(name);
  if (args < min || args > max) {
    const wanted = min === max ? `${min}` : `${min} to ${max}`;
    throw invalid(`\`${name}\` takes ${wanted} ${wanted === "1" ? "argument" : "arguments"}, not ${args}.`);
  }
  if (scalar !== undefined) return { kind: "scalar", operation: scalar[0] };
  return { kind: "aggregate", name: aggregate?.[0] ?? "count" };
}

function unknownFunction(name: string): Error {
  if (name === "concat") return invalid("There is no function `concat`: texts are joined with `||`.");
  const near = closestName(name, FUNCTION_NAMES);
  const hint = near === undefined ? `; there are ${FUNCTION_NAMES.join(", ")}` : `; did you mean \`${near}\`?`;
  return invalid(`There is no function \`${name}\`${hint}${hint.endsWith("?") ? "" : "."}`);
}

const isNumeric = (type: SqlType): boolean => type === "integer" || type === "real";

/** Returns the common type of values whose types are among `types`. */
export function commonType(types: readonly SqlType[]): SqlType {
  const known = new Set(types.filter((type) => type !== "unknown"));
  const [first = "unknown", ...others] = known;
  if (others.length === 0) return first;
  return [...known].every(isNumeric) ? "real" : "unknown";
}

/** Returns the result types of a CASE: of the value after each condition, and of ELSE. */
const branchTypes = (types: readonly SqlType[], from: number): readonly SqlType[] =>
  types.filter((_, index) => index === types.length - 1 || (index >= from && (index - from) % 2 === 0));

function arithmeticType(types: readonly SqlType[]): SqlType {
  if (types.includes("real")) return "real";
  return types.every((type) => type === "integer") ? "integer" : "unknown";
}

export function resultType(operation: Operation, types: readonly SqlType[]): SqlType {
  const [first = "unknown"] = types;
  switch (operation) {
    case "and":
    case "or":
    case "not":
    case "eq":
    case "ne":
    case "lt":
    case "le":
    case "gt":
    case "ge":
    case "is_same":
    case "is_null":
    case "is_true":
    case "is_false":
    case "between":
    case "like":
    case "in":
    case "cast_boolean":
      return "boolean";
    case "add":
    case "sub":
    case "mul":
    case "div":
    case "mod":
      return arithmeticType(types);
    case "neg":
    case "plus":
    case "abs":
      return isNumeric(first) ? first : "unknown";
    case "div_integer":
    case "cast_integer":
    case "length":
    case "instr":
    case "floor":
    case "ceil":
    case "json_array_length":
      return "integer";
    case "div_real":
    case "cast_real":
    case "round":
    case "epoch":
      return "real";
    case "concat":
    case "json_text":
    case "cast_text":
    case "upper":
    case "lower":
    case "trim":
    case "ltrim":
    case "rtrim":
    case "substr":
    case "replace":
      return "text";
    case "case":
      return commonType(branchTypes(types, 1));
    case "case_of":
      return commonType(branchTypes(types, 2));
    case "coalesce":
      return commonType(types);
    case "nullif":
      return first;
    default:
      return operation satisfies never;
  }
}

export function aggregateType(name: AggregateName, first: SqlType): SqlType {
  switch (name) {
    case "count":
    case "count_rows":
    case "sides":
      return "integer";
    case "avg":
      return "real";
    case "sum":
      return isNumeric(first) ? first : first === "boolean" ? "integer" : "unknown";
    case "min":
    case "max":
    case "first":
      return first;
    case "group_concat":
      return "text";
    default:
      return name satisfies never;
  }
}
