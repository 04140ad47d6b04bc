/**
 * A question before something is done: what will happen, the values that may be changed, and the one way to confirm. It
 * is data; the store steps it, the screen draws it. Source: operator console reference, B5 and B6.
 */

import type { Action } from "./action.ts";
import type { Context } from "./context.ts";
import type { DocumentChange } from "./documents.ts";
import type { PageRequest } from "./page-request.ts";
import type { PreferenceChange } from "./preferences.ts";
import type { Line } from "./text.ts";

export type Field =
  /** Text may be empty unless `isRequired`; `why` says what is wrong with it, undefined when nothing. */
  | {
      readonly kind: "text";
      readonly id: string;
      readonly label: string;
      readonly initial: string;
      readonly isRequired?: boolean;
      /** What it begins with is a proposal: the first character that is typed takes its place. */
      readonly isProposal?: boolean;
      /** Tab completes the name of a file of this machine, and goes on where there is nothing to complete. */
      readonly isFile?: true;
      /** A secret: only how long it is shows. */
      readonly isUnseen?: boolean;
      why?(text: string): string | undefined;
      /** Offered by Tab-less completion: left and right walk through them. */
      readonly suggestions?: readonly string[];
    }
  | {
      readonly kind: "choice";
      readonly id: string;
      readonly label: string;
      readonly initial: string;
      readonly choices: readonly string[];
    }
  /** Boxes to tick; the value is the ticked names joined by commas, in the order of `choices`. */
  | {
      readonly kind: "boxes";
      readonly id: string;
      readonly label: string;
      readonly initial: string;
      readonly choices: readonly string[];
    };

/** By the id of the field. */
export type FieldValues = Readonly<Record<string, string>>;

/** What is done once it is confirmed. */
export type Deed =
  | SingleDeed
  /** One after the other, as a snapshot before what cannot be undone; the first that fails ends the row. */
  | { readonly kind: "steps"; readonly steps: readonly SingleDeed[] };

/** How tables are shown from now on; nothing is sent. */
export interface Keeping {
  readonly change: PreferenceChange;
  /** Said once it is kept. */
  readonly words: string;
}

export type SingleDeed =
  /** One after the other; the first that fails ends the row, and what was done is said. */
  | { readonly kind: "actions"; readonly actions: readonly Action[] }
  /** Work of this machine by a port: `job` names it. */
  | { readonly kind: "job"; readonly job: JobRequest };

/** `what`: what is saved, in words: `12 rows`. */
export interface SaveText {
  readonly kind: "save_text";
  readonly file: string;
  readonly text: string;
  readonly what: string;
  /** A file of that name may be replaced; left out: it is asked first. */
  readonly replaces?: true;
}

/** Local verbs that the command line hands in; `ports.ts`. */
export type JobRequest =
  /** `isStale`: also of a node that does not lead, which may lack the newest writes. */
  | { readonly kind: "save_snapshot"; readonly file: string; readonly isStale?: true }
  /** A program of this machine, with its arguments as they are. */
  | { readonly kind: "run_command"; readonly name: string; readonly argv: readonly string[] }
  | { readonly kind: "restore_snapshot"; readonly file: string }
  /** Changes nothing at the gateway. */
  | SaveText
  /** Into its file, which is then reloaded; or as a new revision over the one that was looked at. `does`: for what is said. */
  | { readonly kind: "write_change"; readonly change: DocumentChange; readonly does: string }
  | {
      readonly kind: "put_document";
      readonly source: string;
      readonly file: string;
      readonly revision: number | undefined;
    }
  /** Seals what a file of this machine holds, without the line end it ends with. */
  | { readonly kind: "put_secret"; readonly name: string; readonly file: string };

/** Asks before it takes back what was done, as things stand then; its `why` says when there is nothing left to undo. */
export type Undoing = (context: Context) => Dialog;

export interface Dialog {
  readonly title: string;
  /** Red, with its button reversed. */
  readonly isDangerous?: boolean;
  /** Changes nothing at the gateway, and so may be confirmed without contact to it. */
  readonly isLocal?: boolean;
  readonly fields: readonly Field[];
  /** Label and words, drawn anew with each answer, so that they stay true while the dialog is open. */
  lines(values: FieldValues, context: Context): readonly (readonly [label: string, line: Line])[];
  /** Read and shown below the words, where it can be scrolled; anew when it is another. Undefined: nothing yet. */
  attached?(values: FieldValues): PageRequest | undefined;
  readonly confirm:
    | { readonly kind: "yes"; readonly does: string }
    /** Enter in its own text field, once the text is exactly this. */
    | { readonly kind: "typed"; readonly does: string; readonly label: string; expected(values: FieldValues): string };
  /** Why it cannot be confirmed as it stands; undefined when it can. */
  why?(values: FieldValues, context: Context): string | undefined;
  deed(values: FieldValues, context: Context): Deed;
  /** Changes how tables are shown, in place of the deed, which has no actions then. */
  keeps?(values: FieldValues): Keeping;
  /** What takes it back, as things stand when it is confirmed; left out, or undefined: it is for good. */
  undo?(values: FieldValues, context: Context): Undoing | undefined;
  /** Command lines that do the same; left out, those of the deed's actions. */
  commands?(values: FieldValues, context: Context): readonly string[];
}
