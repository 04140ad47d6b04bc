/**
 * The last failures that each node had with one provider. What the provider said is in no record: its texts may hold
 * prompts. Source: design decisions, section 3 (`GET /backends/{name}/errors`).
 */

import type { BackendFailure } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { liftDialog, suspendDialog, whyAllSuspended, whyNotSuspended } from "../actions/suspension.ts";
import { momentColumn, textColumn } from "../format/columns.ts";
import { shown } from "../format/lines.ts";
import { milliseconds } from "../format/numbers.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { span } from "../model/text.ts";
import type { Chosen, View } from "../model/view.ts";
import { movedWords } from "./providers-pane.ts";
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
  textColumn({ head: "SAID", letter: "i", width: { least: 12, flex: 1 }, priority: 2 }, ({ failure }) =>
    saidWords(failure),
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
    // Negative: a node of an earlier version does not tell.
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
      if (movedTo === null || movedTo === provider) return span(movedWords(movedTo, provider), "dim");
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

/** Type and code of the provider's error: `invalid_request_error context_length_exceeded`. */
const saidWords = ({ error_type: type, error_code: code }: BackendFailure): string | null =>
  type === null && code === null ? null : [type, code].filter((word) => word !== null).join(" ");

/** Failures have no id: those of one millisecond are told apart by how many came before. */
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

const rows = ({ data, subject }: Pick<Context, "data" | "subject">): readonly Row[] =>
  subject === undefined ? [] : failureRows(data.get({ id: "list_backend_errors", name: subject })?.value ?? []);

const table = (context: Omit<Context, "now">): Table =>
  tableOf<Row>(
    {
      columns: columnsOf(context.subject ?? ""),
      idOf: ({ id }) => id,
      nameOf: ({ failure }) => failure.kind,
      haystack: ({ failure }) =>
        [
          failure.status,
          failure.kind,
          saidWords(failure),
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

/** The verbs are about the provider, whichever row is under the cursor. */
const subjects = ({ subject = "" }: Context) => ({ kind: "provider", names: [subject] }) as const;

const movedTo = ({ ids: [id] }: Chosen, context: Context): string | null | undefined =>
  rows(context).find((row) => row.id === id)?.failure.moved_to;

export const errorsView: View = {
  id: "errors",
  aliases: ["err"],
  title: "Errors",
  about: "the last 50 failures that each node had with a provider: whose request, and what the provider said",
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
    empty: ({ subject }) =>
      subject === undefined
        ? { sentence: "No provider was named.", next: "Press e on a provider (2), or name it: `:errors NAME`." }
        : {
            sentence: `No failure of ${escapeControls(subject)} on any node that answers, since its start.`,
            next: "What the gateway itself refused stands in `:refusals`.",
          },
  },
  offers: [
    // A node of an earlier version does not tell which request failed.
    requestsOffer((id, context) => rows(context).find((row) => row.id === id)?.failure.request || undefined),
    {
      verb: "suspend",
      needsRow: false,
      why: (_, context) =>
        context.subject === undefined ? NO_SUBJECT : whyAllSuspended(context.data, subjects(context)),
      start: (_, context) => ({ kind: "dialog", dialog: suspendDialog(subjects(context), context) }),
    },
    {
      verb: "lift",
      needsRow: false,
      why: (_, { subject, data }) =>
        subject === undefined ? NO_SUBJECT : whyNotSuspended(data, [{ kind: "provider", name: subject }]),
      start: (_, context) => ({ kind: "dialog", dialog: liftDialog(subjects(context), context) }),
    },
    {
      verb: "follow",
      does: "failover",
      needsRow: true,
      why: (chosen, context) => {
        const name = movedTo(chosen, context);
        if (name === undefined) return "the failure is remembered no more";
        return name === null ? "this request had no failover" : undefined;
      },
      start: (chosen, context) => ({
        kind: "go",
        place: { view: "providers" },
        row: movedTo(chosen, context) ?? context.subject ?? "",
      }),
    },
  ],
};
