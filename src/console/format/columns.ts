/** Columns of the usual kinds, so that a text, a number or a moment looks and sorts alike in every table. */

import type { Column } from "../model/table.ts";
import { span } from "../model/text.ts";
import { shown } from "./lines.ts";
import { count } from "./numbers.ts";
import { clock } from "./times.ts";

export interface ColumnPlace extends Pick<Column<never>, "head" | "letter" | "width" | "priority" | "wanted"> {
  readonly cut?: "middle" | "end";
}

const UNKNOWN = span("-", "dim");

/** A text from outside. */
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

/** A whole number, its digits in threes. */
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

/** A moment as the admin API writes it, told by the clock. */
export const momentColumn = <Row>(place: ColumnPlace, of: (row: Row) => string): Column<Row> => ({
  id: place.head.toLowerCase(),
  align: "left",
  ...place,
  cell: (row, now) => span(clock(Date.parse(of(row)), now)),
  sortKey: (row) => Date.parse(of(row)),
});
