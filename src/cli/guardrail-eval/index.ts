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
export type { EvalCase, Mark } from "./evaluation-case.ts";
export { checkDetector, createWarner, failedTexts, progressText } from "./evaluation-messages.ts";
export type { FailedCases } from "./failure-counts.ts";
export { forEachParallel } from "./for-each-parallel.ts";
export { type Agreement, compareRow, type TypeCounts } from "./invariance.ts";
export { caseOf, type Warn } from "./json-line-cases.ts";
export { type Row, rowsOf } from "./language-rows.ts";
export { figuresByKind, reportOf } from "./report-json.ts";
export { reportLines } from "./report-text.ts";
export * from "./scoring.ts";
export { linesOf } from "./split-lines.ts";
export { type Survey, scopeOf, surveyOf, unmarkedWarnings } from "./survey-data.ts";
export { count, createTally, totalOf } from "./tally.ts";
export type { ChangingCase } from "./threshold-changes.ts";
export type { SweepOutcome } from "./threshold-sweep.ts";
export { createNameNormalizer, type NameNormalizer } from "./type-names.ts";
export type { Faults } from "./wrong-cases.ts";
