/**
 * Runs a plan: each SELECT, grouping and ordering is a separate statement for the engine, over the rows of its sources.
 *
 * A statement is compiled once, at its first run. The result of a sub-query is cached by the values of its slots: it runs once
 * for all rows with the same values. Nothing is kept between plans.
 */

import type { Expr, Plan, Relation, SelectRelation, Value } from "../plan.ts";
import { openAggregates } from "./aggregates.ts";
import { type Budget, openBudget, StatementError } from "./budget.ts";
import { type Cell, keyText, leftKey, rightKey, sortKind, sortText } from "./compare.ts";
import { type Engine, type EngineFunctions, functionName, openEngine, type Row } from "./engine.ts";
import { mayBeTrue } from "./row-filter.ts";
import { isAmong, openOperations, toCondition } from "./scalar-operations.ts";
import { groupsStatement, orderStatement, rowsStatement, type Statement } from "./statement.ts";

/** Maximum number of cached results of one sub-query; each is small. */
const MAX_CACHED_RESULTS = 10_000;

interface PlanExecutor {
  /** Runs a plan. `tables` are the rows of the plan's tables, with columns in its order. `now` is in RFC 3339. */
  run(plan: Plan, tables: readonly (readonly Row[])[], now: string): readonly Row[];
  /** Returns a filter for values of one column before `run`: whether a condition over that column may be true for a value. */
  openRowFilter(now: string): (condition: Expr, value: Value) => boolean;
}

interface SubQuery {
  readonly rows: (outer: readonly Cell[]) => readonly Row[];
  readonly cache: Map<string, unknown>;
}

/** Returns rows for the slot values of the enclosing sub-query. */
type Runner = (outer: readonly Cell[]) => readonly Row[];

export async function openPlanExecutor(): Promise<PlanExecutor> {
  const budget = openBudget();
  const evaluate = <T>(query: SubQuery, outer: readonly Cell[], read: (rows: readonly Row[]) => T): T => {
    const key = keyText(outer);
    if (query.cache.has(key)) return query.cache.get(key) as T;
    const { usedCells } = budget;
    const value = read(query.rows(outer));
    budget.releaseTo(usedCells, Array.isArray(value) ? value.length : 1, 1);
    budget.countKept(key);
    if (query.cache.size >= MAX_CACHED_RESULTS) query.cache.clear();
    query.cache.set(key, value);
    return value;
  };
  const applied = openOperations(budget);
  const operations = Object.entries(applied).map(([name, apply]) => [functionName(name), apply]);
  const engine = await openEngine(
    {
      ...Object.fromEntries(operations),
      Q_TRUE: (value: Cell) => toCondition(value) === true,
      Q_ROW(width: number, value: Cell) {
        if (toCondition(value) !== true) return false;
        budget.countRow(width);
        return true;
      },
      Q_KEY: (...values: readonly Cell[]) => keyText(values),
      Q_LEFT_KEY: leftKey,
      Q_RIGHT_KEY: rightKey,
      Q_SORT_KIND: sortKind,
      Q_SORT: sortText,
      Q_AMONG: among,
      Q_SCALAR: (query: SubQuery, ...outer: readonly Cell[]) => evaluate(query, outer, scalar),
      Q_EXISTS: (query: SubQuery, ...outer: readonly Cell[]) => evaluate(query, outer, (rows) => rows.length > 0),
      Q_IN_QUERY: (query: SubQuery, value: Cell, ...outer: readonly Cell[]) =>
        among(
          value,
          evaluate(query, outer, (rows) => rows.map((row) => row["c0"] as Cell)),
        ),
    } as EngineFunctions,
    openAggregates(budget),
  );
  return {
    run(plan, tables, now) {
      budget.reset();
      for (const [index, { columns }] of plan.tables.entries()) {
        budget.releaseTo(budget.usedCells, tables[index]?.length ?? 0, columns.length);
      }
      const shared: (readonly Row[])[] = [];
      const context: Context = { engine, tables, shared, now, budget };
      // Common tables run before the statement itself; their rows are kept until its end.
      for (const relation of plan.shared) shared.push(runner(relation, context)([]));
      return runner(plan.query, context)([]);
    },
    openRowFilter(now) {
      budget.reset();
      return (condition, value) => mayBeTrue(condition, value, { operations: applied, now });
    },
  };
}

