/** Common kinds of columns, so that texts, numbers and times look and sort the same in every table. */

import type { Column } from "../model/table.ts";
import { span } from "../model/text.ts";
import { shown } from "./labeled-lines.ts";
import { count } from "./numbers.ts";
import { clock } from "./times.ts";

export interface ColumnPlace extends Pick<Column<never>, "head" | "letter" | "width" | "priority" | "wanted"> {
  readonly cut?: "middle" | "end";
}

const UNKNOWN = span("-", "dim");

/** Returns a column of foreign text. */
export const textColumn = <Row>(place: ColumnPlace, of: (row: Row) => string | null): Column<Row> => ({
  id: place.head.toLowerCase(),
  align: "left",
  ...place,
  cell(row) {
    const text = of(row);
    return text === null ? UNKNOWN : shown(text);
  },
  sortKey: of,
});

/** Returns a column of whole numbers with thousands separators. */
export const countColumn = <Row>(place: ColumnPlace, of: (row: Row) => number | null): Column<Row> => ({
  id: place.head.toLowerCase(),
  align: "right",
  ...place,
  cell(row) {
    const number = of(row);
    return number === null ? UNKNOWN : span(count(number));
  },
  sortKey: of,
});

/** Returns a column of times in the admin API's format, shown as clock times. */
export const momentColumn = <Row>(place: ColumnPlace, of: (row: Row) => string): Column<Row> => ({
  id: place.head.toLowerCase(),
  align: "left",
  ...place,
  cell: (row, now) => span(clock(Date.parse(of(row)), now)),
  sortKey: (row) => Date.parse(of(row)),
});
