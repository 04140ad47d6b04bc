/** View of the kept revisions of a source, newest first, with rollback. */

import type { SourceRevision } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { rollbackDialog, sourceOf, whyNotRollback } from "../actions/source-dialogs.ts";
import { countColumn, momentColumn, textColumn } from "../format/column-kinds.ts";
import { count } from "../format/numbers.ts";
import { ago } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { type TableSpec, tableOf } from "../model/table.ts";
import { type Line, span } from "../model/text.ts";
import type { Selection, View } from "../model/view.ts";
import { previewRollback, saveDocument, viewDifference, viewDocument } from "./source-pages.ts";

/** Source of a deployment document, and the default if no source is named. */
const DEFAULT = "default";

type Reads = Pick<Context, "data" | "subject">;

const nameOf = ({ subject }: Pick<Context, "subject">): string => subject ?? DEFAULT;

const revisionsOf = (context: Reads): readonly SourceRevision[] =>
  context.data.get({ id: "list_source_revisions", name: nameOf(context) })?.value ?? [];

/** Builds the table's columns. `newest` is the active revision, which is marked. */
const specFor = (newest: number | undefined): TableSpec<SourceRevision> => ({
  columns: [
    {
      id: "revision",
      head: "REVISION",
      letter: "r",
      width: 8,
      align: "right",
      priority: 1,
      cell: ({ revision }) => span(count(revision), revision === newest ? "strong" : "plain"),
      sortKey: ({ revision }) => revision,
    },
    {
      id: "in force",
      head: "IN FORCE",
      letter: "f",
      width: 8,
      align: "left",
      priority: 2,
      cell: ({ revision }) => span(revision === newest ? "yes" : ""),
      sortKey: ({ revision }) => (revision === newest ? 1 : 0),
    },
    momentColumn({ head: "WHEN", letter: "w", width: 17, priority: 1 }, ({ updated_at }) => updated_at),
    textColumn({ head: "BY", letter: "b", width: { least: 10, flex: 1 }, priority: 3, cut: "middle" }, ({ by }) => by),
    countColumn({ head: "BYTES", letter: "y", width: 5, priority: 4 }, ({ bytes }) => bytes),
  ],
  idOf: ({ revision }) => String(revision),
  nameOf: ({ revision }) => String(revision),
  haystack: ({ revision, by, updated_at }) => `${revision} ${by} ${updated_at}`,
  jsonOf: (revision) => revision,
});

const chosenRevision = ({ ids: [id = ""] }: Selection): number => Number(id);

/** Returns the reason if the revision is the active one, which can be neither compared nor rolled back to. */
function whyNoDifference(chosen: Selection, context: Context): string | undefined {
  const revision = chosenRevision(chosen);
  return revision === sourceOf(context, nameOf(context))?.revision
    ? `revision ${revision} is the one in force`
    : undefined;
}

function pane(id: string, context: Context): readonly Line[] {
  const revision = revisionsOf(context).find((it) => String(it.revision) === id);
  if (revision === undefined) return [];
  const isNewest = revision.revision === sourceOf(context, nameOf(context))?.revision;
  return [
    [
      span(
        `${count(revision.bytes)} bytes, written ${ago(revision.updated_at, context.now)} by ${escapeControls(revision.by)}`,
      ),
    ],
    [
      span(
        isNewest
          ? "In force. D on another row compares that with it."
          : "D: what differs to the one in force.  p: what a rollback would change.  B: rolls back.",
        "dim",
      ),
    ],
  ];
}

export const revisionsView: View = {
  id: "revisions",
  aliases: ["rev", "revision"],
  title: "Revisions",
  about: "the kept revisions of a source, and rollback to one",
  subject: "source",
  subjects: ({ data }) => rowsOf(data, "sources").map(({ name }) => name),
  needs: (subject) => [
    { id: "list_source_revisions", name: subject ?? DEFAULT },
    { id: "list_sources" },
    { id: "get_config" },
    { id: "list_cluster_members" },
  ],
  body: {
    kind: "table",
    table: (context) => tableOf(specFor(sourceOf(context, nameOf(context))?.revision), revisionsOf(context)),
    sort: { column: "revision", isDescending: true },
    pane,
    empty: (context) => ({
      sentence: `No revisions of ${escapeControls(nameOf(context))} are kept.`,
      next: "`:config` lists the sources; `:revisions NAME` shows those of one.",
    }),
    open: (id, context) => viewDocument(nameOf(context), Number(id)),
  },
  offers: [
    {
      verb: "view",
      needsRow: true,
      start: (chosen, context) => viewDocument(nameOf(context), chosenRevision(chosen)),
    },
    {
      verb: "difference",
      label: "to the one in force",
      needsRow: true,
      disabledReason: whyNoDifference,
      start: (chosen, context) => viewDifference(nameOf(context), chosenRevision(chosen)),
    },
    {
      verb: "preview",
      label: "preview rollback",
      needsRow: true,
      disabledReason: (chosen, context) =>
        whyNoDifference(chosen, context) ?? whyNotRollback(nameOf(context), chosenRevision(chosen), context),
      start: (chosen, context) => previewRollback(nameOf(context), chosenRevision(chosen)),
    },
    {
      verb: "save",
      needsRow: true,
      start: (chosen, context) => saveDocument(nameOf(context), chosenRevision(chosen)),
    },
    {
      verb: "rollback",
      needsRow: true,
      disabledReason: (chosen, context) => whyNotRollback(nameOf(context), chosenRevision(chosen), context),
      start: (chosen, context) => ({
        kind: "dialog",
        dialog: rollbackDialog(nameOf(context), chosenRevision(chosen), context),
      }),
    },
  ],
};
