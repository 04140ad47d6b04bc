/**
 * View of the last failures that each node had with one provider. Error messages of the provider are not recorded, since they
 * may contain prompts. Source: design decisions, section 3 (`GET /backends/{name}/errors`).
 */

import type { BackendFailure } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { liftDialog, suspendDialog, whyAllSuspended, whyNotSuspended } from "../actions/suspension-dialogs.ts";
import { momentColumn, textColumn } from "../format/column-kinds.ts";
import { shown } from "../format/labeled-lines.ts";
import { milliseconds, plural } from "../format/numbers.ts";
import { clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { BLANK, type Line, line, span } from "../model/text.ts";
import type { Selection, View } from "../model/view.ts";
import { failoverTargetText } from "./providers-pane.ts";
import { requestsOffer } from "./requests.ts";

interface Row {
  readonly id: string;
  readonly failure: BackendFailure;
}

const columnsOf = (provider: string): readonly Column<Row>[] => [
  momentColumn({ head: "TIME", letter: "t", width: 18, priority: 1 }, ({ failure }) => failure.time),
  {
    id: "status",
    head: "STATUS",
    letter: "s",
    width: 6,
    align: "right",
    priority: 1,
    cell: ({ failure: { status } }) => (status === null ? span("-", "dim") : span(String(status), "fail")),
    sortKey: ({ failure }) => failure.status,
  },
  textColumn({ head: "KIND", letter: "k", width: 8, priority: 1 }, ({ failure }) => failure.kind),
  textColumn({ head: "SAID", letter: "i", width: { least: 12, flex: 1 }, priority: 2, wanted: 40 }, ({ failure }) =>
    errorName(failure),
  ),
  textColumn(
    { head: "CALLER", letter: "c", width: { least: 10, flex: 1 }, priority: 2, cut: "middle" },
    ({ failure }) => failure.caller,
  ),
  textColumn(
    { head: "MODEL", letter: "l", width: { least: 10, flex: 1 }, priority: 3, cut: "middle" },
    ({ failure }) => failure.model,
  ),
  {
    id: "took",
    head: "TOOK",
    letter: "o",
    width: 7,
    align: "right",
    priority: 3,
    // A negative duration means that the node is too old to report it.
    cell: ({ failure: { duration_ms: took } }) => (took < 0 ? span("-", "dim") : span(milliseconds(took))),
    sortKey: ({ failure }) => failure.duration_ms,
  },
  {
    id: "attempt",
    head: "ATTEMPT",
    letter: "a",
    width: 7,
    align: "right",
    priority: 5,
    cell: ({ failure }) => span(String(failure.attempt)),
    sortKey: ({ failure }) => failure.attempt,
  },
  {
    id: "failover to",
    head: "FAILOVER TO",
    letter: "m",
    width: { least: 12, flex: 2 },
    align: "left",
    priority: 2,
    cut: "middle",
    cell({ failure: { moved_to: movedTo } }) {
      if (movedTo === null || movedTo === provider) return span(failoverTargetText(movedTo, provider), "dim");
      return shown(movedTo);
    },
    sortKey: ({ failure }) => failure.moved_to,
  },
  textColumn({ head: "NODE", letter: "n", width: 8, priority: 4, cut: "middle" }, ({ failure }) => failure.node),
  textColumn(
    { head: "REQUEST", letter: "r", width: { least: 8, flex: 1 }, priority: 6 },
    ({ failure }) => failure.request,
  ),
];

/** Returns type and code of the provider's error: `invalid_request_error context_length_exceeded`. */
/** Returns what the provider reported, otherwise why it could not be reached or its answer not be used. */
const errorName = ({ error_type: type, error_code: code, reason }: BackendFailure): string | null =>
  type === null && code === null ? (reason ?? null) : [type, code].filter((word) => word !== null).join(" ");

/** Returns the name of a failure: the provider's code, otherwise its type, the status, or how the attempt failed. */
const codeOf = ({ error_code: code, error_type: type, status, kind }: BackendFailure): string =>
  code ?? type ?? (status === null ? kind : String(status));

interface Group {
  readonly code: string;
  readonly model: string | null;
  readonly count: number;
  /** Time in milliseconds since 1970. */
  readonly lastAt: number;
  readonly callers: ReadonlySet<string>;
}

/** Groups failures by code and model, the most frequent first, and among equals the newest first. */
function failureGroups(failures: readonly BackendFailure[]): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const failure of failures) {
    const { model, caller, time } = failure;
    const code = codeOf(failure);
    const key = JSON.stringify([code, model]);
    const known = groups.get(key);
    groups.set(key, {
      code,
      model,
      count: (known?.count ?? 0) + 1,
      lastAt: Math.max(known?.lastAt ?? 0, Date.parse(time)),
      callers: new Set([...(known?.callers ?? []), ...(caller === null ? [] : [caller])]),
    });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || b.lastAt - a.lastAt);
}

/** Maximum number of lines above the table, including a blank separator. */
const MAX_GROUP_LINES = 5;