interface Context {
  readonly engine: Engine;
  readonly tables: readonly (readonly Row[])[];
  readonly shared: readonly (readonly Row[])[];
  readonly now: string;
  readonly budget: Budget;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function scalar(rows: readonly Row[]): Cell {
  if (rows.length > 1) throw new StatementError("A sub-query used as a value came to more than one row.");
  return (rows[0]?.["c0"] ?? null) as Cell;
}

/** Cached sets for the lists of `IN`; `undefined` for a list with values of several kinds. */
const itemSets = new WeakMap<readonly Cell[], { readonly kind: string; readonly set: ReadonlySet<Cell> } | undefined>();

function among(value: Cell, items: readonly Cell[]): Value {
  if (!itemSets.has(items)) {
    const kinds = new Set(items.map((item) => (item == null ? "null" : typeof item)));
    const [kind] = kinds;
    itemSets.set(items, kinds.size === 1 && kind !== undefined ? { kind, set: new Set(items) } : undefined);
  }
  const known = itemSets.get(items);
  if (known === undefined || typeof value !== known.kind) return isAmong(value, items);
  return known.set.has(value);
}

function runner(relation: Relation, context: Context): Runner {
  switch (relation.kind) {
    case "table":
      return () => context.tables[relation.table] ?? [];
    case "shared":
      return () => context.shared[relation.index] ?? [];
    case "select":
      return selectRunner(relation, context);
    case "distinct":
      return releasing(relation.width, context, distinctRunner(runner(relation.of, context), relation.width, context));
    case "set":
      return releasing(relation.width, context, setRunner(relation, context));
    case "order":
      return releasing(relation.width, context, orderRunner(relation, context));
    default:
      return relation satisfies never;
  }
}

/** Wraps a runner so that the counts of its intermediate results are released when its rows are complete. */
function releasing(width: number, { budget }: Context, run: Runner): Runner {
  return (outer) => {
    const { usedCells } = budget;
    const rows = run(outer);
    budget.releaseTo(usedCells, rows.length, width);
    return rows;
  };
}

/** Returns a runner of an engine statement over sources, compiled at the first run. */
function statementRunner(write: () => Statement, sources: readonly Runner[], { engine, now }: Context): Runner {
  const compiled = once(() => {
    const { text, parameters } = write();
    return { run: engine.compile(text), parameters };
  });
  return (outer) => {
    const { run, parameters } = compiled();
    const rows = sources.map((source, index): [string, readonly Row[]] => [`t${index}`, source(outer)]);
    const slots = outer.map((value, slot): [string, Cell] => [`o${slot}`, value ?? null]);
    return run({ ...parameters, ...Object.fromEntries(rows), ...Object.fromEntries(slots), n0: now });
  };
}

const ONE_ROW: readonly Row[] = [{}];

function selectRunner(select: SelectRelation, context: Context): Runner {
  const { sources, where, group, having, outputs } = select;
  const read = sources.length === 0 ? [() => ONE_ROW] : sources.map(({ relation }) => runner(relation, context));
  const subQueries = (query: Extract<Expr, { kind: "query" }>): SubQuery => ({
    rows: runner(query.query, context),
    cache: new Map(),
  });
  if (group === undefined) {
    const rows = statementRunner(() => rowsStatement(sources, where, outputs, subQueries), read, context);
    return releasing(outputs.length, context, rows);
  }
  const groups = statementRunner(() => groupsStatement(sources, where, group, subQueries), read, context);
  const after = statementRunner(() => rowsStatement([], having, outputs, subQueries), [groups], context);
  return releasing(outputs.length, context, after);
}

const columnsOf = (width: number): readonly Expr[] =>
  Array.from({ length: width }, (_, column) => ({ kind: "column", source: 0, column }));

function distinctRunner(of: Runner, width: number, context: Context): Runner {
  const group = { keys: columnsOf(width), aggregates: [] };
  return statementRunner(() => groupsStatement([], undefined, group, () => undefined), [of], context);
}

type SetRelation = Extract<Relation, { kind: "set" }>;

const SIDE = { left: 1, right: 2, both: 3 } as const;

function setRunner({ operator, left, right, width }: SetRelation, context: Context): Runner {
  const [first, second] = [runner(left, context), runner(right, context)];
  const all: Runner = (outer) => [...first(outer), ...second(outer)];
  if (operator === "union all") return all;
  if (operator === "union") return distinctRunner(all, width, context);
  const side = `c${width}`;
  const marked: Runner = (outer) => [
    ...first(outer).map((row) => ({ ...row, [side]: SIDE.left })),
    ...second(outer).map((row) => ({ ...row, [side]: SIDE.right })),
  ];
  const sides = { name: "sides", args: [{ kind: "column", source: 0, column: width }], isDistinct: false } as const;
  const group = { keys: columnsOf(width), aggregates: [sides] };
  const merged = statementRunner(() => groupsStatement([], undefined, group, () => undefined), [marked], context);
  const wanted = operator === "intersect" ? SIDE.both : SIDE.left;
  return (outer) => merged(outer).filter((row) => row[side] === wanted);
}

type OrderRelation = Extract<Relation, { kind: "order" }>;

function orderRunner({ of, keys, limit, offset, width }: OrderRelation, context: Context): Runner {
  const source = runner(of, context);
  const ordered = keys.length === 0 ? source : statementRunner(() => orderStatement(keys, width), [source], context);
  return (outer) => {
    const rows = ordered(outer);
    return offset === 0 && limit === undefined
      ? rows
      : rows.slice(offset, limit === undefined ? undefined : offset + limit);
  };
}
