/**
 * View as data: its needs, its table, the text shown when it is empty, the detail of the selected row, and the actions.
 * Everything else (moving, sorting, filtering, states, hints, help) is shared by all views and implemented elsewhere. A new
 * view is one file and one line in `views/all.ts`.
 */

import type { ChartScale } from "./chart-scale.ts";
import type { Context } from "./context.ts";
import type { Need } from "./data.ts";
import type { Dialog, JobRequest, SaveText } from "./dialog.ts";
import type { DocumentChange } from "./documents.ts";
import type { VerbId } from "./key-bindings.ts";
import type { PageRequest } from "./page-request.ts";
import type { Place } from "./place.ts";
import type { Favorite } from "./preferences.ts";
import type { Recurrences } from "./recurrence.ts";
import type { RowsQuery } from "./rows-query.ts";
import type { Table } from "./table.ts";
import type { Line } from "./text.ts";

export type { SaveText } from "./dialog.ts";
export type { Place } from "./place.ts";

/** Result of a key. Only a confirmed dialog changes the gateway. */
export type Intent =
  | { readonly kind: "dialog"; readonly dialog: Dialog }
  | ({ readonly kind: "go"; readonly place: Place; readonly filter?: string; readonly row?: string } & Partial<
      Pick<Favorite, "sort" | "isNarrowed">
    >)
  /** Page of text over the view; `load` first reads its content from the gateway. */
  | { readonly kind: "page"; readonly title: string; readonly lines: readonly Line[] }
  | { readonly kind: "load"; readonly title: string; readonly load: PageRequest }
  /** Asks for one line of text (a file name), then continues with `next`. */
  | {
      readonly kind: "ask";
      readonly label: string;
      readonly initial: string;
      /** Set if Tab completes the name of a local file; with `many`, the last of several words (a backslash escapes blanks). */
      readonly isFile?: true | "many";
      next(text: string): Intent;
    }
  /** Local work. `place` is where its result is shown. */
  | { readonly kind: "job"; readonly job: LocalJob; readonly place?: Place }
  /** Cancels the work with that id. */
  | { readonly kind: "cancel"; readonly id: number; readonly message: string }
  | { readonly kind: "query"; readonly sql: string }
  | { readonly kind: "quit" }
  | { readonly kind: "flash"; readonly message: string; readonly tone?: "plain" | "warn" | "fail" };

/** Local work that changes nothing at the gateway. */
export type LocalJob =
  | { readonly kind: "verify_audit"; readonly file: string }
  /** Threshold sweep. `argumentText`: data files preceded by flags. */
  | { readonly kind: "sweep"; readonly argumentText: string }
  | SaveText
  /** Saves a source's document: of that revision, or the active one. */
  | { readonly kind: "save_document"; readonly source: string; readonly revision?: number; readonly file: string }
  /** Opens the document in an editor, then asks before it is written. `path` is the local file that owns the source. */
  | {
      readonly kind: "edit_document";
      readonly source: string;
      readonly path: string | undefined;
      ask(change: DocumentChange): Dialog;
    }
  | Extract<JobRequest, { readonly kind: "save_snapshot" }>;

/** Rows that a verb acts on: the marked ones, otherwise the one under the cursor. */
export interface Selection {
  readonly ids: readonly string[];
}

export interface Offer {
  readonly verb: VerbId;
  /** Text of the hint bar in this view; if missing, the verb's own text. */
  readonly label?: string;
  /** Whether the verb needs a row. */
  readonly needsRow: boolean;
  /** True if the verb accepts several marked rows. */
  readonly takesMany?: boolean;
  /** Returns the reason why the verb is impossible for these rows, for the flash line: `acme-alt is not suspended`. */
  disabledReason?(chosen: Selection, context: Context): string | undefined;
  start(chosen: Selection, context: Context): Intent;
}

