/**
 * View of the refusals of the last hour with caller, code and cause: the first question when a caller gets no answers. Equal
 * refusals are one row, since a refused client retries.
 */

import type { RefusalRecord } from "../../admin-api/index.ts";
import { countColumn, momentColumn, textColumn } from "../format/column-kinds.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { count, plural } from "../format/numbers.ts";
import { clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Line, span } from "../model/text.ts";
import type { Selection, View } from "../model/view.ts";
import { refusalCause } from "./budgets-bucket.ts";
import { guardrailIdOf } from "./guardrails-row.ts";
import { budgetFilter, callerFilter, guardrailFilter } from "./keys-filters.ts";
import { requestsOffer } from "./requests.ts";

export const refusalId = ({
  node,
  caller_kind: kind,
  caller,
  code,
  cause,
  cause_name: name,
  first_at: since,
}: RefusalRecord): string => JSON.stringify([node, kind, caller, code, cause, name, since]);

const rowById = (data: Data, id: string): RefusalRecord | undefined =>
  rowsOf(data, "refusals").find((row) => refusalId(row) === id);

/** Returns `key ci-runner`, `user a@example.com`, `key id k3J9x0Qa` or `unknown caller`. */
export function callerText({ caller_kind: kind, caller }: Pick<RefusalRecord, "caller_kind" | "caller">): string {
  if (kind === "unrecognised") return caller === null ? "unknown caller" : `key id ${caller}`;
  if (kind === "others") return "other callers";
  return caller === null ? kind : `${kind} ${caller}`;
}

/** Returns the caller in words, with the reason why a key has an id but no name. */
const callerCondition = (row: RefusalRecord): string =>
  row.caller_kind === "unrecognised" && row.caller !== null
    ? `${callerText(row)}, revoked or of another gateway,`
    : callerText(row);

/** Returns `budget day-5m` or `rule no-opus`; empty if the code already says it. */
export const causeText = ({ cause, cause_name: name }: RefusalRecord): string =>
  cause === null ? "" : `${cause} ${name ?? ""}`.trim();

/** Returns the filter by which the view of guardrails links to this one. */
const causeCondition = ({ cause, cause_name: name }: RefusalRecord): string =>
  cause === "guardrail" && name !== null ? guardrailFilter(name) : "";

const COLUMNS: readonly Column<RefusalRecord>[] = [
  textColumn({ head: "CALLER", letter: "c", width: { least: 14, flex: 2 }, priority: 1, cut: "middle" }, callerText),
  textColumn({ head: "CODE", letter: "o", width: 18, priority: 1 }, ({ code }) => code),
  textColumn({ head: "BY", letter: "b", width: { least: 14, flex: 2 }, priority: 2, cut: "middle" }, causeText),
  {
    ...countColumn<RefusalRecord>(
      { head: "MINUTE", letter: "m", width: 8, priority: 1 },
      ({ last_minute: minute }) => minute,
    ),
    cell: ({ last_minute: refused }) => span(count(refused), refused === 0 ? "dim" : "fail"),
  },
  countColumn({ head: "HOUR", letter: "h", width: 9, priority: 1 }, ({ last_hour: hour }) => hour),
  momentColumn({ head: "LAST", letter: "l", width: 17, priority: 3 }, ({ last_at: at }) => at),
  momentColumn({ head: "FIRST", letter: "f", width: 17, priority: 5 }, ({ first_at: at }) => at),
  textColumn({ head: "NODE", letter: "n", width: 8, priority: 4, cut: "middle" }, ({ node }) => node),
];

const table = ({ data }: Omit<Context, "now">): Table =>
  tableOf<RefusalRecord>(
    {
      columns: COLUMNS,
      idOf: refusalId,
      nameOf: ({ caller, code }) => caller ?? code,
      haystack: (row) =>
        [callerText(row), row.code, causeText(row), row.node, row.last_request, causeCondition(row)].join(" "),
      isBad: ({ last_minute: refused }) => refused > 0,
      jsonOf: (row) => row,
    },
    rowsOf(data, "refusals"),
  );

