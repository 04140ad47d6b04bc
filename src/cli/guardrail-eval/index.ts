/** Evaluation of guardrails: reads cases, inspects them as the gateway would, and scores the findings against the marks. */

export { createLanguageComparison, languagesLines, languagesReport } from "./compare-languages.ts";
export {
  compileSubject,
  compileSubjectIn,
  judgeCallTexts,
  judgeNotices,
  type Subject,
} from "./compile-subject.ts";
export { sentencesOf } from "./conll-cases.ts";
export { casesOf, type DataFile, openData } from "./data-file.ts";
export { createEvaluation, type EvaluationOptions } from "./evaluation.ts";
export { DataError, type EvalCase, type Mark } from "./evaluation-case.ts";
export { checkDetector, createWarner, failedTexts, progressText } from "./evaluation-messages.ts";
export type { FailedCases } from "./failure-counts.ts";
export { forEachParallel } from "./for-each-parallel.ts";
export { type Agreement, compareRow, type TypeCounts } from "./invariance.ts";
export { caseOf, type Warn } from "./json-line-cases.ts";
export { type Row, rowsOf } from "./language-rows.ts";
export { type FiguresByKind, figuresByKind, reportOf } from "./report-json.ts";
export { reportLines } from "./report-text.ts";
export * from "./scoring.ts";
export { type Line, linesOf, MAX_LINE_BYTES } from "./split-lines.ts";
export { type Scope, type Survey, scopeOf, surveyOf, unmarkedWarnings } from "./survey-data.ts";
export { count, createTally, isMarked, type Outcome, SCORES, type ScoreKind, type Tally, totalOf } from "./tally.ts";
export type { ChangedVerdicts, ChangingCase, VerdictChange } from "./threshold-changes.ts";
export type { Step, SweepOptions, SweepOutcome } from "./threshold-sweep.ts";
export { createNameNormalizer, type NameNormalizer } from "./type-names.ts";
export { type Faults, faultsOf } from "./wrong-cases.ts";
