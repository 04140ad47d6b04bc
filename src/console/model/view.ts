/**
 * A view as data: what it reads, the table it lists, what is said when there is nothing, what is told of the row under
 * the cursor, and what may be done. Everything else (moving, sorting, filtering, states, hints, help) is the same for
 * all of them and stands elsewhere. A new view is one file and one line in `views/all.ts`.
 */

import type { Context } from "./context.ts";
import type { Need } from "./data.ts";
import type { Dialog, JobRequest, SaveText } from "./dialog.ts";
import type { DocumentChange } from "./documents.ts";
import type { VerbId } from "./keys.ts";
import type { PageRequest } from "./page-request.ts";
import type { Place } from "./place.ts";
import type { Favorite } from "./preferences.ts";
import type { Recurrences } from "./recurrence.ts";
import type { RowsQuery } from "./rows-query.ts";
import type { Table } from "./table.ts";
import type { Line } from "./text.ts";

export type { SaveText } from "./dialog.ts";
export type { Place } from "./place.ts";

/** What a key leads to. Only a dialog leads to a change of the gateway. */
export type Intent =
  | { readonly kind: "dialog"; readonly dialog: Dialog }
  | ({ readonly kind: "go"; readonly place: Place; readonly filter?: string; readonly row?: string } & Partial<
      Pick<Favorite, "sort" | "isNarrowed">
    >)
  /** A page of text over the view; `load` reads what it needs from the gateway first. */
  | { readonly kind: "page"; readonly title: string; readonly lines: readonly Line[] }
  | { readonly kind: "load"; readonly title: string; readonly load: PageRequest }
  /** Asks for one line of text (a file name), then goes on. */
  | {
      readonly kind: "ask";
      readonly label: string;
      readonly initial: string;
      /** Tab completes the name of a file of this machine; of `many` words, which a backslash keeps together, the last. */
      readonly isFile?: true | "many";
      next(text: string): Intent;
    }
  /** `place`: where what comes of it is shown. */
  | { readonly kind: "job"; readonly job: LocalJob; readonly place?: Place }
  /** Ends what runs under that id. */
  | { readonly kind: "cancel"; readonly id: number; readonly words: string }
  | { readonly kind: "query"; readonly sql: string }
  | { readonly kind: "quit" }
  | { readonly kind: "flash"; readonly words: string; readonly tone?: "plain" | "warn" | "fail" };

/** Work of this machine that changes nothing at the gateway. */
export type LocalJob =
  | { readonly kind: "verify_audit"; readonly file: string }
  /** `words`: data files with flags before them. */
  | { readonly kind: "sweep"; readonly words: string }
  | SaveText
  /** A source's document, of that revision or the one in force. */
  | { readonly kind: "save_document"; readonly source: string; readonly revision?: number; readonly file: string }
  /** Opens the document in an editor, then asks before it is written. `path`: the file of this machine that owns it. */
  | {
      readonly kind: "edit_document";
      readonly source: string;
      readonly path: string | undefined;
      ask(change: DocumentChange): Dialog;
    }
  | Extract<JobRequest, { readonly kind: "save_snapshot" }>;

/** Rows that a verb is about: those marked, else the one under the cursor. */
export interface Chosen {
  readonly ids: readonly string[];
}

export interface Offer {
  readonly verb: VerbId;
  /** What the hint bar says in this view; left out, the verb's own words. */
  readonly does?: string;
  /** Works without a row. */
  readonly needsRow: boolean;
  /** Takes several marked rows. */
  readonly takesMany?: boolean;
  /** Why it cannot be done to these, as the flash line says it: `acme-alt is not suspended`. */
  why?(chosen: Chosen, context: Context): string | undefined;
  start(chosen: Chosen, context: Context): Intent;
}

export interface TableBody {
  readonly kind: "table";
  /** Made anew when one of the view's readings or its `turn` has changed, and not with the clock. */
  table(context: Context): Table;
  /** What the table depends on beside its readings, as a value to be compared: how many of its rows have ended by now. */
  turn?(context: Context): number;
  /** Sorted by it until the operator says otherwise. */
  readonly sort: { readonly column: string; readonly isDescending: boolean };
  /** Under the table where there is room, about the row under the cursor. */
  pane?(rowId: string, context: Context): readonly Line[];
  /** Beside the table's own; read while that row is under the cursor. */
  paneNeeds?(rowId: string, context: Context): readonly Need[];
  /** Above the table where there is room: at most `rows` lines. `rowId`: under the cursor. */
  above?(context: Context, size: { readonly columns: number; readonly rows: number }, rowId?: string): readonly Line[];
  /**
   * Lines that `above` ever has, with a blank to part them from the table; left out, all that there is room for. A function
   * says it for each size of a terminal, small ones too; it is given half of the body at most.
   */
  readonly aboveRows?: number | ((size: { readonly columns: number; readonly rows: number }) => number);
  /** What stands above goes from left to right as the rows go down: left and right move the cursor. */
  readonly isAcross?: true;
  /** Needs beside the first that must be read before the table is called empty. */
  rowNeeds?(subject: string | undefined): readonly Need[];
  /** One sentence, and the next step. */
  empty(context: Context): { readonly sentence: string; readonly next: string };
  /** What Enter does; left out, describes the row. */
  open?(rowId: string, context: Context): Intent;
  /** For `d`; left out, the fields of the row's JSON. */
  describe?(rowId: string, context: Context): readonly Line[];
  /** For `o`; left out, no table of the query workbench has these rows. */
  readonly query?: RowsQuery;
}

export interface PageBody {
  readonly kind: "page";
  lines(context: Context): readonly Line[];
}

/** Charts of one span of time with a cursor in it, which arrow keys move; they fill the body whatever its size. */
export interface ChartsBody {
  readonly kind: "charts";
  /** Where the cursor can stand, oldest first, milliseconds since 1970; the last is where it stands by itself. */
  moments(context: Context): readonly number[];
  /** At most `rows` lines. `at`: the moment under the cursor; undefined: now, which moves on. */
  lines(
    context: Context,
    size: { readonly columns: number; readonly rows: number },
    at: number | undefined,
  ): readonly Line[];
  /** The values of that moment without a drawing: for a screen reader, and for `c`. */
  words(context: Context, at: number | undefined): readonly string[];
}

/** The query workbench, whose keys are its own while it edits. */
export interface WorkbenchBody {
  readonly kind: "workbench";
}

export interface View {
  /** As `:` takes it. */
  readonly id: string;
  readonly aliases: readonly string[];
  /** The key that goes there. */
  readonly digit?: string;
  readonly title: string;
  /** For help and for completion: what it shows, in a few words. */
  readonly about: string;
  /** Views of one group are tabs of each other, in their order. */
  readonly group?: string;
  /** Takes what stands after its name in `:errors acme-chat`; what it is. */
  readonly subject?: string;
  /** Paths of this machine may stand in it, absolute ones too: `/opt/packs` is no filter there. */
  readonly takesPaths?: true;
  /** What a row is, in a word, where `:` finds rows of this view by their names. */
  readonly rows?: string;
  /** Those that are known, for who types its name after `:`. */
  subjects?(context: Context): readonly string[];
  /** The first one decides whether the view is loading, forbidden or failed. */
  needs(subject: string | undefined): readonly [Need, ...Need[]] | readonly [];
  readonly body: TableBody | PageBody | ChartsBody | WorkbenchBody;
  /** What went away and came back, after each answer, whatever view is on the screen; the context has those before. */
  recurrences?(context: Context): Recurrences;
  readonly offers: readonly Offer[];
}
