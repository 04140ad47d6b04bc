/**
 * State of the console and the events that change it. The reducer `step(state, event)` of `store/` is the only function that
 * makes the next state; side effects are returned as data. Both are plain data, so that tests can press a hundred thousand random
 * keys without a terminal.
 */

import type { QueryResult } from "../../admin-api/index.ts";
import type { Data, Failure, Need } from "./data.ts";
import type { CreateUndo, Dialog, FieldValues, Task } from "./dialog.ts";
import type { KeyEvent } from "./key-event.ts";
import type { PageRequest } from "./page-request.ts";
import type { ConsoleEndpoint, StoredText } from "./ports.ts";
import type { PreferenceChange, Preferences } from "./preferences.ts";
import type { Recurrences } from "./recurrence.ts";
import type { Rehearsal, RehearsalOutcome, RehearsalRequest, RehearsedRequests } from "./rehearsal.ts";
import type { CustomCommand, KeyMap, NamedContext } from "./settings.ts";
import type { Sweep } from "./sweep.ts";
import type { Line } from "./text.ts";
import type { Verification } from "./verification.ts";
import type { Intent, LocalJob, Place, SaveText } from "./view.ts";

export type { Verification } from "./verification.ts";

/** Text and cursor of an editor. */
export interface Edit {
  readonly text: string;
  /** UTF-16 index of the cursor, never inside a code point. */
  readonly at: number;
}

/** State of one table, kept by `placeKey` while the console runs. */
export interface TableState {
  /** Id of the row under the cursor, which the cursor follows when rows are reordered; `undefined` is the first row. */
  readonly cursorId: string | undefined;
  /** Last position of that row, used once it disappears. */
  readonly cursorAt: number;
  /** Index of the first row on the screen. */
  readonly offset: number;
  /** Sort chosen by the operator; `undefined` uses the view's default. */
  readonly sort: { readonly column: string; readonly isDescending: boolean } | undefined;
  /** Filter as typed: text, `/regex/`, or either after `!`, which inverts; empty for none. */
  readonly filter: string;
  readonly marks: ReadonlySet<string>;
  readonly isWide: boolean;
  /** Number of columns scrolled out at the left. */
  readonly scrolled: number;
  /** True if only rows that need attention are shown. */
  readonly isNarrowed: boolean;
  /** Moment under the cursor of charts, in milliseconds since 1970; `undefined` is now. */
  readonly moment?: number | undefined;
}

export interface DialogState {
  readonly id: number;
  readonly dialog: Dialog;
  readonly values: FieldValues;
  /** Index of the field with the focus; -1 for none, where `y` confirms. The field of a typed confirmation is the last one. */
  readonly focus: number;
  /** Text of a typed confirmation. */
  readonly typed: Edit;
  /** Attached page, by the id of its request; `lines` is `undefined` while it is loading. */
  readonly attachment?:
    | { readonly id: number; readonly asked: string; readonly lines: readonly Line[] | undefined }
    | undefined;
  readonly rehearsal?: Rehearsal | undefined;
  /**
   * Number of lines of the dialog that are scrolled out above; `undefined` until it is scrolled, when the field with the focus
   * is in view.
   */
  readonly scrolled?: number | undefined;
  /** Editor of the focused text field; for check boxes, `at` is the index of the box that the space bar toggles. */
  readonly edit: Edit;
  /** True if letters were typed while no field had the focus, so that a `y` may be one of them. */
  readonly hasStrayInput?: boolean;
  /** Several file names that begin with the focused text; `undefined` if none were looked up. */
  readonly found?: readonly string[] | undefined;
  readonly stage:
    | { readonly kind: "asking" }
    /** The action is running. `since` is the start of the current step, in milliseconds since 1970. */
    | { readonly kind: "running"; readonly message: string; readonly since: number }
    /** The dialog stays open and shows the gateway's error. */
    | { readonly kind: "failed"; readonly message: string }
    /** The action returned a result that is shown once; otherwise a completed dialog closes. */
    | { readonly kind: "done"; readonly message: string; readonly secret: string };
  /** Undo of the running action. */
  readonly undo?: CreateUndo | undefined;
}

