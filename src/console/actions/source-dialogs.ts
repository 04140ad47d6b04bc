/**
 * Dialogs about the configuration: reload of the file, a new revision, a rollback, the deletion of a source. Source: operator
 * console reference, B6; design decisions, section 3 (sources); specification document 1 (apply).
 *
 * If a deployment document on disk is the single writer, the gateway refuses every other write, and so does the console.
 */

import type { SourceRecord } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { plural } from "../format/numbers.ts";
import { ago } from "../format/times.ts";
import { type Action, actionOf } from "../model/action.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import type { Dialog } from "../model/dialog.ts";
import type { DocumentChange } from "../model/documents.ts";
import type { RehearsalRequest } from "../model/rehearsal.ts";
import { type Line, line } from "../model/text.ts";
import { applyingNodes } from "./applying-nodes.ts";

type Reads = Pick<Context, "data">;
type Rows = readonly (readonly [label: string, line: Line])[];

export const sourceOf = ({ data }: Reads, name: string): SourceRecord | undefined =>
  rowsOf(data, "sources").find((source) => source.name === name);

/** Returns the gateway's configuration status; `undefined` while it is unknown. */
const configOf = ({ data }: Reads) => data.get({ id: "get_config" })?.value;

/** Returns the reason why the admin API may not write: a file is the single writer, or is about to become the first source. */
export function whyNotWritable(context: Reads): string | undefined {
  const sources = rowsOf(context.data, "sources");
  const path = configOf(context)?.source ?? "api";
  const isFile = sources.some(({ writer }) => writer === "file") || (sources.length === 0 && path !== "api");
  return isFile
    ? `the deployment document ${path === "api" ? "of a node file" : escapeControls(path)} is the single writer: edit it and run \`gateway config reload\` (R in the console)`
    : undefined;
}

/** Returns the reason why a reload has nothing to apply. */
export function whyNotReloadable(context: Reads): string | undefined {
  const config = configOf(context);
  if (config === undefined) return "the state of the file is not known yet";
  if (config.source !== "api") return undefined;
  return "this node is configured by the API: its node file names no deployment document";
}

/**
 * Builds the dialog. `opened` is the state when it opened. If the admin endpoint is on this machine, the file is read here and
 * its line difference is shown too.
 */
export function reloadDialog(opened: Pick<Context, "data" | "endpointFlags">): Dialog {
  const file = localFile(opened);
  return {
    title: "Reload the deployment document",
    fields: [],
    lines(_, context) {
      const config = configOf(context);
      if (config === undefined) return [["Effect", line("the state of the file is not known yet")]];
      const { state, message, remedy } = config.file_status;
      return [
        ["Effect", line(`apply ${escapeControls(config.source)} to ${applyingNodes(context.data)}`)],
        ["File", fileLine(state, message)],
        // The dialog itself is the reload.
        ...(remedy === "" || remedy.startsWith("run `gateway config reload`")
          ? []
          : ([["What to do", line(escapeControls(remedy))]] as const)),
        ...reloadForecast(state),
      ];
    },
    attached: () => ({ kind: "reload", source: FILE_OWNED, file }),
    ...(file !== undefined && { rehearses: () => ({ source: FILE_OWNED, from: { kind: "file", file } }) }),
    confirm: { kind: "yes", button: "reload" },
    blockedReason: (_, context) => whyNotReloadable(context),
    task: () => ({
      kind: "actions",
      actions: [
        actionOf("reload_config", {}, ({ applied, revision, file_status }) => ({
          message: applied
            ? `the document is applied, revision ${revision ?? "unknown"}`
            : `nothing applied: ${escapeControls(file_status.message)}`,
        })),
      ],
    }),
  };
}

/** Name of the source that holds a deployment document. */
const FILE_OWNED = "default";

type FileState = NonNullable<ReturnType<typeof configOf>>["file_status"]["state"];

/** Returns a state as a table shows it: `IN SYNC`. */
export const stateText = (state: FileState): string => state.replace("_", " ").toUpperCase();

export const STATE_TONES = {
  in_sync: "plain",
  diverged: "warn",
  behind: "warn",
  no_version: "warn",
  no_file: "dim",
  refused: "fail",
} as const satisfies Readonly<Record<FileState, string>>;

const fileLine = (state: FileState, message: string): Line => [
  { text: stateText(state), tone: STATE_TONES[state] },
  { text: `  ${escapeControls(message)}` },
];

function reloadForecast(state: FileState): Rows {
  switch (state) {
    case "in_sync":
      return [["Forecast", line("nothing will change: the document equals the stored one")]];
    case "behind":
    case "refused":
      return [["Forecast", line("it will be refused, and the configuration in force stays", "warn")]];
    case "diverged":
    case "no_version":
    case "no_file":
      return [["Forecast", line("it is refused if it is not valid, and the configuration in force stays")]];
    default:
      return state satisfies never;
  }
}

