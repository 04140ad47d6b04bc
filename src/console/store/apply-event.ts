/** Handles events that do not come from the keyboard. */

import { escapeControls } from "../../base/index.ts";
import { plural } from "../format/numbers.ts";
import type { KeyEvent } from "../model/key-event.ts";
import type { Event, Link, State } from "../model/state.ts";
import { tableStateOf } from "./current-view.ts";
import { withFound } from "./file-completion.ts";
import {
  redactSecret,
  withFlash,
  withLinkText,
  withLogEntry,
  withNotice,
  withOutcome,
  withoutExpiredFlash,
  withoutLinkText,
  withRefinedOutcome,
} from "./flash.ts";
import { withTable } from "./navigation.ts";
import { replaceDialog } from "./replace-file.ts";
import { openDialog } from "./step-dialog.ts";
import { openPage } from "./step-page.ts";

/** Events without those that the workbench handles itself. */
type Report = Exclude<
  Event,
  | KeyEvent
  | { readonly kind: "pointed" }
  | { readonly kind: "pointed_head" }
  | { readonly kind: "query_done" }
  | { readonly kind: "query_failed" }
  | { readonly kind: "remembered" }
>;

/** Maximum number of audit lines that are kept. */
const MAX_TAIL = 1_000;
/** Maximum size that a terminal may report, in cells or lines. */
const MAX_SIZE = 1_000;

export function withReport(state: State, event: Report): State {
  switch (event.kind) {
    case "size":
      return { ...state, size: { columns: clampCells(event.columns), rows: clampCells(event.rows) } };
    case "tick":
      return withoutExpiredFlash({ ...state, now: event.now });
    case "data":
      return withLeader(state, { ...state, data: event.data, now: event.now });
    case "link":
      return withLink(state, event.link);
    case "flash":
      // Messages that do not answer a key, such as a saved file, or a change that has reached more nodes.
      return event.flash.tone === "plain"
        ? withLogEntry(withNotice(state, event.flash.message), event.flash.message)
        : withNotice(state, event.flash.message, event.flash.tone);
    case "task_visible":
      return withLogEntry(withRefinedOutcome(state, event.message, event.task), event.message);
    case "task_progress":
    case "task_done":
    case "task_failed":
      return withTask(state, event);
    case "file_exists":
      return withExisting(state, event);
    case "output":
      return openPage(state, event.title, event.lines);
    case "edited":
      return openDialog({ ...state, page: undefined, prompt: undefined }, event.dialog);
    case "page_loaded":
      return withLoaded(state, event);
    case "rehearsed":
      return withRehearsed(state, event);
    case "completed":
      return withFound(state, event);
    case "verification":
      return withVerification(state, event.verification);
    case "sweep":
      return withSweep(state, event.sweep);
    case "tail":
      // Each event contains all kept lines, so they replace the earlier ones.
      return { ...state, tail: event.lines.slice(-MAX_TAIL) };
    case "tail_waiting":
      return event.reason === state.tailError ? state : { ...state, tailError: event.reason };
    default:
      return event satisfies never;
  }
}

/** Asks whether to replace the file, unless another question is open. */
function withExisting(state: State, { job, path }: Event & { readonly kind: "file_exists" }): State {
  return state.dialog === undefined && state.prompt === undefined
    ? openDialog(state, replaceDialog(job, path))
    : withNotice(state, `${escapeControls(path)} exists; nothing was saved`, "warn");
}

function withLoaded(state: State, { id, lines }: Event & { readonly kind: "page_loaded" }): State {
  const { page, dialog } = state;
  if (page?.id === id) return { ...state, page: { ...page, lines } };
  if (dialog?.attachment?.id !== id) return state;
  return { ...state, dialog: { ...dialog, attachment: { ...dialog.attachment, lines } } };
}

function withRehearsed(state: State, { id, outcome }: Event & { readonly kind: "rehearsed" }): State {
  const { dialog } = state;
  if (dialog?.rehearsal?.id !== id) return state;
  return { ...state, dialog: { ...dialog, rehearsal: { ...dialog.rehearsal, outcome } } };
}

