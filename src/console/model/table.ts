/**
 * Table that hides the type of its rows: the view closes over its rows, and the code that draws, sorts, filters and moves
 * addresses them by position. Cells are made only for the rows on the screen, so ten thousand rows cost no more than forty.
 */

import type { Span } from "./text.ts";

export interface Column<Row> {
  /** Id, unique in its table; the column's head in lower case. */
  readonly id: string;
  readonly head: string;
  /** Letter that sorts by the column after `S`. */
  readonly letter: string;
  /** Width in cells; `flex` shares the remaining width, never below `least`. */
  readonly width: number | { readonly least: number; readonly flex: number };
  readonly align: "left" | "right";
  /** Priority, 1 is highest. If the screen is too narrow, columns with the highest number are dropped first. */
  readonly priority: number;
  /** Preferred width in cells. It is granted before columns of a lower priority are shown. */
  readonly wanted?: number;
  /** Place where long text is shortened: names in the middle, other text at the end, right-aligned numbers never. */
  readonly cut?: "middle" | "end";
  /** Returns the cell. `now` is in milliseconds since 1970, for values shown as an age. */
  cell(row: Row, now: number): Span;
  /** Returns the sort key: numbers sort by value, texts by code point ignoring case; null is last in both directions. */
  sortKey(row: Row): string | number | null;
}

export interface TableSpec<Row> {
  readonly columns: readonly Column<Row>[];
  /** Returns an id that is unique and does not change: the cursor follows it. */
  idOf(row: Row): string;
  /** Returns the text that `c` copies. */
  nameOf(row: Row): string;
  /** Returns the text that the filter searches. */
  haystack(row: Row): string;
  isBad?(row: Row): boolean;
  /** Returns the row as the admin API returned it, for `J`. */
  jsonOf(row: Row): unknown;
  /** Row under the cursor until the operator moves it; if missing, the first. */
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
