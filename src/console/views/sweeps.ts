/**
 * View of a threshold sweep: the active guardrails over labeled local texts, with the results at every threshold, the cases
 * that change, and an action that writes the threshold into the document that has it. Texts stay on this screen. Source:
 * operator console reference, B5.
 */

import { escapeControls } from "../../base/index.ts";
import { whyNotWritable } from "../actions/source-dialogs.ts";
import { differenceOfTrial, trialDialog, whyTrialBlocks } from "../actions/trial-dialog.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { namesText } from "../format/name-list.ts";
import { count, plural } from "../format/numbers.ts";
import type { Context } from "../model/context.ts";
import type { Need } from "../model/data.ts";
import { namedOf, type Trial, thresholdNamed } from "../model/documents.ts";
import type { ScoreKind, SweepFigures, SweepResult, SweepStep } from "../model/sweep.ts";
import { type Table, tableOf } from "../model/table.ts";
import { BLANK, type Line, line, span } from "../model/text.ts";
import type { Intent, Selection, View } from "../model/view.ts";
import { changesBetween, countWrong } from "./changed-cases.ts";
import { COLUMNS, type Row } from "./sweeps-columns.ts";
import { figureText, kindsOf, plotLines, thresholdText } from "./sweeps-plot.ts";

type Reads = Pick<Context, "sweep" | "subject">;

const PLACE = { view: "sweeps" } as const;
/** Maximum number of cases on a page; further ones are only counted. */
const MAX_CASES = 500;
const MAX_ARGUMENT_LENGTH = 4_096;

const resultOf = ({ sweep }: Pick<Context, "sweep">): SweepResult | undefined =>
  sweep?.state.kind === "done" ? sweep.state.result : undefined;

/** Returns the kind in the view's subject, otherwise the first that the data labels. */
function kindOf(result: SweepResult, { subject }: Pick<Context, "subject">): ScoreKind {
  const kinds = kindsOf(result);
  return kinds.find((kind) => kind === subject) ?? kinds[0] ?? "labels";
}

const idOf = ({ threshold }: SweepStep): string => String(threshold);
const stepAt = ({ steps }: SweepResult, id: string): number => steps.findIndex((step) => idOf(step) === id);

function rowsOf(result: SweepResult, kind: ScoreKind): readonly Row[] {
  const { steps, inForce } = result;
  const best = Math.max(...steps.map(({ figures }) => figures[kind]?.f1 ?? 0));
  return steps.map((step, at) => {
    const figures = step.figures[kind];
    const isBest = best > 0 && figures?.f1 === best;
    const text = [
      ...(step.threshold === inForce ? ["in force"] : []),
      ...(isBest ? ["best F1"] : []),
      ...(step.isQuantile ? ["decile"] : []),
    ].join(", ");
    return {
      step,
      figures,
      remark: span(text, step.threshold === inForce ? "warn" : isBest ? "strong" : "dim"),
      wrong: countWrong(step.wrong),
      changedCount: at === 0 ? undefined : changesBetween({ ...result, changedCases: [] }, at - 1, at),
    };
  });
}

function table(context: Reads): Table {
  const result = resultOf(context);
  const rows = result === undefined ? [] : rowsOf(result, kindOf(result, context));
  return tableOf<Row>(
    {
      columns: COLUMNS,
      idOf: ({ step }) => idOf(step),
      nameOf: ({ step }) => thresholdText(step.threshold),
      haystack: ({ step, remark }) => `${thresholdText(step.threshold)} ${remark.text}`,
      isBad: () => false,
      jsonOf: ({ step: { threshold }, figures, wrong }) => ({ threshold, ...figures, wrong }),
      ...(result !== undefined && { startId: String(result.inForce) }),
    },
    rows,
  );
}

/** Maximum number of named files; further ones are only counted. */
const MAX_FILES = 3;

/** Returns the key of the threshold that is swept and written. */
const thresholdName = ({ detector, isOwnThreshold }: SweepResult): string =>
  isOwnThreshold && detector !== undefined ? `threshold of ${detector}` : "guardrails.score_threshold";

const figuresText = (figures: SweepFigures | null): string =>
  figures === null
    ? "no marks"
    : `precision ${figureText(figures.precision)}, recall ${figureText(figures.recall)}, F1 ${figureText(figures.f1)}`;

/** Returns the step for comparison: the active threshold, or the previous step for the active one itself. */
function comparedWith({ steps, inForce }: SweepResult, at: number): number {
  const own = steps.findIndex(({ threshold }) => threshold === inForce);
  return own === at ? Math.max(0, at - 1) : own;
}

