/** View of usage: the newest hours of the ledger by caller, provider and model. Totals are available through a query. */

import { LISTED_USAGE, type UsageRecord } from "../../admin-api/index.ts";
import { countColumn, textColumn } from "../format/column-kinds.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { count, plural } from "../format/numbers.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Line, span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { callerFilter, modelFilter, providerFilter } from "./keys-filters.ts";

const idOf = ({ hour, hop, caller, profile, provider, model }: UsageRecord): string =>
  JSON.stringify([hour, hop, caller, profile, provider, model]);

const rowById = (data: Data, id: string): UsageRecord | undefined =>
  rowsOf(data, "usage").find((row) => idOf(row) === id);

const tokensIn = ({
  input_tokens: input,
  cached_input_tokens: cached,
  cache_creation_input_tokens: created,
}: UsageRecord) => input + cached + created;

/** Formats the hour of a row as `2026-11-20 13h`, or returns its day. */
const hourText = ({ hour }: UsageRecord): string =>
  hour.length > 10 ? `${hour.slice(0, 10)} ${hour.slice(11, 13)}h` : hour;

const COLUMNS: readonly Column<UsageRecord>[] = [
  textColumn({ head: "HOUR", letter: "t", width: 14, priority: 1 }, hourText),
  textColumn(
    { head: "CALLER", letter: "c", width: { least: 12, flex: 2 }, priority: 1, cut: "middle" },
    (row) => row.caller,
  ),
  textColumn(
    { head: "MODEL", letter: "m", width: { least: 12, flex: 2 }, priority: 1, cut: "middle" },
    (row) => row.model,
  ),
  textColumn(
    { head: "PROVIDER", letter: "p", width: { least: 10, flex: 1 }, priority: 2, cut: "middle" },
    (row) => row.provider,
  ),
  countColumn({ head: "REQUESTS", letter: "r", width: 9, priority: 2 }, (row) => row.requests),
  {
    ...countColumn<UsageRecord>({ head: "NOT OK", letter: "f", width: 8, priority: 3 }, (row) => row.failed),
    cell: ({ failed }) => span(count(failed), failed === 0 ? "dim" : "warn"),
  },
  countColumn({ head: "IN", letter: "i", width: 12, priority: 1 }, tokensIn),
  countColumn({ head: "OUT", letter: "u", width: 12, priority: 1 }, (row) => row.output_tokens),
  countColumn({ head: "CACHED", letter: "a", width: 12, priority: 5 }, (row) => row.cached_input_tokens),
  countColumn({ head: "UNITS", letter: "n", width: 10, priority: 4 }, (row) => row.units),
  textColumn({ head: "HOP", letter: "h", width: 4, priority: 5 }, (row) => row.hop),
  textColumn({ head: "PROFILE", letter: "e", width: 10, priority: 6, cut: "middle" }, (row) => row.profile),
];

const table = ({ data }: Omit<Context, "now">): Table =>
  tableOf<UsageRecord>(
    {
      columns: COLUMNS,
      idOf,
      nameOf: ({ caller, provider }) => caller ?? provider,
      haystack: (row) =>
        [
          ...[row.hour, row.hop, row.profile ?? ""],
          ...[callerFilter(row.caller ?? ""), modelFilter(row.model ?? ""), providerFilter(row.provider)],
        ].join(" "),
      isBad: () => false,
      jsonOf: (row) => row,
    },
    rowsOf(data, "usage"),
  );

function pane(id: string, { data }: Context): readonly Line[] {
  const row = rowById(data, id);
  if (row === undefined) return [];
  return [
    labeledLine(
      "who",
      shown(row.caller ?? "unknown caller"),
      shown(row.profile === null ? "" : `  profile ${row.profile}`),
    ),
    labeledLine("what", shown([row.hop, row.provider, row.model].filter((it) => it !== null).join("  "))),
    labeledLine("when", shown(hourText(row)), span(row.hour.length > 10 ? "  UTC hour" : "  UTC day", "dim")),
    labeledLine(
      "requests",
      span(`${plural(row.requests, "request")}, ${count(row.failed)} refused, failed or left by the client`),
    ),
    labeledLine(
      "tokens",
      span(`${count(row.input_tokens)} in, ${count(row.cached_input_tokens)} from a cache, `),
      span(`${count(row.cache_creation_input_tokens)} to a cache, ${count(row.output_tokens)} out`),
      span(row.reasoning_tokens === 0 ? "" : `, ${count(row.reasoning_tokens)} of them reasoning`, "dim"),
    ),
    labeledLine("units", span(count(row.units))),
  ];
}

export const usageView: View = {
  id: "usage",
  aliases: ["used", "spend"],
  title: "Usage",
  about: "usage: requests, tokens and cost units by hour, caller, provider and model; the newest 1,000 rows",
  needs: () => [{ id: "list_usage" }],
  body: {
    kind: "table",
    table,
    sort: { column: "hour", isDescending: true },
    pane,
    empty: () => ({
      sentence: "The ledger of usage is empty.",
      next: "Each node adds what its callers used once a minute.",
    }),
    query: {
      table: "usage",
      columns: [
        "hour",
        "caller",
        "model",
        "provider",
        "profile",
        "hop",
        "requests",
        "failed",
        "input_tokens",
        "cached_input_tokens",
        "output_tokens",
        "units",
      ],
      key: ["hour", "hop", "caller", "profile", "provider", "model"],
      order: "hour DESC",
      limit: LISTED_USAGE,
    },
  },
  offers: [],
};
