/**
 * Everything that the console is at a moment, and what moves it. `step(state, event)` of `store/` is the one function
 * that makes the next state; what it wants done comes out as effects. Both are plain data, so that what a key does can be
 * tested, and a hundred thousand random keys tried, without a terminal.
 */

import type { QueryResult } from "../../admin-api/index.ts";
import type { Data, Failure, Need } from "./data.ts";
import type { Deed, Dialog, FieldValues, Undoing } from "./dialog.ts";
import type { KeyEvent } from "./key.ts";
import type { PageRequest } from "./page-request.ts";
import type { ConsoleDoor, Remembered } from "./ports.ts";
import type { PreferenceChange, Preferences } from "./preferences.ts";
import type { Recurrences } from "./recurrence.ts";
import type { CustomCommand, KeyMap, NamedContext } from "./settings.ts";
import type { Sweep } from "./sweep.ts";
import type { Line } from "./text.ts";
import type { Verification } from "./verification.ts";
import type { Intent, LocalJob, Place, SaveText } from "./view.ts";

export type { Verification } from "./verification.ts";

/** A text under the cursor of an editor. */
export interface Edit {
  readonly text: string;
  /** UTF-16 index of the cursor, never inside a code point. */
  readonly at: number;
}

/** Of one table; kept while the console runs, by `placeKey`. */
export interface TableState {
  /** The row under the cursor; it stays under it wherever it moves. Undefined: the first. */
  readonly cursorId: string | undefined;
  /** Where that row was last, for when it goes. */
  readonly cursorAt: number;
  /** The first row on the screen. */
  readonly offset: number;
  /** Undefined: as the view says. */
  readonly sort: { readonly column: string; readonly isDescending: boolean } | undefined;
  /** As typed: text, `/regex/`, `!` before inverts; empty: none. */
  readonly filter: string;
  readonly marks: ReadonlySet<string>;
  readonly isWide: boolean;
  /** Columns scrolled out at the left. */
  readonly scrolled: number;
  /** Only rows that want attention. */
  readonly isNarrowed: boolean;
  /** Of charts: the moment under the cursor, milliseconds since 1970; undefined: now. */
  readonly moment?: number | undefined;
}

export interface DialogState {
  readonly id: number;
  readonly dialog: Dialog;
  readonly values: FieldValues;
  /** Index of the field with the focus; -1: none, where `y` confirms. For a typed confirmation its field is the last. */
  readonly focus: number;
  /** Of a typed confirmation. */
  readonly typed: Edit;
  /** What was read beside it, by the id it was asked under; `lines` undefined: it is under way. */
  readonly attachment?:
    | { readonly id: number; readonly asked: string; readonly lines: readonly Line[] | undefined }
    | undefined;
  /** Number of its lines that are scrolled out above; `undefined` until it is scrolled, when the field with the focus is in view. */
  readonly scrolled?: number | undefined;
  /** Of the text field with the focus; of a field of boxes, `at` is the index of the box that space ticks. */
  readonly edit: Edit;
  /** Letters were typed where no field has the focus, so that `y` may be one of them. */
  readonly hasStray?: boolean;
  /** Names of files that begin as the text with the focus does, several; undefined: none were looked for. */
  readonly found?: readonly string[] | undefined;
  readonly stage:
    | { readonly kind: "asking" }
    /** `since`: when what is under way now began, milliseconds since 1970. */
    | { readonly kind: "running"; readonly words: string; readonly since: number }
    /** The dialog stays, with the gateway's words. */
    | { readonly kind: "failed"; readonly words: string }
    /** Only where something is shown once; otherwise a dialog that is done is gone. */
    | { readonly kind: "done"; readonly words: string; readonly secret: string };
  /** Of what is under way. */
  readonly undo?: Undoing | undefined;
}

/** The last thing done here that can be taken back. */
export interface Undoable {
  readonly make: Undoing;
  /** What was said when it was done. */
  readonly did: string;
  readonly at: number;
}

/** A page of text over the view. */
export interface PageState {
  readonly id: number;
  readonly title: string;
  /** Undefined while it is loaded. */
  readonly lines: readonly Line[] | undefined;
  readonly offset: number;
  readonly filter: string;
  /** Row of the view that the page is about: the verbs of the view act on it. */
  readonly row?: string;
  /** The page describes the row, and is made again when the data changes. */
  readonly isDescription?: true;
}

export interface PromptState {
  /** `help`: what is searched for in the help, which is open as long as this is. */
  readonly kind: "command" | "filter" | "ask" | "help";
  readonly label: string;
  readonly edit: Edit;
  /** Of `ask`. */
  readonly next?: (text: string) => Intent;
  /** Of `ask`: Tab completes the names of files, and found these, of which one may be chosen. */
  readonly isFile?: true | "many";
  readonly found?: readonly string[] | undefined;
  /** Of `command`, `help` and of what was found: the one that was gone to; undefined: none was chosen. */
  readonly chosen?: number | undefined;
  /** What the line was before a filter was typed, which Esc brings back. */
  readonly before: string;
}

