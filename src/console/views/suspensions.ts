/** View of all suspensions, with their ends. */

import type { SuspensionKind, SuspensionRecord } from "../../admin-api/index.ts";
import {
  extendDialog,
  labelOf,
  liftSuspensionsDialog,
  newSuspensionDialog,
  suspensionOf,
  whyNotSuspended,
} from "../actions/suspension-dialogs.ts";
import { momentColumn, textColumn } from "../format/column-kinds.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { clock, humanDuration } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Line, span } from "../model/text.ts";
import type { Intent, Selection, View } from "../model/view.ts";
import { requestsOfSubject } from "./keys-filters.ts";
import { requestsOffer } from "./requests.ts";

/** Returns the id of a row; a kind has no colon. */
export const suspensionId = ({ kind, name }: Pick<SuspensionRecord, "kind" | "name">): string => `${kind}:${name}`;

const rowById = (data: Data, id: string): SuspensionRecord | undefined =>
  rowsOf(data, "suspensions").find((row) => suspensionId(row) === id);

const isActive = ({ status }: SuspensionRecord): boolean => status === "active";

const COLUMNS: readonly Column<SuspensionRecord>[] = [
  textColumn({ head: "KIND", letter: "k", width: 8, priority: 1 }, ({ kind }) => kind),
  textColumn(
    { head: "NAME", letter: "n", width: { least: 12, flex: 2 }, priority: 1, cut: "middle" },
    ({ name }) => name,
  ),
  textColumn({ head: "REASON", letter: "r", width: { least: 12, flex: 3 }, priority: 2 }, ({ reason }) => reason),
  textColumn({ head: "BY", letter: "b", width: { least: 10, flex: 1 }, priority: 3, cut: "middle" }, ({ by }) => by),
  momentColumn({ head: "SINCE", letter: "s", width: 17, priority: 4 }, ({ created_at: since }) => since),
  {
    id: "lifts in",
    head: "LIFTS IN",
    letter: "l",
    width: 12,
    align: "left",
    priority: 1,
    cell(row, now) {
      if (!isActive(row)) return span("-", "dim");
      return span(row.until === null ? "until lifted" : humanDuration(Date.parse(row.until) - now));
    },
    // A suspension without an end sorts after all others.
    sortKey: ({ until }) => (until === null ? Number.MAX_SAFE_INTEGER : Date.parse(until)),
  },
  {
    id: "status",
    head: "STATUS",
    letter: "t",
    width: 10,
    align: "left",
    priority: 2,
    cell: (row) => (isActive(row) ? span("~SUSPENDED", "off") : span(" ended", "dim")),
    sortKey: ({ status }) => status,
  },
];

const table = ({ data }: Omit<Context, "now">): Table =>
  tableOf<SuspensionRecord>(
    {
      columns: COLUMNS,
      idOf: suspensionId,
      nameOf: ({ name }) => name,
      haystack: ({ kind, name, reason, by }) => `${kind}:${name} ${reason} ${by}`,
      isBad: isActive,
      jsonOf: (row) => row,
    },
    rowsOf(data, "suspensions"),
  );

/** View that lists each kind of subject. */
const VIEWS: Readonly<Record<SuspensionKind, string | undefined>> = {
  provider: "providers",
  key: "keys",
  profile: "profiles",
  model: "models",
  mcp: "mcp",
  a2a: "a2a",
  issuer: undefined,
};

/** Goes to the view of a suspension's subject, with the subject under the cursor. */
export function subjectOf({ kind, name }: Pick<SuspensionRecord, "kind" | "name">): Intent {
  const view = VIEWS[kind];
  return view === undefined
    ? { kind: "flash", message: `${labelOf({ kind, name })} is shown in no other view`, tone: "warn" }
    : { kind: "go", place: { view }, row: name };
}

const GONE: Intent = { kind: "flash", message: "the suspension no longer exists", tone: "warn" };

function pane(id: string, { data, now }: Context): readonly Line[] {
  const row = rowById(data, id);
  if (row === undefined) return [];
  return [
    labeledLine("suspended", shown(labelOf(row), isActive(row) ? "off" : "dim")),
    labeledLine("reason", shown(row.reason)),
    labeledLine("by", shown(row.by), span(`  since ${clock(Date.parse(row.created_at), now)}`, "dim")),
    labeledLine("until", span(row.until === null ? "lifted" : clock(Date.parse(row.until), now))),
  ];
}

const selectedItems = ({ ids }: Selection, data: Data): readonly SuspensionRecord[] =>
  ids.flatMap((id) => rowById(data, id) ?? []);

export const suspensionsView: View = {
  id: "suspensions",
  aliases: ["susp", "suspension"],
  title: "Suspensions",
  about: "suspended objects, with reason, operator and end",
  needs: () => [
    { id: "list_suspensions" },
    { id: "list_backends" },
    { id: "list_models" },
    { id: "list_profiles" },
    { id: "list_mcp_servers" },
    { id: "list_a2a_agents" },
    { id: "list_cluster_members" },
  ],
  body: {
    kind: "table",
    table,
    sort: { column: "since", isDescending: true },
    pane,
    empty: ({ isReadOnly, endpointFlags }) => ({
      sentence: "Nothing is suspended.",
      next: isReadOnly
        ? "The console is read-only; suspensions of others are listed here."
        : `Press n to suspend, or \`gateway admin ${endpointFlags} -d '{"reason":"..."}' PUT suspensions/provider:NAME\``,
    }),
    open(id, { data }) {
      const row = rowById(data, id);
      return row === undefined ? GONE : subjectOf(row);
    },
    query: {
      table: "suspensions",
      columns: ["kind", "name", "reason", "by", "created_at", "until", "status"],
      key: ["kind", "name"],
      order: "created_at DESC",
    },
  },
  offers: [
    {
      verb: "lift",
      needsRow: true,
      takesMany: true,
      disabledReason: (chosen, { data }) => {
        const rows = selectedItems(chosen, data);
        return rows.length === 0 ? "the suspension no longer exists" : whyNotSuspended(data, rows);
      },
      start: (chosen, context) => ({
        kind: "dialog",
        dialog: liftSuspensionsDialog(selectedItems(chosen, context.data), context),
      }),
    },
    {
      verb: "extend",
      needsRow: true,
      disabledReason(chosen, { data }) {
        const [row] = selectedItems(chosen, data);
        if (row === undefined) return "the suspension no longer exists";
        return suspensionOf(data, row.kind, row.name) === undefined ? `${labelOf(row)} is not suspended` : undefined;
      },
      start(chosen, context) {
        const [row] = selectedItems(chosen, context.data);
        return row === undefined ? GONE : { kind: "dialog", dialog: extendDialog(row, context) };
      },
    },
    {
      verb: "create",
      label: "new",
      needsRow: false,
      start: (_, context) => ({ kind: "dialog", dialog: newSuspensionDialog(context) }),
    },
    requestsOffer((id, { data }) => {
      const row = rowById(data, id);
      return row && requestsOfSubject(row);
    }),
  ],
};