/** Last action of this console that can be undone. */
export interface Undoable {
  readonly createDialog: CreateUndo;
  /** Message shown when it was done. */
  readonly doneText: string;
  readonly at: number;
}

/** Page of text over the view. */
export interface PageState {
  readonly id: number;
  readonly title: string;
  /** Content of the page; `undefined` while it is loading. */
  readonly lines: readonly Line[] | undefined;
  readonly offset: number;
  readonly filter: string;
  /** Row of the view that the page describes: the view's verbs act on it. */
  readonly row?: string;
  /** True if the page describes the row. It is then rebuilt when the data changes. */
  readonly isDescription?: true;
}

export interface PromptState {
  /** Kind of the prompt. `help` is the search of the help, which is open as long as this prompt is. */
  readonly kind: "command" | "filter" | "ask" | "help";
  readonly label: string;
  readonly edit: Edit;
  /** Returns the intent that follows the answer, for `ask`. */
  readonly next?: (text: string) => Intent;
  /** Set if Tab completes file names, for `ask`. `found` lists the matches, one of which can be selected. */
  readonly isFile?: true | "many";
  readonly found?: readonly string[] | undefined;
  /** Index of the selected entry for `command`, `help` and found file names; `undefined` if none is selected. */
  readonly chosen?: number | undefined;
  /** Time of an Enter pressed before the names were read, for `command`. The command runs once they are read. */
  readonly enteredAt?: number | undefined;
  /** Filter before typing began, which Esc restores. */
  readonly before: string;
}

export interface Flash {
  readonly message: string;
  readonly tone: "plain" | "warn" | "fail";
  readonly at: number;
  /** Event that removes the message: `key` the next key, `link` the next change of the connection. */
  readonly cause?: "key" | "link" | undefined;
  /** Outcome of an operator's action. Other messages within its display time are appended to it and do not replace it. */
  readonly outcome?: {
    readonly message: string;
    readonly tone: Flash["tone"];
    readonly at: number;
    readonly task?: string;
  };
}

/** Connection to the gateway. */
export interface Link {
  readonly endpoint: ConsoleEndpoint;
  /** Number of configured admin endpoints. */
  readonly endpoints: number;
  readonly state:
    | { readonly kind: "connecting" }
    | { readonly kind: "online" }
    /** No endpoint answers. `retryAt` is in milliseconds since 1970. */
    | { readonly kind: "offline"; readonly since: number; readonly retryAt: number; readonly failure: Failure }
    /** Status 401: nothing is requested until the operator signs in again and presses `r`. */
    | { readonly kind: "signed_out"; readonly failure: Failure };
}

export interface LogLine {
  readonly at: number;
  readonly message: string;
}