export interface Flash {
  readonly words: string;
  readonly tone: "plain" | "warn" | "fail";
  readonly at: number;
  /** It goes with it: the answer to a key with the next key, how the console stands to a gateway once that is otherwise. */
  readonly cause?: "key" | "link" | undefined;
  /** Of what the operator did: news that come within its time stand behind it, and not in its place. */
  readonly outcome?: {
    readonly words: string;
    readonly tone: Flash["tone"];
    readonly at: number;
    readonly deed?: string;
  };
}

/** How the console stands to the gateway. */
export interface Link {
  readonly door: ConsoleDoor;
  /** Of those given. */
  readonly doors: number;
  readonly state:
    | { readonly kind: "connecting" }
    | { readonly kind: "online" }
    /** `retryAt`: milliseconds since 1970. */
    | { readonly kind: "offline"; readonly since: number; readonly retryAt: number; readonly failure: Failure }
    /** A 401: nothing is asked until the operator signs in again and presses `r`. */
    | { readonly kind: "signed_out"; readonly failure: Failure };
}

export interface LogLine {
  readonly at: number;
  readonly words: string;
}

export interface State {
  readonly size: { readonly columns: number; readonly rows: number };
  readonly now: number;
  readonly data: Data;
  readonly link: Link;
  /** What is shown instead while the screen is held still. */
  readonly frozen: { readonly data: Data; readonly now: number } | undefined;
  readonly place: Place;
  /** Places gone through, newest last, at most `MAX_PAST`. */
  readonly past: readonly Place[];
  /** Each place once, the one looked at last first, at most `MAX_PAST`. */
  readonly recent: readonly Place[];
  readonly tables: ReadonlyMap<string, TableState>;
  readonly page: PageState | undefined;
  readonly dialog: DialogState | undefined;
  readonly undo: Undoable | undefined;
  readonly prompt: PromptState | undefined;
  /** The letter of a column is awaited: after `S` to sort by it, after `Y` to copy its cell. */
  readonly awaits: "sort" | "copy" | undefined;
  readonly workbench: WorkbenchState;
  readonly preferences: Preferences;
  /** The audit stream that was given; undefined: none was. */
  readonly tail: readonly string[] | undefined;
  /** Why that stream cannot be read; undefined while it can. */
  readonly tailWhy: string | undefined;
  readonly verification: Verification | undefined;
  readonly recurrences: Recurrences;
  readonly sweep: Sweep | undefined;
  readonly flash: Flash | undefined;
  /** What happened, newest last, at most `MAX_LOG`; shown by `:log`. */
  readonly log: readonly LogLine[];
  readonly isReadOnly: boolean;
  readonly isAscii: boolean;
  readonly keys: KeyMap;
  readonly commands: readonly CustomCommand[];
  /** Gateways by name, and the name of the one on the screen where it has one. */
  readonly contexts: readonly NamedContext[];
  readonly context: string | undefined;
  /** Whether a metrics address was given. */
  readonly hasMetrics: boolean;
  /** Counts up; names dialogs, pages and what is under way. */
  readonly nextId: number;
}

export const MAX_PAST = 50;
export const MAX_LOG = 500;

/** The nodes whose rows a result has. */
export interface Asked {
  /** `of all 3 nodes`, `of 2 of 3 nodes`, `of n1`. */
  readonly words: string;
  /** What is missing, or undefined. */
  readonly missing: string | undefined;
}

export interface WorkbenchState {
  readonly edit: Edit;
  /** Whether letters go to the editor. */
  readonly isEditing: boolean;
  /** One a line, as `-p` takes them. */
  readonly params: readonly string[];
  readonly isEditingParams: boolean;
  /** Lists that each node measures are asked of the connected node alone; otherwise of all nodes. */
  readonly isOfOneNode: boolean;
  /** Their text while they are edited, a value a line. */
  readonly paramsEdit?: Edit | undefined;
  /** What is asked for in a line of the workbench's own: the name of a statement, or of a file for the result. */
  readonly asking?:
    | {
        readonly kind: "save" | "recall" | "export";
        readonly edit: Edit;
        /** Names of files that begin so, once they were looked for. */
        readonly found?: readonly string[] | undefined;
      }
    | undefined;
  /** Newest last. */
  readonly history: readonly string[];
  /** Index into `history`; undefined: what is typed. */
  readonly recalled: number | undefined;
  readonly draft: string;
  /** Statements kept by name. */
  readonly statements: ReadonlyMap<string, string>;
  readonly completion: { readonly words: readonly string[]; readonly at: number; readonly from: number } | undefined;
  readonly run:
    | { readonly kind: "none" }
    | { readonly kind: "running"; readonly id: number; readonly sql: string; readonly since: number }
    | { readonly kind: "failed"; readonly words: string }
    /** `asked`: whose rows these are, as shown. */
    | { readonly kind: "done"; readonly result: QueryResult; readonly tookMs: number; readonly asked: Asked };
  /** First row and first column of the result on the screen, and the row under the cursor. */
  readonly result: { readonly row: number; readonly offset: number; readonly column: number; readonly isJson: boolean };
}

