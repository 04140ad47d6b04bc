/** Table of budget buckets. All numbers of a column have the same format: whole, or shortened if one would not fit. */

import type { BudgetRecord } from "../../admin-api/index.ts";
import { textColumn } from "../format/column-kinds.ts";
import { humanDuration } from "../format/times.ts";
import { withUnknownWords } from "../format/word-table.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Span, span } from "../model/text.ts";
import { BUDGET_STATES, bucketId, ownerOf, unitsFormat, usedBar, usedFraction, usedPercent } from "./budgets-bucket.ts";
import { budgetFilter, keyFilter } from "./keys-filters.ts";

interface Drawing {
  readonly units: (value: number) => string;
  readonly isAscii: boolean;
}

const columnsOf = ({ units, isAscii }: Drawing): readonly Column<BudgetRecord>[] => [
  textColumn(
    { head: "BUDGET", letter: "b", width: { least: 12, flex: 1 }, priority: 1, cut: "middle" },
    ({ budget }) => budget,
  ),
  {
    id: "bucket",
    head: "BUCKET",
    letter: "k",
    width: { least: 8, flex: 3 },
    align: "left",
    priority: 7,
    cut: "middle",
    cell: (row) => span(ownerOf(row)),
    sortKey: ownerOf,
  },
  textColumn({ head: "WINDOW", letter: "w", width: 6, priority: 9 }, ({ window }) => window),
  {
    id: "limit",
    head: "LIMIT",
    letter: "l",
    width: 5,
    align: "right",
    priority: 6,
    cell: ({ limit }) => span(units(limit)),
    sortKey: ({ limit }) => limit,
  },
  {
    id: "used",
    head: "USED",
    letter: "u",
    width: 5,
    align: "right",
    priority: 3,
    cell: ({ used }) => span(units(used)),
    sortKey: ({ used }) => used,
  },
  {
    id: "%",
    head: "%",
    letter: "p",
    width: 5,
    align: "right",
    priority: 2,
    cell: (row) => statusSpan(row, usedPercent(row)),
    sortKey: usedFraction,
  },
  {
    id: "bar",
    head: "BAR",
    letter: "a",
    width: 20,
    align: "left",
    priority: 8,
    cell: (row) => statusSpan(row, usedBar(row, isAscii)),
    sortKey: usedFraction,
  },
  {
    id: "reserved",
    head: "RESERVED",
    letter: "v",
    width: 8,
    align: "right",
    priority: 10,
    cell: ({ reserved }) => span(units(reserved), reserved === 0 ? "dim" : "plain"),
    sortKey: ({ reserved }) => reserved,
  },
  {
    id: "resets in",
    head: "RESETS IN",
    letter: "r",
    width: 9,
    align: "left",
    priority: 5,
    cell: ({ resets_at }, now) => span(humanDuration(Date.parse(resets_at) - now)),
    sortKey: ({ resets_at }) => Date.parse(resets_at),
  },
  {
    id: "status",
    head: "STATUS",
    letter: "s",
    width: 8,
    align: "left",
    priority: 4,
    cell: (row) => statusSpan(row, `${BUDGET_STATES[row.status].mark}${BUDGET_STATES[row.status].word}`),
    sortKey: ({ status }) => RANKS[status],
  },
];

const RANKS: Readonly<Record<BudgetRecord["status"], number>> = withUnknownWords(
  { ok: 0, low: 1, exhausted: 2, refusing: 3 },
  () => 1,
);

const statusSpan = ({ status }: BudgetRecord, text: string): Span => span(text, BUDGET_STATES[status].tone);

export function budgetsTable({ data, isAscii }: Pick<Context, "data" | "isAscii">): Table {
  const rows = rowsOf(data, "budgets");
  const largest = rows.reduce((most, { limit, used }) => Math.max(most, limit, used), 0);
  return tableOf<BudgetRecord>(
    {
      columns: columnsOf({ units: unitsFormat(largest), isAscii }),
      idOf: bucketId,
      nameOf: ({ budget }) => budget,
      haystack: ({ budget, bucket, key, status, window }) =>
        [
          budgetFilter(budget),
          key === null ? "" : keyFilter(key),
          bucket,
          BUDGET_STATES[status].word,
          status,
          window,
        ].join(" "),
      isBad: ({ status }) => status !== "ok",
      jsonOf: (row) => row,
    },
    rows,
  );
}