const clampCells = (cells: number): number => Math.max(1, Math.min(MAX_SIZE, Math.floor(cells) || 1));

function withLeader(before: State, after: State): State {
  const led = leaderOf(before);
  const leads = leaderOf(after);
  if (led === undefined || leads === undefined || led === leads) return after;
  return withNotice(
    after,
    leads === null ? `${led} is no longer the leader` : `${escapeControls(leads)} is the leader now`,
  );
}

/** Returns the leader: null if the node knows of none, `undefined` if the console has not read it. */
const leaderOf = ({ data }: State): string | null | undefined => data.get({ id: "get_status" })?.value?.leader;

function withLink(state: State, link: Link): State {
  const before = state.link.state.kind;
  if (link.endpoint.name === state.link.endpoint.name && link.state.kind === before) return { ...state, link };
  const after = withoutLinkText({ ...state, link });
  return withLinkMessage(
    link.endpoint.name === state.link.endpoint.name ? after : withNotice(after, `connected to ${link.endpoint.name}`),
  );
}

function withLinkMessage(state: State): State {
  const { link } = state;
  switch (link.state.kind) {
    case "offline":
      return withLinkText(state, `offline: ${link.state.failure.message}`, "fail");
    case "signed_out":
      return withLinkText(state, `session ended: ${link.state.failure.message}; run gateway login, then r`, "warn");
    case "online":
      return withLogEntry(state, `online at ${link.endpoint.name}`);
    case "connecting":
      return state;
    default:
      return link.state satisfies never;
  }
}

type TaskEvent = Event & { readonly kind: "task_progress" | "task_done" | "task_failed" };

function withTask(state: State, event: TaskEvent): State {
  const open = state.dialog?.id === event.id && state.dialog.stage.kind === "running" ? state.dialog : undefined;
  const secret = event.kind === "task_done" ? event.secret : undefined;
  const message = redactSecret(secret, event.message);
  switch (event.kind) {
    case "task_progress":
      return open === undefined
        ? state
        : { ...state, dialog: { ...open, stage: { kind: "running", message, since: state.now } } };
    case "task_failed": {
      const failed = withOutcome(state, message, "fail");
      return open === undefined ? failed : { ...failed, dialog: { ...open, stage: { kind: "failed", message } } };
    }
    case "task_done": {
      const done = withUndo(withLogEntry(withOutcome(state, message), message), open, message);
      if (open === undefined) return done;
      if (secret === undefined) return withoutMarks({ ...done, dialog: undefined });
      return { ...done, dialog: { ...open, stage: { kind: "done", message, secret } } };
    }
    default:
      return event satisfies never;
  }
}

/** Remembers how to undo an action. An irreversible one keeps the previous undo. */
function withUndo(state: State, open: State["dialog"], doneText: string): State {
  const createDialog = open?.undo;
  return createDialog === undefined ? state : { ...state, undo: { createDialog, doneText, at: state.now } };
}

/** Clears the marks after an action on the marked rows, so that the next verb does not act on them again. */
const withoutMarks = (state: State): State =>
  tableStateOf(state).marks.size === 0 ? state : withTable(state, { marks: new Set() });

function withVerification(state: State, verification: NonNullable<State["verification"]>): State {
  const after = { ...state, verification };
  switch (verification.state.kind) {
    case "running":
      return after;
    case "failed":
      return withFlash(after, verification.state.message, "fail");
    case "done":
      return verification.state.report.isGood
        ? withFlash(after, `${verification.file}: verified`)
        : withFlash(after, `${verification.file}: verification failed`, "fail");
    default:
      return verification.state satisfies never;
  }
}

function withSweep(state: State, sweep: NonNullable<State["sweep"]>): State {
  const after = { ...state, sweep };
  switch (sweep.state.kind) {
    case "running":
      return after;
    case "failed":
      return withFlash(after, `sweep failed: ${escapeControls(sweep.state.problems[0] ?? "")}`, "fail");
    case "done":
      return withFlash(after, `sweep done: ${plural(sweep.state.result.cases, "case")}`);
    default:
      return sweep.state satisfies never;
  }
}
