/**
 * Visible rows of a table: built by the view, narrowed, filtered, sorted. Each step is repeated only when its inputs change;
 * the clock is not one of them, so that ten thousand rows stay sorted while the cursor moves.
 */

import type { Context } from "../model/context.ts";
import { createMemo, type Memo } from "../model/remember.ts";
import type { TableState } from "../model/state.ts";
import type { Table } from "../model/table.ts";
import type { TableBody, View } from "../model/view.ts";
import { filterOf } from "./filter.ts";

interface Sort {
  readonly column: string;
  readonly isDescending: boolean;
}

export interface Listing {
  readonly table: Table;
  /** Positions in the table after narrowing and filtering, in sort order; equal rows are ordered by id. */
  readonly order: readonly number[];
  /** Index into `order`; -1 if it is empty. */
  readonly cursor: number;
  /** Number of rows before narrowing and filtering. */
  readonly total: number;
  readonly sort: Sort;
  /** Error of an invalid filter, which filters nothing. */
  readonly filterError?: string;
}

const TABLES = new WeakMap<View, Memo<Table>>();
const ORDERS = createMemo<Order>(8);
const PLACES = new WeakMap<readonly number[], ReadonlyMap<string, number>>();

/**
 * Builds the view's table again when the value or the failure of one of its needs changes, not when a read is merely repeated.
 */
export function tableOfView(view: View, body: TableBody, context: Context): Table {
  let recall = TABLES.get(view);
  if (recall === undefined) {
    recall = createMemo<Table>();
    TABLES.set(view, recall);
  }
  const { subject, isReadOnly, isAscii, endpointFlags, tail, verification, recurrences, favorites, sweep, rehearsed } =
    context;
  const madeOf: unknown[] = [
    subject,
    isReadOnly,
    isAscii,
    endpointFlags,
    tail,
    verification,
    recurrences,
    favorites,
    sweep,
    rehearsed,
  ];
  madeOf.push(body.turn?.(context));
  for (const need of view.needs(subject)) {
    const reading = context.data.get(need);
    madeOf.push(reading?.value, reading?.failure);
  }
  return recall(madeOf, () => body.table(context));
}

export function listingIn(table: Table, body: TableBody, of: TableState): Listing {
  const sort = sortIn(table, body, of);
  const { order, filterError } = ORDERS([table, of.filter, of.isNarrowed, sort.column, sort.isDescending], () =>
    orderOf(table, of, sort),
  );
  return {
    table,
    order,
    cursor: cursorIn(table, order, of),
    total: table.count,
    sort,
    ...(filterError !== undefined && { filterError }),
  };
}

/** Returns the index of a row in `order`; `undefined` if it is missing. */
export function placeOfRow(table: Table, order: readonly number[], id: string): number | undefined {
  let places = PLACES.get(order);
  if (places === undefined) {
    places = new Map(order.map((at, index) => [table.idOf(at), index]));
    PLACES.set(order, places);
  }
  return places.get(id);
}

function cursorIn(table: Table, order: readonly number[], { cursorId, cursorAt }: TableState): number {
  const id = cursorId ?? table.startId;
  if (id === undefined) return order.length === 0 ? -1 : 0;
  return placeOfRow(table, order, id) ?? Math.min(cursorAt, order.length - 1);
}

/** Returns the operator's sort if the table has such a column, otherwise the view's default. */
function sortIn({ columns }: Table, body: TableBody, { sort }: TableState): Sort {
  return sort !== undefined && columns.some(({ id }) => id === sort.column) ? sort : body.sort;
}

const REDUCED = createMemo<Table>(8);

/** Returns the table without hidden columns, or with all columns if none would be left. */
export function withoutColumns(table: Table, hidden: readonly string[] | undefined): Table {
  if (hidden === undefined) return table;
  return REDUCED([table, hidden], () => {
    const kept = table.columns.flatMap(({ id }, at) => (hidden.includes(id) ? [] : [at]));
    if (kept.length === 0 || kept.length === table.columns.length) return table;
    const full = (column: number): number => kept[column] ?? column;
    return {
      ...table,
      columns: kept.flatMap((at) => table.columns[at] ?? []),
      cell: (at, column, now) => table.cell(at, full(column), now),
      sortKey: (at, column) => table.sortKey(at, full(column)),
    };
  });
}

interface Order {
  readonly order: readonly number[];
  readonly filterError?: string;
}

function orderOf(table: Table, { filter: text, isNarrowed }: TableState, { column, isDescending }: Sort): Order {
  const filter = filterOf(text);
  const kept: number[] = [];
  for (let at = 0; at < table.count; at += 1) {
    if (isNarrowed && !table.isBad(at)) continue;
    if (filter.kind === "match" && !filter.test(table.haystack(at))) continue;
    kept.push(at);
  }
  const by = table.columns.findIndex(({ id }) => id === column);
  const rows = kept.map((at) => ({ at, key: by === -1 ? null : keyOf(table.sortKey(at, by)), id: table.idOf(at) }));
  rows.sort((a, b) => compareKeys(a.key, b.key, isDescending) || compareTexts(a.id, b.id));
  return { order: rows.map(({ at }) => at), ...(filter.kind === "wrong" && { filterError: filter.message }) };
}

type Key = string | number | null;

/** Normalizes a key: ignores case, and treats NaN like null. */
const keyOf = (key: Key): Key => (typeof key === "string" ? key.toLowerCase() : Number.isNaN(key) ? null : key);

/** Compares keys: null last in both directions, numbers before texts. */
function compareKeys(a: Key, b: Key, isDescending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order =
    typeof a === "number"
      ? typeof b === "number"
        ? Math.sign(a - b) || 0
        : -1
      : typeof b === "number"
        ? 1
        : compareTexts(a, b);
  return isDescending ? -order : order;
}

/** Compares by code point. In UTF-16, surrogates belong to larger code points than any other unit, so they sort last. */
export function compareTexts(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  for (let at = 0; at < most; at += 1) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x !== y) return weight(x) - weight(y);
  }
  return a.length - b.length;
}

const weight = (unit: number): number => (unit < 0xd800 ? unit : unit > 0xdfff ? unit - 0x800 : unit + 0x2000);
