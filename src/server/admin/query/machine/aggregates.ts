/**
 * Aggregates in the form that the engine calls: with the first values of a group (stage 1), with all further values (stage 2),
 * and at the end (stage 3; there is no state if the group has no rows). NULLs are ignored, except by `count(*)`.
 */

import type { AggregateName, Value } from "../plan.ts";
import { type Budget, StatementError } from "./budget.ts";
import { type Cell, compare, keyText } from "./compare.ts";
import { addFinite, toNumber } from "./scalar-operations.ts";
import { textOf } from "./text-functions.ts";

/** Aggregate function: initial state of a group, and its change by a value that is not NULL. */
interface Rule {
  readonly start: () => State;
  readonly add: (state: State, value: Exclude<Value, null>, more: Cell, budget: Budget) => void;
  readonly end: (state: State) => Value;
  /** Result for no rows. */
  readonly empty: Value;
}

interface State {
  count: number;
  value: Value;
  seen: Set<string> | undefined;
}

const start = (): State => ({ count: 0, value: null, seen: undefined });
const ownValue = ({ value }: State): Value => value;

const extreme = (isBetter: (order: number) => boolean): Rule => ({
  start,
  add(state, value) {
    const order = compare(value, state.value);
    if (order === null || isBetter(order)) state.value = value;
  },
  end: ownValue,
  empty: null,
});

function countUp(state: State): void {
  state.count += 1;
}

function addUp(state: State, value: Exclude<Value, null>): void {
  state.count += 1;
  state.value = addFinite(Number(state.value ?? 0), toNumber(value) ?? 0);
}

const RULES: Readonly<Record<Exclude<AggregateName, "first" | "count_rows">, Rule>> = {
  count: { start, add: countUp, end: ({ count }) => count, empty: 0 },
  sum: { start, add: addUp, end: ownValue, empty: null },
  avg: {
    start,
    add: addUp,
    end: ({ count, value }) => (count === 0 ? null : Number(value) / count),
    empty: null,
  },
  min: extreme((order) => order < 0),
  max: extreme((order) => order > 0),
  group_concat: {
    start,
    add(state, value, separator, budget) {
      if (separator == null) throw new StatementError("The separator of group_concat is NULL.");
      const more = `${state.value === null ? "" : textOf(separator)}${textOf(value)}`;
      const known = state.value === null ? "" : String(state.value);
      budget.countText(known.length + more.length > 65_536 ? known.length + more.length : more.length);
      state.value = known + more;
    },
    end: ownValue,
    empty: null,
  },
  sides: {
    start,
    add(state, value) {
      state.value = Number(state.value ?? 0) | Number(value);
    },
    end: ownValue,
    empty: null,
  },
};

type Stage = 1 | 2 | 3;
export type EngineAggregate = (...args: readonly unknown[]) => unknown;

/** Aggregates by their name in the engine; those that count each distinct value once end in `_D`. */
export function openAggregates(budget: Budget): Readonly<Record<string, EngineAggregate>> {
  const of = (rule: Rule, isDistinct: boolean): EngineAggregate => {
    const add = (state: State, value: Cell, more: Cell): State => {
      if (value == null) return state;
      if (isDistinct) {
        const key = keyText([value]);
        state.seen ??= new Set();
        if (state.seen.has(key)) return state;
        budget.countKept(key);
        state.seen.add(key);
      }
      rule.add(state, value, more, budget);
      return state;
    };
    return (value, more, state, stage) => {
      switch (stage as Stage) {
        case 1:
          budget.countGroup();
          return add(rule.start(), value as Cell, more as Cell);
        case 2:
          return add(state as State, value as Cell, more as Cell);
        default:
          return state === undefined ? rule.empty : rule.end(state as State);
      }
    };
  };
  const aggregates: Record<string, EngineAggregate> = {};
  for (const [name, rule] of Object.entries(RULES)) {
    aggregates[engineName(name, false)] = of(rule, false);
    aggregates[engineName(name, true)] = of(rule, true);
  }
  const rows = of(RULES.count, false);
  aggregates[engineName("count_rows", false)] = (_value, more, state, stage) => rows(true, more, state, stage);
  // Unlike the others, `first` does not skip NULL: if the first value is NULL, so is the result.
  aggregates[engineName("first", false)] = (value, _more, state, stage) => {
    if (stage !== 1) return stage === 2 ? state : ((state as { readonly first: Cell } | undefined)?.first ?? null);
    budget.countGroup();
    return { first: value as Cell };
  };
  return aggregates;
}

export const engineName = (name: string, isDistinct: boolean): string =>
  `A_${name.toUpperCase()}${isDistinct ? "_D" : ""}`;