function headLines(result: SweepResult, at: number, kind: ScoreKind): readonly Line[] {
  const { steps, inForce, cases, changedCount: all } = result;
  const step = steps[at];
  const from = comparedWith(result, at);
  const base = steps[from];
  if (step === undefined || base === undefined) return [];
  const isOwn = step.threshold === inForce;
  const { right, wrong, cases: changedCases } = changesBetween(result, from, at);
  const otherwise = changedCases.filter((it) => it.before !== "" && it.now !== "").length;
  const against = isOwn
    ? `against ${thresholdText(base.threshold)}, the one before`
    : `against ${thresholdText(inForce)} in force`;
  const kinds = kindsOf(result).filter((other) => other !== kind);
  return [
    labeledLine(
      "swept",
      shown(namesText(result.files, MAX_FILES)),
      span(`  ${plural(cases, "case")}  `),
      shown(result.detector === undefined ? "all detectors" : `detector ${result.detector}`),
      shown(`  ${thresholdName(result)}`, "dim"),
    ),
    labeledLine(
      "chosen",
      span(thresholdText(step.threshold), "strong"),
      span(`  ${figuresText(step.figures[kind])}`),
      span(`  by ${kind}${kinds.length === 0 ? "" : `; f goes to ${kinds[0]}`}`, "dim"),
    ),
    ...(isOwn
      ? []
      : [labeledLine("in force", span(thresholdText(inForce)), span(`  ${figuresText(base.figures[kind])}`))]),
    labeledLine(
      "turn",
      span(`${count(right)} right that ${right === 1 ? "was" : "were"} wrong, `),
      span(`${count(wrong)} wrong that ${wrong === 1 ? "was" : "were"} right`, wrong > 0 ? "warn" : "plain"),
      ...(otherwise === 0 ? [] : [span(`, ${count(otherwise)} wrong otherwise`)]),
      span(`, ${against}`),
      span(
        all > result.changedCases.length
          ? `; only the texts of the first ${count(result.changedCases.length)} changing cases are kept`
          : "",
        "dim",
      ),
    ),
  ];
}

function caseLines(result: SweepResult, at: number): readonly Line[] {
  return changesBetween(result, comparedWith(result, at), at).cases.map(({ one, before, now }) => [
    now === "" ? span("+ ", "strong") : before === "" ? span("! ", "fail") : span("~ ", "warn"),
    shown(`${one.file}:${one.line}  `, "dim"),
    shown(now === "" ? `right; before ${before}` : before === "" ? now : `${now}; before ${before}`),
    shown(`  “${one.excerpt}”`, "dim"),
  ]);
}

function pane(id: string, context: Context): readonly Line[] {
  const result = resultOf(context);
  const at = result === undefined ? -1 : stepAt(result, id);
  if (result === undefined || at < 0) return [];
  return [...headLines(result, at, kindOf(result, context)), ...caseLines(result, at)];
}

function describeStep(id: string, context: Context): readonly Line[] {
  const result = resultOf(context);
  const at = result === undefined ? -1 : stepAt(result, id);
  if (result === undefined || at < 0) return [line("It no longer exists.", "warn")];
  const cases = caseLines(result, at);
  const area = result.averagePrecision[kindOf(result, context)];
  return [
    ...headLines(result, at, kindOf(result, context)),
    labeledLine(
      "over all",
      span(`average precision ${figureText(area)}`),
      shown(`  ${result.files.join(", ")}`, "dim"),
    ),
    ...result.notes.map((note) => labeledLine("note", shown(note, note.startsWith("!") ? "fail" : "warn"))),
    BLANK,
    ...(cases.length === 0 ? [line("No case changes.", "dim")] : cases.slice(0, MAX_CASES)),
    ...(cases.length > MAX_CASES ? [line(`and ${plural(cases.length - MAX_CASES, "case")} more`, "dim")] : []),
  ];
}

function trialNeed(id: string, context: Reads): Need<"threshold_trial"> | undefined {
  const result = resultOf(context);
  if (result === undefined || id === "") return undefined;
  const of = thresholdNamed(id, result.isOwnThreshold ? result.detector : undefined);
  return { id: "threshold_trial", name: namedOf(result.source, of) };
}

function trialOf(id: string, context: Pick<Context, "data"> & Reads): Trial | undefined {
  const need = trialNeed(id, context);
  return need === undefined ? undefined : context.data.get(need)?.value;
}

function whyNotApplicable(id: string, context: Context): string | undefined {
  const result = resultOf(context);
  if (result === undefined) return "no sweep yet";
  if (String(result.inForce) === id) return `${thresholdText(result.inForce)} is in force`;
  return undefined;
}

/** Returns the reason why the threshold cannot be written; a running trial does not prevent the dialog. */
function whyNotOffered(id: string, context: Context): string | undefined {
  return trialOf(id, context) === undefined ? whyNotApplicable(id, context) : whyThresholdNotWritable(id, context);
}

function whyThresholdNotWritable(id: string, context: Context): string | undefined {
  const trial = trialOf(id, context);
  const need = trialNeed(id, context);
  const failure = need === undefined ? undefined : context.data.get(need)?.failure;
  if (trial === undefined && failure !== undefined) return `it could not be tested: ${escapeControls(failure.message)}`;
  const api = trial?.change !== undefined && trial.change.file === undefined ? whyNotWritable(context) : undefined;
  return whyNotApplicable(id, context) ?? api ?? whyTrialBlocks(trial);
}

const one = ({ ids: [id = ""] }: Selection): string => id;

