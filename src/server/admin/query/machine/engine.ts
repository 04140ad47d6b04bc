/**
 * Restricted alasql: it gets only statements that we generate, and only the features that those need remain.
 *
 * A statement's text contains names of our own and operations as calls; every value, literals too, is a parameter. Its tree is
 * checked all the same before it is compiled to JavaScript, as a second line of defense. Unrestricted, alasql runs back-quoted
 * text as code, reads and writes files and URLs named in FROM and INTO, and uses texts of rows as keys of plain objects.
 */

import { AGGREGATES, OPERATIONS } from "../plan.ts";
import { type EngineAggregate, engineName } from "./aggregates.ts";

export type Row = Readonly<Record<string, unknown>>;
type Parameters = Readonly<Record<string, unknown>>;
type Compiled = (parameters: Parameters) => readonly Row[];

type EngineFunction = (...args: readonly never[]) => unknown;

export interface Engine {
  /** Compiles a statement. Throws if the text is not one SELECT of the known form, which is an internal error. */
  compile(text: string): Compiled;
}

/** Part of alasql that this module uses; its own types contain much more. */
interface AlaSql {
  readonly parse: (text: string) => { readonly statements: readonly unknown[] };
  fn: Record<string, EngineFunction>;
  aggr: Record<string, EngineAggregate>;
  readonly from: Record<string, unknown>;
  readonly into: Record<string, unknown>;
  readonly engines: Record<string, unknown>;
  readonly stdlib: Record<string, unknown>;
  readonly stdfn: Record<string, unknown>;
  readonly options: Record<string, unknown>;
  /** Classes of its tree, by name. */
  readonly yy: Readonly<Record<string, unknown>>;
}

interface Select {
  compile(database: string): (parameters: Parameters, done: () => void) => unknown;
}

/** Engine functions that are not operations of a plan: counting of rows, keys, conditions and sub-queries. */
const ENGINE_FUNCTIONS = [
  "TRUE",
  "ROW",
  "KEY",
  "LEFT_KEY",
  "RIGHT_KEY",
  "SORT_KIND",
  "SORT",
  "AMONG",
  "SCALAR",
  "EXISTS",
  "IN_QUERY",
] as const;
export type EngineFunctions = Readonly<Record<string, EngineFunction>>;

export const functionName = (name: string): string => `Q_${name.toUpperCase()}`;

export async function openEngine(
  functions: EngineFunctions,
  aggregates: Readonly<Record<string, EngineAggregate>>,
): Promise<Engine> {
  const alasql = ((await import("alasql")) as unknown as { readonly default: AlaSql }).default;
  for (const table of [alasql.from, alasql.into, alasql.engines, alasql.stdlib, alasql.stdfn, alasql.fn, alasql.aggr]) {
    for (const name of Object.keys(table)) delete table[name];
  }
  alasql.options["cache"] = false;
  Object.assign(alasql.fn, functions);
  Object.assign(alasql.aggr, aggregates);
  const isSelect = (node: unknown): node is Select =>
    typeof node === "object" && node !== null && kindOf(node) === "Select";
  const kinds = new Map(Object.keys(KEYS).map((kind) => [alasql.yy[kind], kind]));
  const kindOf = (node: object): string | undefined => kinds.get(Object.getPrototypeOf(node)?.constructor);
  return {
    compile(text) {
      const { statements } = alasql.parse(text);
      const [statement] = statements;
      if (statements.length !== 1 || !isSelect(statement)) throw new Error("the engine was given no SELECT");
      check(statement, kindOf);
      const run = statement.compile("alasql");
      return (parameters) => run(parameters, () => undefined) as readonly Row[];
    },
  };
}

const FUNCTIONS: ReadonlySet<string> = new Set([...OPERATIONS, ...ENGINE_FUNCTIONS].map(functionName));
const AGGREGATE_FUNCTIONS: ReadonlySet<string> = new Set(
  AGGREGATES.flatMap((name) => [engineName(name, false), engineName(name, true)]),
);
const NAME = /^[a-z]\d{1,6}$/;

/** Allowed properties of each kind of node. */
const KEYS: Readonly<Record<string, ReadonlySet<string>>> = {
  Select: new Set(["columns", "from", "joins", "where", "group", "order", "explain"]),
  Column: new Set(["columnid", "tableid", "as"]),
  FuncValue: new Set(["funcid", "args", "as"]),
  AggrValue: new Set(["aggregatorid", "funcid", "expression", "args", "distinct", "as"]),
  ParamValue: new Set(["param", "as"]),
  Join: new Set(["joinmode", "param", "as", "on"]),
  Op: new Set(["left", "op", "right"]),
  Expression: new Set(["expression", "direction"]),
  OrderExpression: new Set(["expression", "direction"]),
};

function check(node: unknown, kindOf: (node: object) => string | undefined): void {
  if (node === undefined || node === null || node === false) return;
  if (Array.isArray(node)) {
    for (const item of node) check(item, kindOf);
    return;
  }
  if (typeof node !== "object") throw new Error("the engine's tree holds a bare value");
  const kind = kindOf(node) ?? "an unknown kind";
  const known = KEYS[kind];
  for (const [key, value] of Object.entries(node)) {
    if (value === undefined) continue;
    if (known === undefined || !known.has(key)) throw new Error(`the engine's tree has ${key} of ${kind}`);
    if (typeof value === "object") check(value, kindOf);
    else checkText(kind, key, value);
  }
}

function checkText(kind: string, key: string, value: unknown): void {
  const isKnown = (): boolean => {
    if (value === false && key === "distinct") return true;
    if (typeof value !== "string") return false;
    switch (key) {
      case "funcid":
        return (kind === "AggrValue" ? AGGREGATE_FUNCTIONS : FUNCTIONS).has(value);
      case "aggregatorid":
        return value === "REDUCE";
      case "op":
        return value === "=";
      case "joinmode":
        return ["INNER", "LEFT", "CROSS"].includes(value);
      case "direction":
        return ["ASC", "DESC"].includes(value);
      default:
        return ["columnid", "tableid", "param", "as"].includes(key) && NAME.test(value);
    }
  };
  if (!isKnown()) throw new Error(`the engine's tree has an unknown ${key} in ${kind}`);
}