function groupLines({ data, subject, now }: Context, most: number): readonly Line[] {
  const groups = failureGroups(failuresOf({ data, subject }));
  // If no group has more than one failure, the groups would only repeat the rows.
  if (groups.length === 0 || groups[0]?.count === 1 || most < 2) return [];
  const listed = groups.slice(0, groups.length > most - 1 ? most - 2 : most - 1);
  const left = groups.length - listed.length;
  return [
    ...listed.map(
      ({ code, model, count: times, lastAt, callers }): Line => [
        span(`${String(times).padStart(5)} x `, "strong"),
        shown(code, "fail"),
        shown(model === null ? "" : `  ${model}`),
        span(`  ${plural(callers.size, "caller")}, last ${clock(lastAt, now)}`, "dim"),
      ],
    ),
    ...(left === 0 || listed.length === 0 ? [] : [line(`      and ${plural(left, "further group")} below`, "dim")]),
    BLANK,
  ];
}

const failuresOf = ({ data, subject }: Pick<Context, "data" | "subject">): readonly BackendFailure[] =>
  subject === undefined ? [] : (data.get({ id: "list_backend_errors", name: subject })?.value ?? []);

/** Builds the rows. Failures have no id, so those of the same millisecond are numbered. */
export function failureRows(failures: readonly BackendFailure[]): readonly Row[] {
  const met = new Map<string, number>();
  return failures
    .toReversed()
    .map((failure) => {
      const { time, kind, attempt, node, request } = failure;
      const facts = `${node} ${time} ${kind} ${attempt} ${request}`;
      const before = met.get(facts) ?? 0;
      met.set(facts, before + 1);
      return { id: `${facts} ${before}`, failure };
    })
    .toReversed();
}

const rows = (context: Pick<Context, "data" | "subject">): readonly Row[] => failureRows(failuresOf(context));

const table = (context: Omit<Context, "now">): Table =>
  tableOf<Row>(
    {
      columns: columnsOf(context.subject ?? ""),
      idOf: ({ id }) => id,
      nameOf: ({ failure }) => codeOf(failure),
      haystack: ({ failure }) =>
        [
          failure.status,
          failure.kind,
          errorName(failure),
          failure.caller,
          failure.model,
          failure.moved_to,
          failure.node,
          failure.request,
        ].join(" "),
      jsonOf: ({ failure }) => failure,
    },
    rows(context),
  );

const NO_SUBJECT = "name a provider: `:errors NAME`";

/** Returns the subject of the verbs, which is the provider, whichever row is under the cursor. */
const subjects = ({ subject = "" }: Context) => ({ kind: "provider", names: [subject] }) as const;

const movedTo = ({ ids: [id] }: Selection, context: Context): string | null | undefined =>
  rows(context).find((row) => row.id === id)?.failure.moved_to;

export const errorsView: View = {
  id: "errors",
  aliases: ["err"],
  title: "Errors",
  about: "the last 50 failures of each node at a provider, with caller and error",
  subject: "provider name",
  subjects: ({ data }) => rowsOf(data, "backends").map(({ name }) => name),
  needs: (subject) =>
    subject === undefined
      ? []
      : [
          { id: "list_backend_errors", name: subject },
          { id: "list_backends" },
          { id: "list_suspensions" },
          { id: "list_models" },
          { id: "list_cluster_members" },
        ],
  body: {
    kind: "table",
    table,
    sort: { column: "time", isDescending: true },
    above: (context, { rows: most }) => groupLines(context, most),
    aboveRows: MAX_GROUP_LINES,
    empty: ({ subject }) =>
      subject === undefined
        ? { sentence: "No provider was named.", next: "Press e on a provider (2), or name it: `:errors NAME`." }
        : {
            sentence: `No failure of ${escapeControls(subject)} on any node that answers, since its start.`,
            next: "Requests that the gateway refused are in `:refusals`.",
          },
  },
  offers: [
    // Failures from an older node do not name their request.
    requestsOffer((id, context) => rows(context).find((row) => row.id === id)?.failure.request || undefined),
    {
      verb: "suspend",
      needsRow: false,
      disabledReason: (_, context) =>
        context.subject === undefined ? NO_SUBJECT : whyAllSuspended(context.data, subjects(context)),
      start: (_, context) => ({ kind: "dialog", dialog: suspendDialog(subjects(context), context) }),
    },
    {
      verb: "lift",
      needsRow: false,
      disabledReason: (_, { subject, data }) =>
        subject === undefined ? NO_SUBJECT : whyNotSuspended(data, [{ kind: "provider", name: subject }]),
      start: (_, context) => ({ kind: "dialog", dialog: liftDialog(subjects(context), context) }),
    },
    {
      verb: "follow",
      label: "failover",
      needsRow: true,
      disabledReason: (chosen, context) => {
        const name = movedTo(chosen, context);
        if (name === undefined) return "the failure is no longer kept";
        return name === null ? "the request had no failover" : undefined;
      },
      start: (chosen, context) => ({
        kind: "go",
        place: { view: "providers" },
        row: movedTo(chosen, context) ?? context.subject ?? "",
      }),
    },
  ],
};
