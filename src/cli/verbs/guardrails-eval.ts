/**
 * `gateway guardrails eval`: runs the guardrails of a configuration on labeled texts and scores the findings against
 * the labels. Source: specification document 1, "gateway guardrails eval" and "Guardrail evaluation data".
 *
 * The report goes to stdout. Status 0 if the report was made, whatever the figures; 1 if the configuration or the data
 * were refused, or a detector failed; 130 if it was interrupted, with a report on the cases scored so far.
 */

import { escapeControls } from "../../base/index.ts";
import { joinLines } from "../copy-streams.ts";
import {
  casesOf,
  checkDetector,
  compileSubject,
  createEvaluation,
  createLanguageComparison,
  createNameNormalizer,
  createWarner,
  type DataFile,
  type EvalCase,
  type EvaluationOptions,
  type FailedCases,
  failedTexts,
  forEachParallel,
  judgeCallTexts,
  judgeNotices,
  languagesLines,
  languagesReport,
  type NameNormalizer,
  openData,
  progressText,
  type Row,
  reportLines,
  reportOf,
  rowsOf,
  type Subject,
  type Survey,
  scopeOf,
  surveyOf,
  unmarkedWarnings,
  type Warn,
} from "../guardrail-eval/index.ts";
import { clipArgument, didYouMean, type FlagsOf, UsageError } from "../parse-flags.ts";
import { printRefusal } from "../problem-lines.ts";
import { type ExitStatus, Interrupted, type Io, resolvePath } from "../process-io.ts";
import { progressLine } from "../progress-line.ts";
import type { guardrailsEvalFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof guardrailsEvalFlags>;

/** Maximum size of the texts of a sweep: findings are kept with their texts until the last threshold. */
const MAX_SWEPT_BYTES = 256 << 20;

export async function run(options: Options, paths: readonly string[], io: Io): Promise<ExitStatus> {
  checkFlags(options);
  const wanted = (options.types ?? "").split(",").flatMap((name) => name.trim() || []);
  const names = createNameNormalizer(options.rename, wanted);
  const compiled = await compileSubject(resolvePath(io, options.config), io, { sweeps: options.sweep });
  if (compiled.kind === "refused") return refused(compiled.problems, io);
  const { subject } = compiled;
  for (const warning of compiled.warnings) printLine(io, warning);
  try {
    return await evaluate(subject, { paths, options, names, wanted }, io);
  } finally {
    for (const line of judgeCallTexts(subject)) printLine(io, line);
    await subject.close();
  }
}

interface EvaluationRequest {
  readonly paths: readonly string[];
  readonly options: Options;
  readonly names: NameNormalizer;
  /** Names given by `-types`. */
  readonly wanted: readonly string[];
}

async function evaluate(
  subject: Subject,
  { paths, options, names, wanted }: EvaluationRequest,
  io: Io,
): Promise<ExitStatus> {
  checkDetector(
    options.detector,
    subject.ensemble.members.map(({ name }) => name),
  );

  const files = await openData(io, paths);
  const warn = createWarner((line) => printLine(io, line));
  const types = [...new Set(wanted.map(names))];
  const cases = options.invariance ? casesOfFiles(files, options, warn) : casesOf(files, options.limit, warn);
  const survey = await surveyOf(withProgress(cases, io), names);
  io.signal.throwIfAborted();
  if (survey.cases === 0) throw new Error(`there are no cases in ${paths.map(clipArgument).join(", ")}`);
  for (const line of unmarkedWarnings(survey, types)) printLine(io, `warning: ${line}`);
  checkSize(options, survey);
  for (const line of judgeNotices(subject, options.detector)) printLine(io, line);

  const evaluating: EvaluationOptions = {
    subject,
    names,
    scope: scopeOf(survey, types),
    kind: options.kind,
    detector: options.detector,
    errors: options.errors,
    keepsVerdicts: options.verdicts,
    sweeps: options.sweep,
    signal: io.signal,
  };
  const failed = await (options.invariance ? compareLanguages : score)(files, evaluating, options, io, survey.cases);
  for (const line of failedTexts(failed, survey.cases)) printLine(io, line);
  if (io.signal.aborted) return 130;
  return failed.size === 0 ? 0 : 1;
}

function checkFlags({ verdicts, json, invariance, sweep }: Options): void {
  if (verdicts && !json) throw new UsageError("flag '-verdicts' is for the report of '-json'");
  if (invariance && sweep) throw new UsageError("flags '-invariance' and '-sweep' do not go together");
  if (invariance && verdicts) throw new UsageError("flags '-invariance' and '-verdicts' do not go together");
}

function checkSize({ sweep }: Options, { textBytes }: Survey): void {
  if (!sweep || textBytes <= MAX_SWEPT_BYTES) return;
  throw new UsageError(
    `flag '-sweep' keeps the texts in memory, at most ${MAX_SWEPT_BYTES >> 20} MiB of them; use '-limit'`,
  );
}

type Scored = Promise<FailedCases>;

async function score(
  files: readonly DataFile[],
  evaluating: EvaluationOptions,
  options: Options,
  io: Io,
  total: number,
): Scored {
  const evaluation = createEvaluation(evaluating);
  const cases = await withInterrupt(casesOf(files, options.limit, ignore), total, "cases", evaluation.add, options, io);
  const swept = await evaluation.sweep?.finish(io.signal);
  reportInterrupt(io, cases, total, "cases");
  if (options.json) {
    const names = files.map(({ name }) => name);
    writeJson(io, reportOf(evaluation, { files: names, cases, swept, withVerdicts: options.verdicts }));
  } else {
    for (const text of joinLines(reportLines(evaluation, { files: files.length, cases, swept, width: io.columns() }))) {
      io.stdout.write(text);
    }
  }
  return evaluation.failed;
}

async function compareLanguages(
  files: readonly DataFile[],
  evaluating: EvaluationOptions,
  options: Options,
  io: Io,
): Scored {
  const { reference } = options;
  const languages = createLanguageComparison(evaluating, reference);
  let total = 0;
  const seen = new Set<string>();
  for await (const { cases } of rowsOf(files, options.limit, ignore)) {
    total += 1;
    for (const language of cases.keys()) seen.add(language);
  }
  if (!seen.has(reference)) {
    const hint =
      didYouMean(reference, [...seen]) || `; the data have ${[...seen].slice(0, 20).map(clipArgument).join(", ")}`;
    throw new UsageError(`flag '-reference': no row has a text of '${clipArgument(reference)}'${hint}`);
  }
  const rows = await withInterrupt(rowsOf(files, options.limit, ignore), total, "rows", languages.add, options, io);
  reportInterrupt(io, rows, total, "rows");
  const facts = { files: files.map(({ name }) => name), rows, reference };
  if (options.json) writeJson(io, languagesReport(languages, facts));
  else for (const text of joinLines(languagesLines(languages, facts, io.columns()))) io.stdout.write(text);
  return languages.failed;
}

/** Ignores warnings, since the first pass printed them. */
const ignore: Warn = () => undefined;

async function* casesOfFiles(files: readonly DataFile[], { limit }: Options, warn: Warn): AsyncGenerator<EvalCase> {
  for await (const row of rowsOf(files, limit, warn)) yield* row.cases.values();
}

/** Passes the cases of the first pass through, and shows how many were checked. */
async function* withProgress(cases: AsyncIterable<EvalCase>, io: Io): AsyncGenerator<EvalCase> {
  const progress = progressLine(io);
  let checked = 0;
  try {
    for await (const one of cases) {
      yield one;
      checked += 1;
      progress.show(() => `checked ${checked} cases`);
    }
  } finally {
    progress.clear();
  }
}

async function withInterrupt<Item extends EvalCase | Row>(
  items: AsyncIterable<Item>,
  total: number,
  noun: "cases" | "rows",
  add: (item: Item, index: number) => Promise<void>,
  { parallel }: Options,
  io: Io,
): Promise<number> {
  const progress = progressLine(io);
  const startedAt = io.now();
  let done = 0;
  try {
    return await forEachParallel(items, parallel, io.signal, async (item, index) => {
      await add(item, index);
      done += 1;
      progress.show(() => progressText(done, total, noun, io.now() - startedAt));
    });
  } finally {
    progress.clear();
  }
}

/**
 * Returns if the evaluation was not interrupted, or prints that the report is partial. Throws if there is nothing to
 * report, or stdout was closed.
 */
function reportInterrupt(io: Io, done: number, total: number, noun: string): void {
  const { reason } = io.signal;
  if (!io.signal.aborted) return;
  if (!(reason instanceof Interrupted) || reason.by === "closed stdout" || done === 0) throw reason;
  printLine(io, `interrupted after ${done} of ${total} ${noun}: the report covers only these`);
}

const writeJson = (io: Io, report: unknown): void => void io.stdout.write(`${JSON.stringify(report, null, 2)}\n`);

const printLine = (io: Io, line: string): void => void io.stderr.write(`${escapeControls(line)}\n`);

function refused(problems: readonly string[], io: Io): ExitStatus {
  printRefusal(problems, "the guardrails were refused", io);
  return 1;
}