/** Matches valid names of sources; the same pattern as in the admin API. */
const SOURCE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const SOURCE = "source";
/** Value of `If-Match` for a source that does not exist yet, so that one created meanwhile is not overwritten. */
const NONE = 0;

/** Creates a new revision from a local file; `initial` is the source under the cursor. */
export function putDocumentDialog(initial: string, file: string, opened: Reads): Dialog {
  const named = (values: Readonly<Record<string, string>>): string => values[SOURCE] ?? "";
  return {
    title: "New revision of a source",
    fields: [
      {
        kind: "text",
        id: SOURCE,
        label: "Source",
        initial,
        isRequired: true,
        validate: nameProblem,
        suggestions: rowsOf(opened.data, "sources").map(({ name }) => name),
      },
    ],
    lines(values, context) {
      const name = named(values);
      const source = sourceOf(context, name);
      return [
        ["Document", line(`local file ${escapeControls(file)}`)],
        [
          "Effect",
          line(
            source === undefined
              ? `makes the source ${escapeControls(name)}, in force on ${applyingNodes(context.data)}`
              : `replaces revision ${source.revision} of ${escapeControls(name)} on ${applyingNodes(context.data)}`,
          ),
        ],
        [
          "Guard",
          line(
            source === undefined
              ? "refused if the whole configuration is not valid"
              : `refused if the whole configuration is not valid, or if revision ${source.revision} is no longer the newest`,
          ),
        ],
      ];
    },
    attached: (values) =>
      nameProblem(named(values)) === undefined ? { kind: "preview", source: named(values), from: { file } } : undefined,
    rehearses: (values) =>
      nameProblem(named(values)) === undefined ? { source: named(values), from: { kind: "file", file } } : undefined,
    confirm: { kind: "yes", button: "write" },
    blockedReason: (values, context) =>
      nameProblem(named(values)) ??
      whyNotWritable(context) ??
      whyOutdated(sourceOf(opened, named(values))?.revision, sourceOf(context, named(values))),
    task: (values) => ({
      kind: "job",
      job: {
        kind: "put_document",
        source: named(values),
        file,
        revision: sourceOf(opened, named(values))?.revision ?? NONE,
      },
    }),
  };
}

/** Asks before an edited document is written: to its file, which is then reloaded, or as a new revision. */
export function editedDialog(change: DocumentChange): Dialog {
  const { source, revision, file } = change;
  const shown = escapeControls(source);
  const reason = (context: Reads): string | undefined =>
    (file === undefined ? whyNotWritable(context) : undefined) ?? whyOutdated(revision, sourceOf(context, source));
  return {
    title: file === undefined ? `Write the edited document of ${shown}` : `Write ${escapeControls(file)}`,
    fields: [],
    lines: (_, context) => [
      [
        "Effect",
        line(
          file === undefined
            ? `replaces revision ${revision} of ${shown} on ${applyingNodes(context.data)}`
            : `writes the file, then applies it to ${applyingNodes(context.data)}`,
        ),
      ],
      [
        "Guard",
        line(
          file === undefined
            ? `refused if the whole configuration is not valid, or if revision ${revision} is no longer the newest`
            : "refused if the file was changed meanwhile; if it is not valid, the configuration in force stays",
        ),
      ],
      ["Esc", line("writes nothing; E opens the edited text again")],
    ],
    attached: () => ({ kind: "edited", change }),
    rehearses: () => rehearsalOf(change),
    confirm: { kind: "yes", button: "write" },
    blockedReason: (_, context) => reason(context),
    task: () => ({ kind: "job", job: { kind: "write_change", change, summary: `${shown} is edited` } }),
    ...(file === undefined && { undo: () => (later) => rollbackDialog(source, revision, later) }),
    commands: () => [],
  };
}

/** Returns the deployment document if it is a local file: the console is connected through a local socket. */
function localFile({ data, endpointFlags }: Pick<Context, "data" | "endpointFlags">): string | undefined {
  const path = configOf({ data })?.source ?? "api";
  return path.startsWith("/") && endpointFlags.startsWith("-socket ") ? path : undefined;
}

/** Returns the local file that is the writer of a source. */
export const ownedFile = (name: string, context: Pick<Context, "data" | "endpointFlags">): string | undefined =>
  sourceOf(context, name)?.writer === "file" ? localFile(context) : undefined;

/** Returns the reason why the document of a source cannot be edited from here. */
export function whyNotEditable(name: string, context: Pick<Context, "data" | "endpointFlags">): string | undefined {
  if (sourceOf(context, name) === undefined)
    return `there is no source ${escapeControls(name)}: n writes one from a file`;
  return ownedFile(name, context) === undefined ? whyNotWritable(context) : undefined;
}

/** Returns the rehearsal of the document as it would be written. */
export const rehearsalOf = ({ source, after }: DocumentChange): RehearsalRequest => ({
  source,
  from: { kind: "document", document: after },
});

/** Document of a source that defines nothing. */
const NOTHING = "{}";

