/** View of the configuration sources, the state of the deployment document on disk, and actions for both. */

import type { SourceRecord, SourceRevision } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { askFile } from "../actions/ask-file.ts";
import {
  deleteSourceDialog,
  editedDialog,
  ownedFile,
  putDocumentDialog,
  reloadDialog,
  STATE_TONES,
  sourceOf,
  stateText,
  whyNotDeletable,
  whyNotEditable,
  whyNotReloadable,
  whyNotWritable,
} from "../actions/source-dialogs.ts";
import { countColumn, momentColumn, textColumn } from "../format/column-kinds.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { count } from "../format/numbers.ts";
import { ago } from "../format/times.ts";
import { withUnknownWords } from "../format/word-table.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { type TableSpec, tableOf } from "../model/table.ts";
import { type Line, span, type Tone } from "../model/text.ts";
import type { Selection, View } from "../model/view.ts";
import { previewFile, saveDocument, viewDifference, viewDocument } from "./source-pages.ts";

/** Name of the source of a deployment document, and of the first source otherwise. */
const FIRST = "default";

const STATES: Readonly<Record<SourceRecord["state"], { readonly label: string; readonly tone: Tone }>> =
  withUnknownWords(
    {
      running: { label: "running", tone: "plain" },
      pending: { label: "~ pending", tone: "warn" },
      refused: { label: "! REFUSED", tone: "fail" },
    },
    (word) => ({ label: `~ ${word}`, tone: "warn" }),
  );

const SOURCES: TableSpec<SourceRecord> = {
  columns: [
    textColumn(
      { head: "SOURCE", letter: "s", width: { least: 10, flex: 2 }, priority: 1, cut: "middle" },
      ({ name }) => name,
    ),
    countColumn({ head: "REVISION", letter: "r", width: 8, priority: 2 }, ({ revision }) => revision),
    textColumn({ head: "WRITER", letter: "w", width: 6, priority: 4 }, ({ writer }) => writer),
    momentColumn({ head: "UPDATED", letter: "u", width: 17, priority: 3 }, ({ updated_at }) => updated_at),
    textColumn({ head: "BY", letter: "b", width: { least: 10, flex: 2 }, priority: 5, cut: "middle" }, ({ by }) => by),
    {
      id: "state",
      head: "STATE",
      letter: "t",
      width: 9,
      align: "left",
      priority: 1,
      cell: ({ state }) => span(STATES[state].label, STATES[state].tone),
      sortKey: ({ state }) => state,
    },
  ],
  idOf: ({ name }) => name,
  nameOf: ({ name }) => name,
  haystack: ({ name, writer, by, state, message }) => [name, writer, by, state, message ?? ""].join(" "),
  isBad: ({ state }) => state !== "running",
  jsonOf: (source) => source,
};

/** Describes the state of the connected node's file, and the remedy. */
export function fileLines({ data }: Pick<Context, "data">): readonly Line[] {
  const config = data.get({ id: "get_config" })?.value;
  if (config === undefined) return [];
  const { state, message, remedy } = config.file_status;
  return [
    // If there is no file, the gateway's message begins with the state.
    labeledLine("file", span(stateText(state), STATE_TONES[state]), shown(`  ${message.replace(/^no file: /, "")}`)),
    ...(remedy === "" ? [] : [labeledLine("to do", shown(remedy))]),
    ...(config.source === "api" ? [] : [labeledLine("document", shown(config.source))]),
  ];
}

const revisionsOf = ({ data }: Pick<Context, "data">, name: string): readonly SourceRevision[] | undefined =>
  data.get({ id: "list_source_revisions", name })?.value;

/** Maximum number of revisions in the pane. */
const SHOWN_REVISIONS = 5;

function pane(name: string, context: Context): readonly Line[] {
  const source = sourceOf(context, name);
  if (source === undefined) return [];
  const served = context.data.get({ id: "get_config" })?.value?.sources.find((it) => it.name === name)?.revision;
  const revisions = revisionsOf(context, name) ?? [];
  const bytes = revisions.find(({ revision }) => revision === source.revision)?.bytes;
  return [
    labeledLine(
      "state",
      span(STATES[source.state].label, STATES[source.state].tone),
      shown(source.message === null ? "" : `  ${source.message}`),
    ),
    ...(served === undefined || served === source.revision
      ? []
      : [labeledLine("serves", span(`this node serves revision ${served}, and ${source.revision} is stored`, "warn"))]),
    ...(bytes === undefined ? [] : [labeledLine("document", span(`${count(bytes)} bytes`))]),
    ...revisions
      .slice(0, SHOWN_REVISIONS)
      .map(
        ({ revision, updated_at, by }, at): Line =>
          labeledLine(at === 0 ? "revisions" : "", shown(`${revision}  ${ago(updated_at, context.now)}  ${by}`)),
      ),
  ];
}

