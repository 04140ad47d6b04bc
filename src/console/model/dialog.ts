/**
 * Dialog that asks before an action: the effects, the editable values, and the one way to confirm. A dialog is data; the store
 * steps it and the screen draws it. Source: operator console reference, B5 and B6.
 */

import type { Action } from "./action.ts";
import type { Context } from "./context.ts";
import type { DocumentChange } from "./documents.ts";
import type { PageRequest } from "./page-request.ts";
import type { PreferenceChange } from "./preferences.ts";
import type { RehearsalRequest } from "./rehearsal.ts";
import type { Line } from "./text.ts";

export type Field =
  /**
   * Text field. May be empty unless `isRequired` is set; `validate` returns what is wrong with the text, `undefined` if it is valid.
   */
  | {
      readonly kind: "text";
      readonly id: string;
      readonly label: string;
      readonly initial: string;
      readonly isRequired?: boolean;
      /** True if the initial text is a proposal, which the first typed character replaces. */
      readonly isProposal?: boolean;
      /** True if Tab completes the name of a local file. It moves to the next field if there is nothing to complete. */
      readonly isFile?: true;
      /** True for a secret, of which only the length is visible. */
      readonly isUnseen?: boolean;
      validate?(text: string): string | undefined;
      /** Suggested values; left and right cycle through them. */
      readonly suggestions?: readonly string[];
    }
  | {
      readonly kind: "choice";
      readonly id: string;
      readonly label: string;
      readonly initial: string;
      readonly choices: readonly string[];
    }
  /** Check boxes. The value is the selected names joined by commas, in the order of `choices`. */
  | {
      readonly kind: "boxes";
      readonly id: string;
      readonly label: string;
      readonly initial: string;
      readonly choices: readonly string[];
    };

/** Values by the id of the field. */
export type FieldValues = Readonly<Record<string, string>>;

/** Task that runs once the dialog is confirmed. */
export type Task =
  | SingleTask
  /** Steps in order, such as a snapshot before an irreversible change; the first failure ends the sequence. */
  | { readonly kind: "steps"; readonly steps: readonly SingleTask[] };

/** Change of how tables are shown; nothing is sent to the gateway. */
interface PreferenceUpdate {
  readonly change: PreferenceChange;
  /** Message after the preference was saved. */
  readonly message: string;
}

export type SingleTask =
  /** Actions in order; the first failure ends the sequence, and the message reports those that succeeded. */
  | { readonly kind: "actions"; readonly actions: readonly Action[] }
  /** Local work through a port; `job` selects it. */
  | { readonly kind: "job"; readonly job: JobRequest };

/** Text to save to a local file. `what` describes it in the message: `12 rows`. */
export interface SaveText {
  readonly kind: "save_text";
  readonly file: string;
  readonly text: string;
  readonly what: string;
  /** Replaces an existing file; if missing, the console asks first. */
  readonly replaces?: true;
}

/** Local commands that the command line provides; see `ports.ts`. */
export type JobRequest =
  /** Saves a snapshot to a file. `isStale` allows a node other than the leader, whose state may lack the newest writes. */
  | { readonly kind: "save_snapshot"; readonly file: string; readonly isStale?: true }
  /** Runs a local program with these arguments unchanged. */
  | { readonly kind: "run_command"; readonly name: string; readonly argv: readonly string[] }
  | { readonly kind: "restore_snapshot"; readonly file: string }
  /** Saves a text to a local file. Changes nothing at the gateway. */
  | SaveText
  /**
   * Writes to the source's file and reloads it, or stores a new revision over the one that was shown. `summary` is used in the
   * message.
   */
  | { readonly kind: "write_change"; readonly change: DocumentChange; readonly summary: string }
  | {
      readonly kind: "put_document";
      readonly source: string;
      readonly file: string;
      readonly revision: number | undefined;
    }
  /** Seals the content of a local file without its trailing line end. */
  | { readonly kind: "put_secret"; readonly name: string; readonly file: string };

/** Builds the dialog that reverts an action in the current state; its `blockedReason` says when there is nothing left to undo. */
export type CreateUndo = (context: Context) => Dialog;

export interface Dialog {
  readonly title: string;
  /** True for a dialog that is drawn red, with an inverted button. */
  readonly isDangerous?: boolean;
  /** True if the dialog changes nothing at the gateway, so that it can be confirmed while offline. */
  readonly isLocal?: boolean;
  readonly fields: readonly Field[];
  /** Returns labels and lines. Called again after each answer, so that they stay current while the dialog is open. */
  lines(values: FieldValues, context: Context): readonly (readonly [label: string, line: Line])[];
  /**
   * Returns the page that is read and shown below the lines, scrollable; read again when the request changes. `undefined` reads
   * nothing yet.
   */
  attached?(values: FieldValues): PageRequest | undefined;
  /**
   * Returns the change to rehearse on the requests of the last hour. The result is shown above the dialog's text. `undefined`
   * rehearses nothing yet.
   */
  rehearses?(values: FieldValues, context: Context): RehearsalRequest | undefined;
  readonly confirm:
    | { readonly kind: "yes"; readonly button: string }
    /** Confirmed by Enter in a separate text field that contains exactly the expected text. */
    | {
        readonly kind: "typed";
        readonly button: string;
        readonly label: string;
        expected(values: FieldValues): string;
      };
  /** Returns the reason why the dialog cannot be confirmed now; `undefined` if it can. */
  blockedReason?(values: FieldValues, context: Context): string | undefined;
  task(values: FieldValues, context: Context): Task;
  /** Returns a change of how tables are shown. It replaces the action, which is then empty. */
  keeps?(values: FieldValues): PreferenceUpdate;
  /** Returns how to revert the action, in the state at confirmation. Missing or `undefined` means irreversible. */
  undo?(values: FieldValues, context: Context): CreateUndo | undefined;
  /** Returns equivalent command lines; if missing, they are derived from the actions. */
  commands?(values: FieldValues, context: Context): readonly string[];
}