function runIntent({ sweep }: Context): Intent {
  if (sweep?.state.kind === "running") return { kind: "cancel", id: sweep.state.id, message: "stopping" };
  return {
    kind: "ask",
    label: "data files, flags as -types EMAIL_ADDRESS before them",
    initial: sweep?.argumentText ?? "",
    isFile: "many",
    next: (argumentText) =>
      argumentText.length > MAX_ARGUMENT_LENGTH
        ? { kind: "flash", message: "the text is too long", tone: "warn" }
        : { kind: "job", job: { kind: "sweep", argumentText }, place: PLACE },
  };
}

function empty({ sweep }: Context): { readonly sentence: string; readonly next: string } {
  switch (sweep?.state.kind) {
    case "running":
      return {
        sentence: `Sweeping: ${escapeControls(sweep.state.message)}.`,
        next: "x stops it; you can use other views meanwhile",
      };
    case "failed": {
      const { problems } = sweep.state;
      const left = problems.length - 3;
      const reasons = [...problems.slice(0, 3), ...(left > 0 ? [`and ${left} more`] : [])]
        .map(escapeControls)
        .join("; ");
      return { sentence: `! SWEEP FAILED: ${reasons}`, next: "press x to try again, with other files or flags" };
    }
    default:
      return {
        sentence: "No sweep yet. Press x to name local data files; the guardrails in force run over them.",
        next: "The same on a command line: `gateway guardrails eval -config deployment.yaml -sweep cases.jsonl`; texts stay on this screen",
      };
  }
}

const doneText = (threshold: string): string => `the threshold is ${threshold}`;

export const sweepsView: View = {
  id: "sweeps",
  aliases: ["sweep", "eval"],
  title: "Sweeps",
  about:
    "scores the guardrails in force on labeled texts of this machine, at every threshold, and writes a new threshold",
  subject: "exact, overlap or labels, as `guardrails eval` scores; left out, what the data mark",
  needs: () => [{ id: "list_sources" }, { id: "get_config" }],
  body: {
    kind: "table",
    table,
    sort: { column: "threshold", isDescending: false },
    isAcross: true,
    above(context, size, id) {
      const result = resultOf(context);
      const at = result === undefined || id === undefined ? -1 : stepAt(result, id);
      if (result === undefined || at < 0) return [];
      return plotLines(result, { at, kind: kindOf(result, context), isAscii: context.isAscii }, size);
    },
    aboveRows: 18,
    pane,
    paneNeeds(id, context) {
      const need = trialNeed(id, context);
      return need === undefined || whyNotApplicable(id, context) !== undefined ? [] : [need];
    },
    empty,
    describe: describeStep,
  },
  offers: [
    { verb: "run", needsRow: false, start: (_, context) => runIntent(context) },
    {
      verb: "errors",
      label: "cases",
      needsRow: true,
      start: (of, context) => ({
        kind: "page",
        title: `${one(of)}, the cases that change`,
        lines: describeStep(one(of), context),
      }),
    },
    {
      verb: "follow",
      label: "other score",
      needsRow: true,
      disabledReason: (_, context) =>
        kindsOf(resultOf(context) ?? { steps: [] }).length < 2 ? "the data support only one kind of score" : undefined,
      start(of, context) {
        const result = resultOf(context);
        if (result === undefined) return { kind: "flash", message: "no sweep yet" };
        const kinds = kindsOf(result);
        const next = kinds[(kinds.indexOf(kindOf(result, context)) + 1) % kinds.length];
        return { kind: "go", place: { ...PLACE, ...(next !== undefined && { subject: next }) }, row: one(of) };
      },
    },
    {
      verb: "difference",
      needsRow: true,
      disabledReason: (of, context) => whyNotApplicable(one(of), context) ?? whyTrialBlocks(trialOf(one(of), context)),
      start(of, context) {
        const trial = trialOf(one(of), context);
        const lines = trial === undefined ? [] : differenceOfTrial(trial);
        const name = resultOf(context);
        const title = `${escapeControls(name === undefined ? "" : thresholdName(name))} ${one(of)}, the difference`;
        return { kind: "page", title, lines };
      },
    },
    {
      verb: "write",
      label: "write threshold",
      needsRow: true,
      disabledReason: (of, context) => whyNotOffered(one(of), context),
      start(of, opened) {
        const id = one(of);
        const result = resultOf(opened);
        if (result === undefined) return { kind: "flash", message: "no sweep yet" };
        const at = stepAt(result, id);
        return {
          kind: "dialog",
          dialog: trialDialog(
            {
              title: `Set ${escapeControls(thresholdName(result))} to ${id}`,
              done: doneText(id),
              typed: id,
              label: "type the threshold",
              trial: (context) => trialOf(id, { ...context, sweep: opened.sweep, subject: opened.subject }),
              blockedReason: (context) => whyThresholdNotWritable(id, { ...context, sweep: opened.sweep }),
              lines: () => headLines(result, at, kindOf(result, opened)).map((it) => ["", it] as const),
              command: () => [],
            },
            opened,
          ),
        };
      },
    },
  ],
};