export interface State {
  readonly size: { readonly columns: number; readonly rows: number };
  readonly now: number;
  readonly data: Data;
  readonly link: Link;
  /** Data and time that are shown while the screen is frozen. */
  readonly frozen: { readonly data: Data; readonly now: number } | undefined;
  readonly place: Place;
  /** Visited places, newest last, at most `MAX_PAST`. */
  readonly past: readonly Place[];
  /** Visited places without duplicates, most recent first, at most `MAX_PAST`. */
  readonly recent: readonly Place[];
  readonly tables: ReadonlyMap<string, TableState>;
  readonly page: PageState | undefined;
  readonly dialog: DialogState | undefined;
  /** Dialog that was put aside to list the requests of its rehearsal. It opens again when the operator returns to `place`. */
  readonly suspendedDialog: { readonly dialog: DialogState; readonly place: Place } | undefined;
  readonly undo: Undoable | undefined;
  readonly prompt: PromptState | undefined;
  /** Action that waits for the letter of a column: after `S` the sort, after `Y` the copy of a cell. */
  readonly awaitsColumnFor: "sort" | "copy" | undefined;
  readonly workbench: WorkbenchState;
  readonly preferences: Preferences;
  /** Lines of the audit stream; `undefined` if no audit file was passed. */
  readonly tail: readonly string[] | undefined;
  /** Reason why the audit stream cannot be read; `undefined` while it can. */
  readonly tailError: string | undefined;
  readonly verification: Verification | undefined;
  readonly recurrences: Recurrences;
  readonly sweep: Sweep | undefined;
  readonly rehearsed: RehearsedRequests | undefined;
  readonly flash: Flash | undefined;
  /** Messages, newest last, at most `MAX_LOG`; shown by `:log`. */
  readonly log: readonly LogLine[];
  readonly isReadOnly: boolean;
  readonly isAscii: boolean;
  readonly keys: KeyMap;
  readonly commands: readonly CustomCommand[];
  /** Named gateways, and the name of the current one if it has one. */
  readonly contexts: readonly NamedContext[];
  readonly context: string | undefined;
  /** Whether a metrics address is configured. */
  readonly hasMetrics: boolean;
  /** Counter for the ids of dialogs, pages and running work. */
  readonly nextId: number;
}

export const MAX_PAST = 50;
export const MAX_LOG = 500;

/** Nodes whose rows a result contains. */
export interface QueryScope {
  /** Queried nodes in words: `of all 3 nodes`, `of 2 of 3 nodes` or `of n1`. */
  readonly nodesText: string;
  /** Missing nodes in words; `undefined` if the result is complete. */
  readonly missing: string | undefined;
}

export interface WorkbenchState {
  readonly edit: Edit;
  /** Whether letters go to the editor. */
  readonly isEditing: boolean;
  /** Parameters of the statement, as the flag `-p` takes them. */
  readonly params: readonly string[];
  readonly isEditingParams: boolean;
  /** True if only the connected node is queried for lists that each node measures; otherwise all nodes are queried. */
  readonly isOfOneNode: boolean;
  /** Editor of the parameters, one value per line. */
  readonly paramsEdit?: Edit | undefined;
  /** Prompt of the workbench: the name of a statement, or of a file for the result. */
  readonly asking?:
    | {
        readonly kind: "save" | "recall" | "export";
        readonly edit: Edit;
        /** Matching file names, once they were looked up. */
        readonly found?: readonly string[] | undefined;
      }
    | undefined;
  /** Executed statements, newest last. */
  readonly history: readonly string[];
  /** Index into `history`; `undefined` while the operator's own text is shown. */
  readonly historyIndex: number | undefined;
  readonly draft: string;
  /** Saved statements by name. */
  readonly statements: ReadonlyMap<string, string>;
  readonly completion:
    | { readonly candidates: readonly string[]; readonly at: number; readonly from: number }
    | undefined;
  readonly run:
    | { readonly kind: "none" }
    | { readonly kind: "running"; readonly id: number; readonly sql: string; readonly since: number }
    | { readonly kind: "failed"; readonly message: string }
    /** The query returned a result. `asked` says which nodes' rows it contains. */
    | { readonly kind: "done"; readonly result: QueryResult; readonly tookMs: number; readonly asked: QueryScope };
  /** Row under the cursor, and first row (`offset`) and column of the result on the screen. */
  readonly result: { readonly row: number; readonly offset: number; readonly column: number; readonly isJson: boolean };
}