const nameProblem = (name: string): string | undefined =>
  SOURCE_NAME.test(name) ? undefined : "a source's name has 1 to 64 letters, digits, `_`, `.` and `-`";

/** Builds the dialog. `opened` is the state when it opened. It cannot be confirmed once there is another revision. */
export function deleteSourceDialog(name: string, opened: Reads): Dialog {
  const shown = escapeControls(name);
  const revision = sourceOf(opened, name)?.revision;
  return {
    title: `Delete source ${shown}`,
    isDangerous: true,
    fields: [],
    lines(_, context) {
      const source = sourceOf(context, name);
      const others = rowsOf(context.data, "sources").length - 1;
      return [
        [
          "Effect",
          line(`what ${shown} defines is gone from the running deployment, on ${applyingNodes(context.data)}`, "fail"),
        ],
        [
          "Unchanged",
          line(others > 0 ? `${plural(others, "other source")}` : "nothing: it is the only source", "warn"),
        ],
        ["Guard", line("refused if what remains is not valid")],
        ["Newest", line(source === undefined ? "not known" : writtenBy(source, context.now))],
        ["History", line("is shown again once a source with that name exists; keep a copy of it first (v)")],
      ];
    },
    attached: () => ({ kind: "removal", source: name }),
    rehearses: () => ({ source: name, from: { kind: "document", document: NOTHING } }),
    confirm: { kind: "typed", button: "delete", label: "type the name of the source", expected: () => name },
    blockedReason: (_, context) => whyNotDeletable(name, context) ?? whyOutdated(revision, sourceOf(context, name)),
    task: () => ({ kind: "actions", actions: [deleteAction(name, revision)] }),
  };
}

export const whyNotDeletable = (name: string, context: Reads): string | undefined =>
  sourceOf(context, name) === undefined
    ? `there is no source ${escapeControls(name)} any more`
    : whyNotWritable(context);

const deleteAction = (name: string, revision: number | undefined): Action =>
  actionOf("delete_source", { params: { name }, ...(revision !== undefined && { ifMatch: revision }) }, () => ({
    message: `source ${escapeControls(name)} is deleted`,
  }));

/** Returns the reason if the revision has changed since it was shown. */
function whyOutdated(opened: number | undefined, source: SourceRecord | undefined): string | undefined {
  if (opened === source?.revision) return undefined;
  const now = source === undefined ? "gone" : `at revision ${source.revision}`;
  const then = opened === undefined ? "not there" : `at revision ${opened}`;
  return `it is ${now}, but was ${then} when this dialog was opened: close it and look again`;
}

const writtenBy = ({ revision, by, updated_at }: SourceRecord, now: number): string =>
  `revision ${revision}, by ${escapeControls(by)} ${ago(updated_at, now)}`;

/** Returns the reason why the revision cannot become the newest. */
export function whyNotRollback(name: string, revision: number, context: Reads): string | undefined {
  const source = sourceOf(context, name);
  if (source === undefined) return `there is no source ${escapeControls(name)}, or it is not known yet`;
  if (source.revision === revision) return `revision ${revision} is the newest`;
  return whyNotWritable(context);
}

export function rollbackDialog(name: string, revision: number, opened: Reads): Dialog {
  const shown = escapeControls(name);
  const replaced = sourceOf(opened, name)?.revision;
  return {
    title: `Roll ${shown} back to revision ${revision}`,
    fields: [],
    lines(_, context) {
      const source = sourceOf(context, name);
      const newest = source?.revision ?? 0;
      return [
        [
          "Effect",
          line(`writes revision ${revision} again as the newest, ${newest + 1}, on ${applyingNodes(context.data)}`),
        ],
        ["Newest", line(source === undefined ? "not known" : writtenBy(source, context.now))],
        [
          "Guard",
          line(`refused if the whole configuration is not valid, or if revision ${newest} is no longer the newest`),
        ],
        ["History", line("the revisions in between stay")],
      ];
    },
    attached: () => ({ kind: "preview", source: name, from: { revision } }),
    rehearses: () => ({ source: name, from: { kind: "revision", revision } }),
    confirm: { kind: "yes", button: "roll back" },
    blockedReason: (_, context) =>
      whyNotRollback(name, revision, context) ?? whyOutdated(replaced, sourceOf(context, name)),
    task: () => ({ kind: "actions", actions: [rollbackAction(name, revision, replaced)] }),
    undo: () => (replaced === undefined ? undefined : (later) => rollbackDialog(name, replaced, later)),
  };
}

const rollbackAction = (name: string, revision: number, newest: number | undefined): Action =>
  actionOf(
    "rollback_source",
    { params: { name }, query: {}, body: { revision }, ...(newest !== undefined && { ifMatch: newest }) },
    (change) => ({
      message: change.changed
        ? `${escapeControls(name)}: revision ${revision} is in force again, as ${change.revision}`
        : `${escapeControls(name)}: the document equals the stored one, revision ${change.revision}`,
    }),
  );
