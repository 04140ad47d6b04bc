/**
 * Rows as a table that knows nothing of their type: the view closes over its rows, and what draws, sorts, filters and
 * moves asks by position. Cells are made for the rows on the screen alone, so ten thousand rows cost no more than forty.
 */

import type { Span } from "./text.ts";

export interface Column<Row> {
  /** Unique in its table, and its head in lower case. */
  readonly id: string;
  readonly head: string;
  /** The letter that sorts by it after `S`. */
  readonly letter: string;
  /** Cells; `flex` shares what is left over, never below `least`. */
  readonly width: number | { readonly least: number; readonly flex: number };
  readonly align: "left" | "right";
  /** 1 is kept longest; a column goes when the screen is too narrow for all of a lower number and it. */
  readonly priority: number;
  /** Cells that a text as long may have before columns of a higher priority number are shown. */
  readonly wanted?: number;
  /** Names are cut in the middle, other text at its end, numbers (right-aligned) never. */
  readonly cut?: "middle" | "end";
  /** `now`: milliseconds since 1970, for what is told as an age. */
  cell(row: Row, now: number): Span;
  /** What sorts it: numbers by value, texts by code point without case; null last either way. */
  sortKey(row: Row): string | number | null;
}

export interface TableSpec<Row> {
  readonly columns: readonly Column<Row>[];
  /** Unique and lasting: the cursor follows it. */
  idOf(row: Row): string;
  /** What `c` copies. */
  nameOf(row: Row): string;
  /** What the filter looks through. */
  haystack(row: Row): string;
  isBad?(row: Row): boolean;
  /** Given by the admin API, for `J`. */
  jsonOf(row: Row): unknown;
  /** Under the cursor until the operator moves it; left out: the first. */
  readonly startId?: string;
}

export interface ColumnHead {
  readonly id: string;
  readonly head: string;
  readonly letter: string;
  readonly width: Column<never>["width"];
  readonly align: "left" | "right";
  readonly priority: number;
  readonly wanted?: number;
  readonly cut: "middle" | "end";
}

export interface Table {
  readonly columns: readonly ColumnHead[];
  readonly count: number;
  idOf(at: number): string;
  nameOf(at: number): string;
  cell(at: number, column: number, now: number): Span;
  sortKey(at: number, column: number): string | number | null;
  haystack(at: number): string;
  isBad(at: number): boolean;
  jsonOf(at: number): unknown;
  readonly startId?: string;
}

export function tableOf<Row>(spec: TableSpec<Row>, rows: readonly Row[]): Table {
  const { columns } = spec;
  const row = (at: number): Row => {
    const found = rows[at];
    if (found === undefined) throw new RangeError(`no row ${at} of ${rows.length}`);
    return found;
  };
  const column = (at: number): Column<Row> => {
    const found = columns[at];
    if (found === undefined) throw new RangeError(`no column ${at} of ${columns.length}`);
    return found;
  };
  return {
    columns: columns.map(({ id, head, letter, width, align, priority, wanted, cut = "end" }) => ({
      id,
      head,
      letter,
      width,
      align,
      priority,
      ...(wanted !== undefined && { wanted }),
      cut,
    })),
    count: rows.length,
    idOf: (at) => spec.idOf(row(at)),
    nameOf: (at) => spec.nameOf(row(at)),
    cell: (at, of, now) => column(of).cell(row(at), now),
    sortKey: (at, of) => column(of).sortKey(row(at)),
    haystack: (at) => spec.haystack(row(at)),
    isBad: (at) => spec.isBad?.(row(at)) ?? false,
    jsonOf: (at) => spec.jsonOf(row(at)),
    ...(spec.startId !== undefined && { startId: spec.startId }),
  };
}
