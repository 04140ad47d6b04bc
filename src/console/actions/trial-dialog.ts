/**
 * Dialog that writes a tried change of a document: it shows the result of the trial and the changed lines, and writes exactly
 * that. Source: operator console reference, B6.
 */

import { escapeControls } from "../../base/index.ts";
import { plural } from "../format/numbers.ts";
import type { Context } from "../model/context.ts";
import type { Dialog } from "../model/dialog.ts";
import type { DocumentChange, Trial } from "../model/documents.ts";
import { BLANK, type Line, line, textOfLine } from "../model/text.ts";
import { differencePage } from "../pages/index.ts";
import { rehearsalOf } from "./source-dialogs.ts";

type Rows = readonly (readonly [label: string, line: Line])[];

/** Maximum number of lines of the difference in a dialog; a page shows all of it. */
const MAX_LINES = 14;
const MAX_PROBLEMS = 4;

/** Returns the reason why the change cannot be written; `undefined` if it can. */
export function whyTrialBlocks(trial: Trial | undefined): string | undefined {
  if (trial === undefined) return "still testing; try again shortly";
  const { problems, change, compiling, blockedReason } = trial;
  const [problem] = problems;
  if (problem !== undefined) return escapeControls(problem);
  if (compiling?.kind === "refused") return `it would be refused: ${escapeControls(compiling.problems[0] ?? "")}`;
  if (blockedReason !== undefined) return escapeControls(blockedReason);
  if (change === undefined || change.after === change.text) return "the document has all of it";
  return undefined;
}

export function locationText({ source, file, revision }: Pick<DocumentChange, "source" | "file" | "revision">): string {
  return file === undefined
    ? `source ${escapeControls(source)}, over revision ${revision}`
    : `the file ${escapeControls(file)}, which is then reloaded`;
}

export function compilingLines({ compiling, problems }: Trial): readonly Line[] {
  const refusals = [...problems, ...(compiling?.kind === "refused" ? compiling.problems : [])];
  if (refusals.length > 0) {
    const left = refusals.length - MAX_PROBLEMS;
    return [
      ...refusals.slice(0, MAX_PROBLEMS).map((problem) => line(`! ${escapeControls(problem)}`, "fail")),
      ...(left > 0 ? [line(`and ${left} more`, "dim")] : []),
    ];
  }
  if (compiling?.kind === "compiles") {
    const { warnings } = compiling;
    const [first] = warnings;
    return [
      line(
        first === undefined
          ? "yes, as the gateway compiles it"
          : `yes, with ${plural(warnings.length, "warning")}: ${escapeControls(first)}`,
      ),
    ];
  }
  return compiling?.kind === "not_here"
    ? [line(`not known here, the gateway decides: ${escapeControls(compiling.reason)}`, "warn")]
    : [];
}

export const differenceOfTrial = ({ change }: Trial): readonly Line[] =>
  change === undefined || change.after === change.text
    ? []
    : differencePage(change.text, change.after, { from: "as it is", to: "as it would be" });

interface TrialDialogOptions {
  readonly title: string;
  /** Message after the change was written: `baseline-pii added`. */
  readonly done: string;
  /** Text to type for confirmation. */
  readonly typed: string;
  readonly label: string;
  readonly trial: (context: Pick<Context, "data">) => Trial | undefined;
  /** Lines above the difference. */
  readonly lines: (context: Context) => Rows;
  readonly blockedReason?: (context: Context) => string | undefined;
  readonly command: (change: DocumentChange, context: Context) => readonly string[];
}

/**
 * Builds the dialog. `opened` is the state when it opened. The dialog writes the change that was tried then, or else the first
 * one that is shown, and cannot be confirmed once the document has changed. It waits while the trial is running.
 */
export function trialDialog(options: TrialDialogOptions, opened: Context): Dialog {
  let looked = options.trial(opened)?.change;
  return {
    title: options.title,
    fields: [],
    lines(_, context) {
      const trial = options.trial(context);
      const change = trial?.change;
      looked ??= change;
      if (trial === undefined) return [["Effect", line(options.blockedReason?.(context) ?? "still testing")]];
      if (change === undefined) return compilingLines(trial).map((it) => ["Compiles", it] as const);
      const differing = differenceOfTrial(trial).filter((it) => textOfLine(it) !== "");
      const left = differing.length - MAX_LINES;
      return [
        ["Writes", line(locationText(change))],
        ...options.lines(context),
        ...compilingLines(trial).map((it) => ["Compiles", it] as const),
        ...differing.slice(0, MAX_LINES).map((it, at) => [at === 0 ? "Difference" : "", it] as const),
        ...(left > 0
          ? ([["", line(`${plural(left, "line")} more: close this dialog and press D to see all`, "dim")]] as const)
          : []),
        ["Guard", line("refused if the whole configuration is not valid, or if the document was changed meanwhile")],
        ["", BLANK],
      ];
    },
    rehearses(_, context) {
      const trial = options.trial(context);
      return trial?.change === undefined || whyTrialBlocks(trial) !== undefined ? undefined : rehearsalOf(trial.change);
    },
    confirm: { kind: "typed", button: "write", label: options.label, expected: () => options.typed },
    blockedReason: (_, context) => {
      const now = options.trial(context)?.change;
      if (looked !== undefined && (looked.text !== now?.text || looked.after !== now.after)) {
        return "the document was changed since this dialog was opened: close it and look again";
      }
      return whyTrialBlocks(options.trial(context)) ?? options.blockedReason?.(context);
    },
    task(_, context) {
      const change = options.trial(context)?.change ?? looked;
      if (change === undefined) return { kind: "actions", actions: [] };
      return { kind: "job", job: { kind: "write_change", change, summary: options.done } };
    },
    commands(_, context) {
      const change = options.trial(context)?.change;
      return change === undefined ? [] : options.command(change, context);
    },
  };
}
