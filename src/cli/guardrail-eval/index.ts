/** Evaluation of guardrails: reads cases, inspects them as the gateway would, and scores the findings against the marks. */

export { DataError, type EvalCase, type Mark } from "./cases.ts";
export { sentencesOf } from "./conll.ts";
export { casesOf, type DataFile, openData } from "./data-file.ts";
export { createEvaluation, type EvaluationOptions } from "./evaluation.ts";
export type { FailedCases } from "./failure-counts.ts";
export { forEachParallel } from "./for-each-parallel.ts";
export { type Agreement, compareRow, type TypeCounts } from "./invariance.ts";
export { caseOf, type Warn } from "./json-lines.ts";
export { createLanguageComparison, languagesLines, languagesReport } from "./languages.ts";
export { type Line, linesOf, MAX_LINE_BYTES } from "./lines.ts";
export { checkDetector, createWarner, failedTexts, progressText } from "./messages.ts";
export { type FiguresByKind, figuresByKind, reportOf } from "./report.ts";
export { reportLines } from "./report-text.ts";
export { type Row, rowsOf } from "./rows.ts";
export * from "./scoring.ts";
export {
  compileSubject,
  compileSubjectIn,
  judgeCallTexts,
  judgeNotices,
  type Subject,
} from "./subject.ts";
export { type Scope, type Survey, scopeOf, surveyOf, unmarkedWarnings } from "./survey.ts";
export type { Step, SweepOptions, SweepOutcome } from "./sweep.ts";
export { count, createTally, isMarked, type Outcome, SCORES, type ScoreKind, type Tally, totalOf } from "./tally.ts";
export type { ChangedVerdicts, ChangingCase, VerdictChange } from "./threshold-changes.ts";
export { createNameNormalizer, type NameNormalizer } from "./type-names.ts";
export { type Faults, faultsOf } from "./wrong-cases.ts";