function pane(id: string, { data, now }: Context): readonly Line[] {
  const row = rowById(data, id);
  if (row === undefined) return [];
  const { last_minute: minute, last_hour: hour, node, last_request: request } = row;
  const by = causeText(row);
  return [
    labeledLine(
      "refused",
      shown(callerCondition(row)),
      span("  with "),
      shown(row.code),
      shown(by === "" ? "" : ` by ${by}`),
    ),
    ...budgetLines(row, data),
    labeledLine(
      "counted",
      span(`${count(minute)} in the last minute, ${plural(hour, "request")} in the hour, on `),
      shown(node),
    ),
    labeledLine(
      "times",
      span(`first ${clock(Date.parse(row.first_at), now)}, last ${clock(Date.parse(row.last_at), now)}`),
    ),
    labeledLine("request", shown(request), span("  the last request; its answer has this id", "dim")),
  ];
}

/** Explains why a budget refuses although something is left. */
function budgetLines(row: RefusalRecord, data: Data): readonly Line[] {
  const { cause, cause_name: name } = row;
  const refusing = rowsOf(data, "budgets").find(({ budget, status }) => budget === name && status === "refusing");
  const reason =
    cause !== "budget" || refusing === undefined ? "" : refusalCause(refusing, [{ ...row, last_minute: 1 }]);
  return reason === "" ? [] : [labeledLine("why", span(reason))];
}

/** View that shows each cause. */
const PLACES: Readonly<Partial<Record<NonNullable<RefusalRecord["cause"]>, string>>> = {
  budget: "budgets",
  profile: "profiles",
  suspension: "suspensions",
  rule: "config",
  guardrail: "guardrails",
};

/** Matches a rule of a profile. The link goes to the profile, since a rule is shown only through it. */
const PROFILE_RULE = /^profile (.+)\/[^/]+$/;

const selectedRow = ({ ids: [id = ""] }: Selection, { data }: Pick<Context, "data">): RefusalRecord | undefined =>
  rowById(data, id);

export const refusalsView: View = {
  id: "refusals",
  aliases: ["refused", "denied"],
  title: "Refusals",
  about: "refused requests of the last hour, by caller, error code and cause",
  needs: () => [{ id: "list_refusals" }],
  body: {
    kind: "table",
    table,
    sort: { column: "minute", isDescending: true },
    pane,
    empty: () => ({
      sentence: "Nothing was refused in the last hour.",
      next: "Failures of providers are listed with them: press e on a provider (2).",
    }),
    query: {
      table: "refusals",
      columns: [
        "node",
        "caller_kind",
        "caller",
        "code",
        "cause",
        "cause_name",
        "last_minute",
        "last_hour",
        "last_at",
        "last_request",
      ],
      key: ["node", "caller_kind", "caller", "code", "cause", "cause_name", "first_at"],
      order: "last_hour DESC",
    },
  },
  offers: [
    requestsOffer((id, { data }) => {
      const row = rowById(data, id);
      return (
        row && (row.caller === null || row.caller_kind === "unrecognised" ? row.last_request : callerFilter(row.caller))
      );
    }),
    {
      verb: "follow",
      label: "what refused",
      needsRow: true,
      disabledReason(of, context) {
        const row = selectedRow(of, context);
        if (row === undefined) return "the refusal is no longer kept";
        return row.cause === null || PLACES[row.cause] === undefined ? "the code says what refused it" : undefined;
      },
      start(of, context) {
        const { cause, cause_name: name } = selectedRow(of, context) ?? {};
        const profile = cause === "rule" ? PROFILE_RULE.exec(name ?? "")?.[1] : undefined;
        if (profile !== undefined) return { kind: "go", place: { view: "profiles" }, row: profile };
        const view = (cause !== null && cause !== undefined && PLACES[cause]) || "config";
        if (cause === "guardrail") return { kind: "go", place: { view }, row: guardrailIdOf(name ?? "") };
        return cause === "budget"
          ? { kind: "go", place: { view }, filter: budgetFilter(name ?? "") }
          : { kind: "go", place: { view }, row: name ?? "" };
      },
    },
  ],
};
