/**
 * Unpacks rows of `usage` from the packed parts of the ledger, in the worker: there may be a million, of which a statement
 * needs a few hundred sums. Rows that the statement excludes are not made, and rows that it cannot distinguish are merged, in
 * the position of the first of them.
 */

import { NAMED_FIELDS } from "../../core/state/index.ts";
import { cellValue, FIELD, partNames, scanText } from "../usage-parts.ts";
import { type Row, StatementError } from "./machine/index.ts";
import type { NeededRows } from "./needed-rows.ts";
import type { Expr } from "./plan.ts";

/** Maximum number of rows that are made: the number of small rows that fit into the worker's memory. */
const MAX_ROWS = 400_000;

/** Maximum number of prefixes in a merge. Rows are merged by a tree of column values, in which each prefix has a number. */
const MAX_PREFIXES = 2 ** 26;
/** Limits below which a pair of prefix and value fits into a small integer, which V8's maps find several times as fast. */
const NARROW_VALUES = 2 ** 12;
const NARROW_BEFORE = 2 ** 18;

const COUNT_FIELDS: ReadonlySet<string> = new Set(
  Object.entries(FIELD).flatMap(([name, field]) => (field >= NAMED_FIELDS ? [name] : [])),
);

/** Returns the columns of integers without NULL, for `neededRowsOf`. */
export const countsAmong = (columns: readonly string[]): ReadonlySet<number> =>
  new Set(columns.flatMap((name, column) => (COUNT_FIELDS.has(name) ? [column] : [])));

type ConditionTest = (condition: Expr, value: string | number | null) => boolean;

export interface Unpacker {
  /** Returns whether a part may contain rows that the statement needs. */
  isWanted(label: string): boolean;
  /** Adds the rows of a part that the statement needs. Throws a `StatementError` if that makes too many rows. */
  add(label: string, texts: readonly string[]): void;
  /** Returns the rows of all added parts. Must be called once, at the end. */
  rows(): Row[];
}

interface Column {
  /** Name of the property in the row. */
  readonly key: string;
  /** Index in the packed row; `undefined` for `hour`, which is the label of the part. */
  readonly field: number | undefined;
  readonly conditions: readonly Expr[];
  readonly isSummed: boolean;
}

/** Opens an unpacker. `columns`: columns in the plan. `holds`: returns whether a condition may be true for a value. */
export function openUnpacker(
  columns: readonly string[],
  { conditions, summed }: NeededRows,
  holds: ConditionTest,
): Unpacker {
  const all = columns.map(
    (name, at): Column => ({
      key: `c${at}`,
      field: name === "hour" ? undefined : FIELD[name as keyof typeof FIELD],
      conditions: conditions.filter(({ column }) => column === at).map(({ condition }) => condition),
      isSummed: summed?.has(at) === true,
    }),
  );
  const hour = all.find(({ field }) => field === undefined);
  const inRows = all.filter((column): column is Column & { readonly field: number } => column.field !== undefined);
  const tested = inRows.filter((column) => column.conditions.length > 0);
  const added = inRows.filter(({ isSummed }) => isSummed);
  const fields = new Set(inRows.map(({ field }) => field));
  const keyColumns = inRows.filter(({ isSummed }) => !isSummed);
  const rows: Record<string, unknown>[] = [];
  /** Sums by summed column and row, which are written into the rows at the end. */
  const sums = added.map((): number[] => []);
  const places = openPrefixTree(keyColumns.length);
  const holdsAll = ({ conditions: asked }: Column, value: string | number | null): boolean =>
    asked.every((condition) => holds(condition, value));

  const make = (label: string, row: readonly number[], names: readonly string[]): void => {
    if (rows.length === MAX_ROWS) throw tooManyRows();
    const made: Record<string, unknown> = {};
    for (const { key, field } of all) {
      made[key] = field === undefined ? label : cellValue(field, row[field] ?? 0, names);
    }
    rows.push(made);
  };
  return {
    isWanted: (label) => hour === undefined || holdsAll(hour, label),
    add(label, texts) {
      const names = partNames(texts);
      const isKept = tested.map((column) =>
        memoized(column.field, (value) => holdsAll(column, cellValue(column.field, value, names))),
      );
      const numbers = keyColumns.map(({ field }) =>
        memoized(field, (value) => places.number(cellValue(field, value, names))),
      );
      const first = hour === undefined ? 0 : places.number(label);
      const visit = (row: readonly number[]): void => {
        for (let at = 0; at < tested.length; at += 1) {
          if (!isKept[at]!(row[tested[at]!.field]!)) return;
        }
        if (summed === undefined) {
          make(label, row, names);
          return;
        }
        let place = first;
        for (let at = 0; at < keyColumns.length; at += 1)
          place = places.pair(at, place, numbers[at]!(row[keyColumns[at]!.field]!));
        const known = places.row(place);
        if (known === undefined) {
          places.put(place, rows.length);
          make(label, row, names);
          for (let at = 0; at < added.length; at += 1) sums[at]!.push(row[added[at]!.field]!);
          return;
        }
        for (let at = 0; at < added.length; at += 1) sums[at]![known]! += row[added[at]!.field]!;
      };
      for (const text of texts) scanText(text, visit, fields);
    },
    rows() {
      for (const [at, { key }] of added.entries()) {
        for (const [place, sum] of sums[at]!.entries()) rows[place]![key] = sum;
      }
      return rows;
    },
  };
}

/** Caches results by number for fields that refer to names, whose numbers are small. */
function memoized<T>(field: number, compute: (value: number) => T): (value: number) => T {
  if (field >= NAMED_FIELDS) return compute;
  const known: (T | undefined)[] = [];
  return (value) => {
    const found = known[value] ?? compute(value);
    known[value] = found;
    return found;
  };
}

interface PrefixTree {
  /** Returns the number of a value. Numbers begin at 0. */
  number(value: string | number | null): number;
  /** Returns the number of the prefix that extends prefix `before` by a value, at `depth` columns. */
  pair(depth: number, before: number, value: number): number;
  row(place: number): number | undefined;
  put(place: number, row: number): void;
}

function openPrefixTree(depths: number): PrefixTree {
  const numbers = new Map<string | number | null, number>();
  const narrow = Array.from({ length: depths }, () => new Map<number, number>());
  const wide = Array.from({ length: depths }, () => new Map<number, number>());
  const rows: number[] = [];
  return {
    number: (value) => numberIn(numbers, value, 0),
    pair(depth, before, value) {
      const [few, many] = [narrow[depth]!, wide[depth]!];
      return value < NARROW_VALUES && before < NARROW_BEFORE
        ? numberIn(few, before * NARROW_VALUES + value, many.size)
        : numberIn(many, before * MAX_PREFIXES + value, few.size);
    },
    row: (place) => rows[place],
    put(place, row) {
      rows[place] = row;
    },
  };
}

/** Returns the number of a value in `numbers`; a new value gets the next one. `others`: count of numbers in the other map. */
function numberIn<K>(numbers: Map<K, number>, value: K, others: number): number {
  let number = numbers.get(value);
  if (number === undefined) {
    number = numbers.size + others;
    if (number >= MAX_PREFIXES) throw tooManyRows();
    numbers.set(value, number);
  }
  return number;
}

const tooManyRows = (): StatementError =>
  new StatementError(
    `The statement reads more than ${MAX_ROWS} rows of \`usage\`: narrow \`hour\`, or name fewer columns beside sums.`,
    "rows",
  );