export interface TableBody {
  readonly kind: "table";
  /** Builds the table. Called again when one of the view's readings or its `turn` changes, not when the clock does. */
  table(context: Context): Table;
  /**
   * Returns a value on which the table depends in addition to its readings, such as the number of rows that have ended
   * by now. The table is rebuilt when the value changes.
   */
  turn?(context: Context): number;
  /** Default sort. */
  readonly sort: { readonly column: string; readonly isDescending: boolean };
  /** Returns the detail of the row under the cursor, shown below the table if there is room. */
  pane?(rowId: string, context: Context): readonly Line[];
  /**
   * Returns the number of lines of `pane` with its separator for each terminal size, including small ones; if missing, the pane
   * is shown on large terminals only. Its lines are wrapped then.
   */
  paneRows?(size: { readonly columns: number; readonly rows: number }): number;
  /** Returns needs of the detail, which are read while that row is under the cursor. */
  paneNeeds?(rowId: string, context: Context): readonly Need[];
  /** Returns at most `rows` lines to show above the table if there is room. `rowId` is the row under the cursor. */
  above?(context: Context, size: { readonly columns: number; readonly rows: number }, rowId?: string): readonly Line[];
  /**
   * Maximum number of lines of `above`, including a blank separator; if missing, all available lines. A function returns it for
   * each terminal size, including small ones. The result is limited to half of the body.
   */
  readonly aboveRows?: number | ((size: { readonly columns: number; readonly rows: number }) => number);
  /**
   * True if the panel above the table shows the rows from left to right, so that the left and right arrow keys move the cursor.
   */
  readonly isAcross?: true;
  /** Returns further needs that must be read before the table counts as empty. */
  rowNeeds?(subject: string | undefined): readonly Need[];
  /** Returns one sentence and the next step. */
  empty(context: Context): { readonly sentence: string; readonly next: string };
  /** Returns what Enter does; if missing, Enter describes the row. */
  open?(rowId: string, context: Context): Intent;
  /** Returns the description for `d`; if missing, the fields of the row's JSON. */
  describe?(rowId: string, context: Context): readonly Line[];
  /** Query for `o`; if missing, no table of the query workbench has these rows. */
  readonly query?: RowsQuery;
}

interface PageBody {
  readonly kind: "page";
  lines(context: Context): readonly Line[];
}

/** Charts of one time span with a cursor in it, which the arrow keys move; they fill the body at any size. */
export interface ChartsBody {
  readonly kind: "charts";
  /** Returns the positions of the cursor, oldest first, in milliseconds since 1970; the last is the default. */
  moments(context: Context): readonly number[];
  /** Returns at most `rows` lines. `at` is the moment under the cursor; `undefined` is now. */
  lines(
    context: Context,
    size: { readonly columns: number; readonly rows: number },
    at: number | undefined,
  ): readonly Line[];
  /** Returns the values of that moment as text, for a screen reader and for `c`. */
  texts(context: Context, at: number | undefined): readonly string[];
}

/** Query workbench, which handles all keys itself while editing. */
interface WorkbenchBody {
  readonly kind: "workbench";
}

export interface View {
  /** Name of the view, as typed after `:`. */
  readonly id: string;
  readonly aliases: readonly string[];
  /** Key that opens the view. */
  readonly digit?: string;
  readonly title: string;
  /** Content of the view in a few words, for help and completion. */
  readonly about: string;
  /** Views of one group are tabs, in their order. */
  readonly group?: string;
  /** Name of the argument after the view's name, as in `:errors acme-chat`; missing if it takes none. */
  readonly subject?: string;
  /** True if the subject may contain local paths, including absolute ones: `/opt/packs` is not a filter there. */
  readonly takesPaths?: true;
  /** Noun for a row, if `:` finds rows of this view by name. */
  readonly rows?: string;
  /** Returns known subjects, for completion after `:`. */
  subjects?(context: Context): readonly string[];
  /** Returns the needs. The first one decides whether the view is loading, forbidden or failed. `scale` is that of charts. */
  needs(subject: string | undefined, scale?: ChartScale): readonly [Need, ...Need[]] | readonly [];
  readonly body: TableBody | PageBody | ChartsBody | WorkbenchBody;
  /**
   * Returns alerts that cleared and came back. Called after each answer whatever view is on the screen; the context holds the
   * previous ones.
   */
  recurrences?(context: Context): Recurrences;
  readonly offers: readonly Offer[];
}
