/** Table of the providers: measurements of the last 60 seconds, and suspensions. */

import type { BackendRecord } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { textColumn } from "../format/column-kinds.ts";
import { shown } from "../format/labeled-lines.ts";
import { count } from "../format/numbers.ts";
import type { Context } from "../model/context.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { span } from "../model/text.ts";
import { jsonOfMeasured, type MeasuredRow, measuredRows, STATES } from "./measured.ts";
import {
  ERRORS,
  FIRST_BYTE,
  IN_FLIGHT,
  isOff,
  LIFTS_IN,
  measuredColumn,
  NAME,
  nodesColumns,
  rateColumn,
  STATE,
  UNITS,
} from "./measured-columns.ts";

type Row = MeasuredRow<BackendRecord>;

const columnsOf = (rows: readonly Row[]): readonly Column<Row>[] => [
  NAME,
  textColumn({ head: "DIALECT", letter: "d", width: 10, priority: 6 }, ({ record }) => record.dialect),
  STATE,
  rateColumn("REQ/s"),
  ERRORS,
  ...FIRST_BYTE,
  measuredColumn({ head: "RETRY", letter: "y", width: 6, priority: 4 }, ({ record }) => record.retries),
  {
    id: "failover",
    head: "FAILOVER",
    letter: "f",
    width: 15,
    align: "left",
    priority: 3,
    cell: ({ record }) => {
      const text = failoverText(record.failovers_in, record.failovers_out);
      return span(text, text === "0" ? "dim" : "plain");
    },
    sortKey: ({ record }) => record.failovers_in + record.failovers_out,
  },
  IN_FLIGHT,
  UNITS,
  LIFTS_IN,
  ...nodesColumns(rows),
  {
    id: "subsets",
    head: "SUBSETS",
    letter: "b",
    width: { least: 7, flex: 1 },
    align: "left",
    priority: 7,
    cell: ({ record }) => (record.subsets.length === 0 ? span("-", "dim") : shown(record.subsets.join(","))),
    sortKey: ({ record }) => (record.subsets.length === 0 ? null : record.subsets.join(",")),
  },
];

/** Describes the failovers to and from a provider: `398 out`, `3 in 398 out` or `0`. */
export function failoverText(came: number, left: number): string {
  const parts = [...(came > 0 ? [`${count(came)} in`] : []), ...(left > 0 ? [`${count(left)} out`] : [])];
  return parts.length === 0 ? "0" : parts.join(" ");
}

export function providersTable({ data }: Omit<Context, "now">): Table {
  const rows = measuredRows(data, "backends");
  return tableOf<Row>(
    {
      columns: columnsOf(rows),
      idOf: ({ record }) => record.name,
      nameOf: ({ record }) => record.name,
      haystack: ({ record, state, suspension }) =>
        escapeControls(
          [record.name, record.dialect, STATES[state].word, suspension?.reason ?? "", suspension?.by ?? ""].join(" "),
        ),
      isBad: isOff,
      jsonOf: jsonOfMeasured,
    },
    rows,
  );
}
