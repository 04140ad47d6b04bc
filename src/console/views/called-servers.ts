/**
 * Shared parts of the views of MCP servers and agents: worst first, as measured by the nodes in the last minute, with actions
 * for a failing one. A call goes only to the one that it names. Source: operator console reference, B5.
 */

import type { A2aAgentRecord, McpServerRecord, RequestRecord } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { textColumn } from "../format/column-kinds.ts";
import { describedAs, labeledLine, shown } from "../format/labeled-lines.ts";
import { count, milliseconds } from "../format/numbers.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { largest, smallest, summed, valuesOf } from "../model/rows-query.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { BLANK, type Line, span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { providerFilter } from "./keys-filters.ts";
import { jsonOfMeasured, KINDS, type MeasuredRow, measuredRows, STATES, stateLines } from "./measured.ts";
import {
  ERRORS,
  FIRST_BYTE,
  IN_FLIGHT,
  isOff,
  LIFTS_IN,
  NAME,
  nodesColumns,
  rateColumn,
  STATE,
  UNITS,
} from "./measured-columns.ts";
import { requestsOffer } from "./requests.ts";
import { bucketLine, bucketLines, lastBadLines, requestBuckets } from "./requests-recent.ts";
import { suspensionOffers } from "./suspension-offers.ts";

/** Agents have no registry name. */
type Fronted = A2aAgentRecord & Partial<Pick<McpServerRecord, "registry_name">>;
type Row = MeasuredRow<Fronted>;

interface Calls extends Pick<View, "id" | "aliases" | "digit" | "title" | "about"> {
  readonly table: "mcp_servers" | "a2a_agents";
  /** Columns after the common ones. */
  readonly columns?: readonly Column<Row>[];
  /** Plural noun: `MCP servers`. */
  readonly many: string;
}

const COLUMNS: readonly Column<Row>[] = [
  NAME,
  STATE,
  rateColumn("CALL/s"),
  ERRORS,
  ...FIRST_BYTE,
  IN_FLIGHT,
  UNITS,
  LIFTS_IN,
  textColumn({ head: "PROTOCOL", letter: "o", width: 10, priority: 4 }, ({ record }) => record.protocol),
];

const URL_COLUMN: Column<Row> = textColumn(
  { head: "URL", letter: "w", width: { least: 16, flex: 2 }, priority: 7, cut: "middle" },
  ({ record }) => record.url,
);

/** Names of MCP servers in the registry, where clients find them. */
export const REGISTRY_COLUMN: Column<Row> = textColumn(
  { head: "REGISTRY", letter: "g", width: { least: 12, flex: 2 }, priority: 3, cut: "middle" },
  ({ record }) => record.registry_name ?? null,
);

export function callsView({ table, columns = [], many, ...named }: Calls): View {
  const kind = KINDS[table];
  const rows = (data: Data): readonly Row[] => measuredRows(data, table);
  const rowNamed = (name: string, { data }: Context): Row | undefined =>
    rows(data).find(({ record }) => record.name === name);
  const paths = ({ name, registry_name: other }: Fronted): string =>
    `/${kind}/${name}${other === undefined || other === null ? "" : `, also /${kind}/${other} as the registry names it`}`;

  const hop = kind;
  const recent = ({ data }: Context): readonly RequestRecord[] => rowsOf(data, "requests");
  const ofHop = (row: RequestRecord): boolean => row.hop === hop;
  const ofOne =
    (name: string) =>
    (row: RequestRecord): boolean =>
      ofHop(row) && row.provider === name;

  const pane = (name: string, context: Context): readonly Line[] => {
    const row = rowNamed(name, context);
    if (row === undefined) return [];
    const { ttfb_p50_ms: p50, ttfb_p95_ms: p95, units_per_minute: units, url, protocol } = row.record;
    return [
      ...stateLines(row, "calls", context.now),
      labeledLine(
        "measured",
        span(`first byte p50 ${milliseconds(p50)} p95 ${milliseconds(p95)}; ${count(units)} units/min`),
      ),
      bucketLine(requestBuckets(recent(context), context.now, `${hop}/${name}`, ofOne(name)), "call"),
      ...lastBadLines(recent(context), context, { which: ofOne(name), most: 2 }),
      labeledLine("called at", shown(paths(row.record))),
      labeledLine("address", shown(url), shown(`  protocol ${protocol}`, "dim")),
    ];
  };

  return {
    ...named,
    group: "calls",
    needs: () => [
      { id: `list_${table}` },
      { id: "list_suspensions" },
      { id: "list_cluster_members" },
      { id: "list_requests" },
    ],
    body: {
      kind: "table",
      table: ({ data }): Table =>
        tableOf<Row>(
          {
            columns: [...COLUMNS, ...nodesColumns(rows(data)), ...columns, URL_COLUMN],
            idOf: ({ record }) => record.name,
            nameOf: ({ record }) => record.name,
            haystack: ({ record: { name, url, protocol, registry_name: other }, state, suspension }) =>
              escapeControls(
                [
                  name,
                  other ?? "",
                  protocol,
                  url,
                  STATES[state].word,
                  suspension?.reason ?? "",
                  suspension?.by ?? "",
                ].join(" "),
              ),
            isBad: isOff,
            jsonOf: jsonOfMeasured,
          },
          rows(data),
        ),
      sort: { column: "state", isDescending: false },
      above(context, { columns }) {
        const { now, isAscii } = context;
        if (rows(context.data).length === 0 || context.data.get({ id: "list_requests" })?.value === undefined)
          return [];
        return [...bucketLines(requestBuckets(recent(context), now, hop, ofHop), { columns, isAscii }), BLANK];
      },
      aboveRows: 5,
      pane,
      describe: (name, context) => describedAs(pane(name, context), rowNamed(name, context)?.record),
      empty: ({ endpointFlags }) => ({
        sentence: `No ${many} are configured.`,
        next: `Define them in the deployment document (\`${kind}:\`); callers use /${kind}/NAME; to see what is in force: \`gateway admin ${endpointFlags} GET config\``,
      }),
      query: {
        table,
        columns: [
          "name",
          valuesOf("state"),
          summed("rate"),
          "sum(rate * error_ratio) / nullif(sum(rate), 0) AS error_ratio",
          largest("ttfb_p50_ms"),
          largest("ttfb_p95_ms"),
          summed("in_flight"),
          smallest("protocol"),
          smallest("url"),
        ],
        key: ["name"],
        group: ["name"],
        order: "error_ratio DESC",
      },
    },
    offers: [...suspensionOffers(kind), requestsOffer(providerFilter)],
  };
}