/** Returns the kept revision before the newest; while the kept ones are unknown, assumes the number before it. */
function beforeOf(name: string, context: Context): number | undefined {
  const newest = sourceOf(context, name)?.revision;
  if (newest === undefined) return undefined;
  const kept = revisionsOf(context, name);
  if (kept === undefined) return newest > 1 ? newest - 1 : undefined;
  return kept.find(({ revision }) => revision < newest)?.revision;
}

const sourceName = ({ ids: [name = FIRST] }: Selection): string => name;

export const configView: View = {
  id: "config",
  aliases: ["sources", "source", "cfg"],
  digit: "7",
  title: "Configuration",
  about: "sources, their revisions, and the state of the file on disk",
  needs: () => [{ id: "list_sources" }, { id: "get_config" }, { id: "list_cluster_members" }],
  body: {
    kind: "table",
    table: ({ data }) => tableOf(SOURCES, rowsOf(data, "sources")),
    sort: { column: "source", isDescending: false },
    pane,
    paneNeeds: (name) => [{ id: "list_source_revisions", name }],
    above: (context, { rows }) => fileLines(context).slice(0, rows),
    aboveRows: 4,
    empty: (context) =>
      whyNotWritable(context) === undefined
        ? { sentence: "No configuration is stored.", next: "Press n to write the first source from a file." }
        : {
            sentence: "No configuration is stored yet.",
            next: "Press R to apply the file as source `default`, once there is a leader.",
          },
    query: {
      table: "sources",
      columns: ["name", "revision", "writer", "updated_at", "by", "state", "message"],
      key: ["name"],
      order: "name",
    },
  },
  offers: [
    {
      verb: "reload",
      needsRow: false,
      disabledReason: (_, context) => whyNotReloadable(context),
      start: (_, context) => ({ kind: "dialog", dialog: reloadDialog(context) }),
    },
    { verb: "view", needsRow: true, start: (chosen) => viewDocument(sourceName(chosen)) },
    {
      verb: "history",
      label: "revisions",
      needsRow: true,
      start: (chosen) => ({ kind: "go", place: { view: "revisions", subject: sourceName(chosen) } }),
    },
    {
      verb: "difference",
      label: "last change",
      needsRow: true,
      disabledReason: (chosen, context) =>
        beforeOf(sourceName(chosen), context) === undefined
          ? `no revision before the newest of ${escapeControls(sourceName(chosen))} is kept`
          : undefined,
      start(chosen, context) {
        const name = sourceName(chosen);
        const newest = sourceOf(context, name)?.revision;
        const before = beforeOf(name, context);
        return before === undefined
          ? { kind: "flash", message: `no revision before the newest of ${escapeControls(name)} is kept`, tone: "warn" }
          : viewDifference(name, before, newest);
      },
    },
    {
      verb: "preview",
      label: "preview a file",
      needsRow: false,
      disabledReason: (_, context) => whyNotWritable(context),
      start: (chosen) => previewFile(sourceName(chosen)),
    },
    {
      verb: "create",
      label: "new revision",
      needsRow: false,
      disabledReason: (_, context) => whyNotWritable(context),
      start: (chosen, context) =>
        askFile(`new revision of ${escapeControls(sourceName(chosen))} from file`, "", (file) => ({
          kind: "dialog",
          dialog: putDocumentDialog(sourceName(chosen), file, context),
        })),
    },
    {
      verb: "extend",
      label: "edit",
      needsRow: true,
      disabledReason: (chosen, context) => whyNotEditable(sourceName(chosen), context),
      start: (chosen, context) => ({
        kind: "job",
        job: {
          kind: "edit_document",
          source: sourceName(chosen),
          path: ownedFile(sourceName(chosen), context),
          ask: editedDialog,
        },
      }),
    },
    { verb: "save", needsRow: true, start: (chosen) => saveDocument(sourceName(chosen)) },
    {
      verb: "remove",
      label: "delete source",
      needsRow: true,
      disabledReason: (chosen, context) => whyNotDeletable(sourceName(chosen), context),
      start: (chosen, context) => ({ kind: "dialog", dialog: deleteSourceDialog(sourceName(chosen), context) }),
    },
  ],
};