export type Event =
  | KeyEvent
  | { readonly kind: "size"; readonly columns: number; readonly rows: number }
  | { readonly kind: "tick"; readonly now: number }
  | { readonly kind: "data"; readonly data: Data; readonly now: number }
  | { readonly kind: "link"; readonly link: Link }
  | { readonly kind: "flash"; readonly flash: Omit<Flash, "at"> }
  | { readonly kind: "task_progress"; readonly id: number; readonly message: string }
  | { readonly kind: "task_done"; readonly id: number; readonly message: string; readonly secret?: string }
  | { readonly kind: "task_failed"; readonly id: number; readonly message: string }
  /** Report of how many nodes have applied a change. `task` is the message shown when it was made. */
  | { readonly kind: "task_visible"; readonly task: string; readonly message: string }
  /** Click on the head of a column, by the id of the column. */
  | { readonly kind: "pointed_head"; readonly column: string }
  /** Click on a row, by its index in the displayed order. */
  | { readonly kind: "pointed"; readonly index: number }
  /** A text was not saved because the file exists. */
  | { readonly kind: "file_exists"; readonly job: SaveText; readonly path: string }
  /** Page with the output of a local program. */
  | { readonly kind: "output"; readonly title: string; readonly lines: readonly Line[] }
  /** A document was edited; the dialog asks before it is written. */
  | { readonly kind: "edited"; readonly dialog: Dialog }
  | { readonly kind: "page_loaded"; readonly id: number; readonly lines: readonly Line[] }
  | { readonly kind: "rehearsed"; readonly id: number; readonly outcome: RehearsalOutcome }
  | { readonly kind: "verification"; readonly verification: Verification }
  | { readonly kind: "sweep"; readonly sweep: Sweep }
  /**
   * Result of a query. `isOfOneNode` is true if only the connected node was queried, either on request or because it is too old
   * to query the others.
   */
  | {
      readonly kind: "query_done";
      readonly id: number;
      readonly result: QueryResult;
      readonly tookMs: number;
      readonly isOfOneNode?: true;
    }
  | { readonly kind: "query_failed"; readonly id: number; readonly message: string }
  | { readonly kind: "remembered"; readonly name: StoredText; readonly text: string }
  /** File names that begin with `text`; folders end with a slash. */
  | { readonly kind: "completed"; readonly text: string; readonly found: readonly string[] }
  | { readonly kind: "tail"; readonly lines: readonly string[] }
  | { readonly kind: "tail_waiting"; readonly reason: string | undefined };

/** Addition to persistent storage. It is merged into the stored text, which other consoles of this user may have changed. */
export type StorageUpdate =
  | { readonly name: "history"; readonly statement: string }
  /** An empty statement deletes the name. */
  | { readonly name: "statements"; readonly as: string; readonly statement: string }
  | { readonly name: "preferences"; readonly change: PreferenceChange };

export type Effect =
  /** Runs a task. No other effect changes a gateway, and only a confirmed dialog produces this one. */
  | { readonly kind: "task"; readonly id: number; readonly task: Task }
  | { readonly kind: "load"; readonly id: number; readonly request: PageRequest }
  | { readonly kind: "rehearse"; readonly id: number; readonly request: RehearsalRequest }
  | { readonly kind: "job"; readonly id: number; readonly job: LocalJob }
  | {
      readonly kind: "query";
      readonly id: number;
      readonly sql: string;
      readonly params: readonly string[];
      /** True if only the connected node is queried; if missing, all nodes are. */
      readonly isOfOneNode?: true;
    }
  /** Cancels a running query, load, rehearsal or action. */
  | { readonly kind: "cancel"; readonly id: number }
  /** Cancels a local computation of a reading. */
  | { readonly kind: "stop_reading"; readonly need: Need }
  | { readonly kind: "remember"; readonly what: StorageUpdate }
  /** Copies the text to the clipboard; the flash line never shows the text itself. */
  | { readonly kind: "copy"; readonly text: string }
  /** Looks up local files whose names begin with the text. */
  | { readonly kind: "complete"; readonly id: number; readonly text: string }
  | { readonly kind: "refresh" }
  | { readonly kind: "redraw" }
  | { readonly kind: "next_endpoint" }
  /** Leaves this gateway for another. */
  | { readonly kind: "context"; readonly name: string }
  | { readonly kind: "stop_process" }
  | { readonly kind: "quit" };

export interface Step {
  readonly state: State;
  readonly effects: readonly Effect[];
}
