/**
 * View of the last requests of each node, newest first, to find those that fail. Metadata only: requests and answers are in no
 * list. Source: design decisions, section 17.
 */

import type { RequestRecord } from "../../admin-api/index.ts";
import { countColumn, momentColumn, textColumn } from "../format/column-kinds.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { count, milliseconds, plural } from "../format/numbers.ts";
import { clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { BLANK, type Line, span, type Tone } from "../model/text.ts";
import type { Intent, Offer, Selection, View } from "../model/view.ts";
import { callerFilter, modelFilter, profileFilter, providerFilter } from "./keys-filters.ts";
import { bucketLine, bucketLines, hasFailed, requestBuckets } from "./requests-recent.ts";

/** Cache of row ids, because each answer has thousands of rows, most of them unchanged. */
const IDS = new WeakMap<RequestRecord, string>();

function idOf(row: RequestRecord): string {
  const known = IDS.get(row);
  if (known !== undefined) return known;
  const { node, time, id, total_ms: total } = row;
  const made = JSON.stringify([time, id, total, node]);
  IDS.set(row, made);
  return made;
}

const rowById = (data: Data, id: string): RequestRecord | undefined =>
  rowsOf(data, "requests").find((row) => idOf(row) === id);

/**
 * Returns the tone of a request. A client that disconnected is not a failure; 5xx and errors within a stream concern the
 * operator.
 */
function toneOf({ status, code }: RequestRecord): Tone {
  if (status >= 500 && status < 600) return "fail";
  if (status === 499) return "dim";
  return status >= 400 || code !== null ? "warn" : "plain";
}

const milliColumn = (
  head: string,
  letter: string,
  priority: number,
  of: (row: RequestRecord) => number | null,
): Column<RequestRecord> => ({
  ...countColumn<RequestRecord>({ head, letter, width: 8, priority }, of),
  cell(row) {
    const ms = of(row);
    return ms === null ? span("-", "dim") : span(milliseconds(ms));
  },
});

const COLUMNS: readonly Column<RequestRecord>[] = [
  momentColumn({ head: "TIME", letter: "t", width: 17, priority: 1 }, ({ time }) => time),
  textColumn(
    { head: "CALLER", letter: "c", width: { least: 10, flex: 2 }, priority: 2, cut: "middle" },
    (row) => row.caller,
  ),
  textColumn(
    { head: "MODEL", letter: "m", width: { least: 12, flex: 2 }, priority: 2, cut: "middle" },
    (row) => row.model,
  ),
  textColumn(
    { head: "PROVIDER", letter: "p", width: { least: 10, flex: 2 }, priority: 2, cut: "middle" },
    ({ provider }) => provider,
  ),
  {
    ...countColumn<RequestRecord>({ head: "STATUS", letter: "s", width: 6, priority: 1 }, ({ status }) => status),
    cell: (row) => span(String(row.status), toneOf(row)),
  },
  textColumn({ head: "CODE", letter: "o", width: { least: 14, flex: 1 }, priority: 1 }, ({ code }) => code),
  milliColumn("TTFB", "f", 3, ({ ttfb_ms: ms }) => ms),
  milliColumn("TOTAL", "l", 2, ({ total_ms: ms }) => ms),
  countColumn({ head: "IN", letter: "i", width: 9, priority: 4 }, ({ input_tokens: tokens }) => tokens),
  countColumn({ head: "OUT", letter: "u", width: 9, priority: 4 }, ({ output_tokens: tokens }) => tokens),
  countColumn({ head: "TRIES", letter: "a", width: 5, priority: 4 }, ({ attempts }) => attempts),
  textColumn({ head: "HOP", letter: "h", width: 9, priority: 5 }, ({ hop }) => hop),
  textColumn({ head: "ROUTE", letter: "r", width: { least: 10, flex: 1 }, priority: 4 }, ({ route }) => route),
  textColumn({ head: "BY", letter: "b", width: { least: 10, flex: 1 }, priority: 5 }, (row) => row.decided_by),
  textColumn({ head: "PROFILE", letter: "e", width: 10, priority: 6, cut: "middle" }, ({ profile }) => profile),
  textColumn({ head: "NODE", letter: "n", width: 8, priority: 5, cut: "middle" }, ({ node }) => node),
  textColumn({ head: "REQUEST", letter: "q", width: { least: 8, flex: 1 }, priority: 7 }, ({ id }) => id),
];

const table = ({ data }: Omit<Context, "now">): Table =>
  tableOf<RequestRecord>(
    {
      columns: COLUMNS,
      idOf,
      nameOf: ({ id }) => id,
      haystack: (row) =>
        [
          ...[row.id, row.status, row.code ?? "", row.route ?? "", row.hop ?? "", row.decided_by ?? "", row.node],
          ...[
            profileFilter(row.profile ?? ""),
            callerFilter(row.caller ?? ""),
            modelFilter(row.model ?? ""),
            providerFilter(row.provider ?? ""),
          ],
        ].join(" "),
      isBad: ({ status, code }) => status >= 400 || code !== null,
      jsonOf: (row) => row,
    },
    rowsOf(data, "requests"),
  );

const everyRow = (): boolean => true;

function pane(id: string, { data, now }: Context): readonly Line[] {
  const row = rowById(data, id);
  if (row === undefined) return [];
  const all = requestBuckets(rowsOf(data, "requests"), now, "all", everyRow);
  const { ttfb_ms: firstByte, input_tokens: input, output_tokens: output } = row;
  return [
    labeledLine(
      "answer",
      span(String(row.status), toneOf(row)),
      shown(row.code === null ? "" : `  ${row.code}`),
      shown(row.decided_by === null ? "" : `  by ${row.decided_by}`, "dim"),
    ),
    labeledLine(
      "asked",
      shown([row.hop, row.route, row.model, row.provider].filter((it) => it !== null).join("  ")),
      span(`  ${plural(row.attempts, "attempt")}`, "dim"),
    ),
    labeledLine(
      "caller",
      shown(row.caller ?? "not known"),
      shown(row.profile === null ? "" : `  profile ${row.profile}`),
    ),
    labeledLine(
      "took",
      span(`first byte ${firstByte === null ? "-" : milliseconds(firstByte)}, ${milliseconds(row.total_ms)} in all`),
      span(input === null ? "  tokens not counted" : `  ${count(input)} tokens in, ${count(output ?? 0)} out`, "dim"),
    ),
    bucketLine(all, "request"),
    labeledLine("request", shown(row.id), shown(`  at ${clock(Date.parse(row.time), now)} on ${row.node}`, "dim")),
  ];
}

const selectedRow = ({ ids: [id = ""] }: Selection, { data }: Pick<Context, "data">): RequestRecord | undefined =>
  rowById(data, id);

/** View of a request's target, by its traffic type. */
const VIEW_OF: Readonly<Record<string, string>> = { llm: "providers", websocket: "providers", mcp: "mcp", a2a: "a2a" };

const viewOf = ({ hop, provider }: RequestRecord): string | undefined =>
  hop === null || provider === null ? undefined : VIEW_OF[hop];

/** Returns the provider's failures, or other callers with the same refusal; `undefined` if there is nothing to explain. */
function evidenceOf(row: RequestRecord): Intent | undefined {
  if (row.code !== null && !hasFailed(row)) return { kind: "go", place: { view: "refusals" }, filter: row.code };
  if (hasFailed(row) && row.provider !== null && viewOf(row) === "providers") {
    return { kind: "go", place: { view: "errors", subject: row.provider } };
  }
  return row.code === null ? undefined : { kind: "go", place: { view: "refusals" }, filter: row.code };
}

export const requestsView: View = {
  id: "requests",
  rows: "request",
  aliases: ["req", "accesses"],
  title: "Requests",
  about: "the last 2,000 finished requests and sessions of each node: caller, model, provider, status, times, tokens",
  needs: () => [{ id: "list_requests" }],
  body: {
    kind: "table",
    table,
    sort: { column: "time", isDescending: true },
    above({ data, now, isAscii }, { columns }) {
      const rows = rowsOf(data, "requests");
      if (rows.length === 0) return [];
      return [...bucketLines(requestBuckets(rows, now, "all", everyRow), { columns, isAscii }), BLANK];
    },
    aboveRows: 5,
    pane,
    empty: () => ({
      sentence: "No finished requests yet.",
      next: "A request is listed when it ends; `:providers` counts those in flight.",
    }),
    query: {
      table: "requests",
      columns: [
        "time",
        "caller",
        "model",
        "provider",
        "status",
        "code",
        "attempts",
        "ttfb_ms",
        "total_ms",
        "input_tokens",
        "output_tokens",
        "decided_by",
        "node",
        "id",
      ],
      key: ["time", "node", "id"],
      order: "time DESC",
    },
  },
  offers: [
    {
      verb: "errors",
      label: "why",
      needsRow: true,
      disabledReason(of, context) {
        const row = selectedRow(of, context);
        if (row === undefined) return "the request is no longer kept";
        return evidenceOf(row) === undefined ? "it succeeded" : undefined;
      },
      start(of, context) {
        const row = selectedRow(of, context);
        return (row && evidenceOf(row)) ?? { kind: "flash", message: "the request is no longer kept", tone: "warn" };
      },
    },
    {
      verb: "follow",
      label: "provider",
      needsRow: true,
      disabledReason(of, context) {
        const row = selectedRow(of, context);
        if (row === undefined) return "the request is no longer kept";
        return viewOf(row) === undefined ? "it reached no provider" : undefined;
      },
      start(of, context) {
        const row = selectedRow(of, context);
        const view = row && viewOf(row);
        return row === undefined || view === undefined
          ? { kind: "flash", message: "the request is no longer kept", tone: "warn" }
          : { kind: "go", place: { view }, row: row.provider ?? "" };
      },
    },
  ],
};

/** Returns a filter for the requests of a row; `undefined` if requests do not name it. */
type RequestsFilter = (id: string, context: Context) => string | undefined;

/** Builds the offer that goes from a row of another view to its requests; `reason` returns why a row has none. */
export const requestsOffer = (filterOf: RequestsFilter, reason?: Offer["disabledReason"]): Offer => ({
  verb: "requests",
  needsRow: true,
  disabledReason: (of, context) =>
    reason?.(of, context) ?? (filterOf(of.ids[0] ?? "", context) === undefined ? "no request names it" : undefined),
  start: ({ ids: [id = ""] }, context) => ({
    kind: "go",
    place: { view: "requests" },
    filter: filterOf(id, context) ?? "",
  }),
});