export type Event =
  | KeyEvent
  | { readonly kind: "size"; readonly columns: number; readonly rows: number }
  | { readonly kind: "tick"; readonly now: number }
  | { readonly kind: "data"; readonly data: Data; readonly now: number }
  | { readonly kind: "link"; readonly link: Link }
  | { readonly kind: "flash"; readonly flash: Omit<Flash, "at"> }
  | { readonly kind: "deed_progress"; readonly id: number; readonly words: string }
  | { readonly kind: "deed_done"; readonly id: number; readonly words: string; readonly secret?: string }
  | { readonly kind: "deed_failed"; readonly id: number; readonly words: string }
  /** On how many nodes it is seen. `deed`: what it said when it was done. */
  | { readonly kind: "deed_seen"; readonly deed: string; readonly words: string }
  /** The head of a column of the table on the screen, by the id of the column. */
  | { readonly kind: "pointed_head"; readonly column: string }
  /** A row of the table on the screen, by its place in the order that is shown. */
  | { readonly kind: "pointed"; readonly index: number }
  /** A text was not saved: the file exists. */
  | { readonly kind: "file_exists"; readonly job: SaveText; readonly path: string }
  /** A page of what a program of this machine said. */
  | { readonly kind: "output"; readonly title: string; readonly lines: readonly Line[] }
  /** A document was edited: asks before it is written. */
  | { readonly kind: "edited"; readonly dialog: Dialog }
  | { readonly kind: "page_loaded"; readonly id: number; readonly lines: readonly Line[] }
  | { readonly kind: "verification"; readonly verification: Verification }
  | { readonly kind: "sweep"; readonly sweep: Sweep }
  /** `isOfOneNode`: the gateway was asked for its own rows alone, or is too old to ask the others. */
  | {
      readonly kind: "query_done";
      readonly id: number;
      readonly result: QueryResult;
      readonly tookMs: number;
      readonly isOfOneNode?: true;
    }
  | { readonly kind: "query_failed"; readonly id: number; readonly words: string }
  | { readonly kind: "remembered"; readonly name: Remembered; readonly text: string }
  /** Names of files that begin with `text`, folders with a slash at their end. */
  | { readonly kind: "completed"; readonly text: string; readonly found: readonly string[] }
  | { readonly kind: "tail"; readonly lines: readonly string[] }
  | { readonly kind: "tail_waiting"; readonly why: string | undefined };

/** What is kept over runs, and added to what is kept already: other consoles of this user may have added to it too. */
export type Remembering =
  | { readonly name: "history"; readonly statement: string }
  /** An empty statement: none has the name any more. */
  | { readonly name: "statements"; readonly as: string; readonly statement: string }
  | { readonly name: "preferences"; readonly change: PreferenceChange };

export type Effect =
  /** The only effect that changes a gateway. It comes out of a confirmed dialog and of nothing else. */
  | { readonly kind: "deed"; readonly id: number; readonly deed: Deed }
  | { readonly kind: "load"; readonly id: number; readonly request: PageRequest }
  | { readonly kind: "job"; readonly id: number; readonly job: LocalJob }
  | {
      readonly kind: "query";
      readonly id: number;
      readonly sql: string;
      readonly params: readonly string[];
      /** Left out: all nodes are asked. */
      readonly isOfOneNode?: true;
    }
  /** Ends a query, a load or a deed that runs. */
  | { readonly kind: "cancel"; readonly id: number }
  /** Ends what this machine works out for a reading. */
  | { readonly kind: "stop_reading"; readonly need: Need }
  | { readonly kind: "remember"; readonly what: Remembering }
  /** `what` is said in the flash line; the text itself never is. */
  | { readonly kind: "copy"; readonly text: string }
  /** Looks for files of this machine whose names begin so. */
  | { readonly kind: "complete"; readonly id: number; readonly text: string }
  | { readonly kind: "refresh" }
  | { readonly kind: "redraw" }
  | { readonly kind: "door" }
  /** Leaves this gateway for another. */
  | { readonly kind: "context"; readonly name: string }
  | { readonly kind: "stop_process" }
  | { readonly kind: "quit" };

export interface Step {
  readonly state: State;
  readonly effects: readonly Effect[];
}
