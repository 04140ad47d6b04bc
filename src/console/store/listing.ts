/**
 * The rows of a table as they are seen: made by the view, narrowed, filtered, sorted. Each of these is done again only
 * when what it depends on has changed, which the clock is not: ten thousand rows stay sorted under a moving cursor.
 */

import type { Context } from "../model/context.ts";
import { createRecall, type Recall } from "../model/remember.ts";
import type { TableState } from "../model/state.ts";
import type { Table } from "../model/table.ts";
import type { TableBody, View } from "../model/view.ts";
import { filterOf } from "./filter.ts";

export interface Sort {
  readonly column: string;
  readonly isDescending: boolean;
}

export interface Listing {
  readonly table: Table;
  /** Positions in the table after narrowing and filter, in the order of the sort; equal ones by id. */
  readonly order: readonly number[];
  /** Index into `order`; -1 when it is empty. */
  readonly cursor: number;
  /** Rows before narrowing and filter. */
  readonly total: number;
  readonly sort: Sort;
  /** Why the filter is none; it then filters nothing. */
  readonly filterError?: string;
}

const TABLES = new WeakMap<View, Recall<Table>>();
const ORDERS = createRecall<Order>(8);
const PLACES = new WeakMap<readonly number[], ReadonlyMap<string, number>>();

/** Made anew when the answer or the failure of one of the view's needs is another one; being asked again is no change. */
export function tableOfView(view: View, body: TableBody, context: Context): Table {
  let recall = TABLES.get(view);
  if (recall === undefined) {
    recall = createRecall<Table>();
    TABLES.set(view, recall);
  }
  const { subject, isReadOnly, isAscii, doorFlags, tail, verification, recurrences, favorites, sweep } = context;
  const madeOf: unknown[] = [
    subject,
    isReadOnly,
    isAscii,
    doorFlags,
    tail,
    verification,
    recurrences,
    favorites,
    sweep,
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

/** Index into `order` of a row; undefined: it is not there. */
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

/** What the operator chose, while the table has such a column; else what the view says. */
function sortIn({ columns }: Table, body: TableBody, { sort }: TableState): Sort {
  return sort !== undefined && columns.some(({ id }) => id === sort.column) ? sort : body.sort;
}

const REDUCED = createRecall<Table>(8);

/** Returns the table without hidden columns, and with all of them if none would be left. */
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
  return { order: rows.map(({ at }) => at), ...(filter.kind === "wrong" && { filterError: filter.words }) };
}

type Key = string | number | null;

/** Without case; what is no number comes with what is null. */
const keyOf = (key: Key): Key => (typeof key === "string" ? key.toLowerCase() : Number.isNaN(key) ? null : key);

/** Null last either way; numbers before texts. */
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

/** By code point: where UTF-16 units differ, surrogates come after all others. */
export function compareTexts(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  for (let at = 0; at < most; at += 1) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x !== y) return weight(x) - weight(y);
  }
  return a.length - b.length;
}

const weight = (unit: number): number => (unit < 0xd800 ? unit : unit > 0xdfff ? unit - 0x800 : unit + 0x2000);
