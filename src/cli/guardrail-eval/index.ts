/** Evaluation of guardrails: reads cases, inspects them as the gateway would, and scores the findings against the marks. */

export { DataError, type EvalCase, type Mark } from "./cases.ts";
export { sentencesOf } from "./conll.ts";
export { casesOf, type DataFile, openData } from "./data-file.ts";
export { createEvaluation, type EvaluationOptions } from "./evaluation.ts";
export type { FailedCases } from "./failure-counts.ts";
export { eachOf } from "./for-each-parallel.ts";
export { type Agreement, type Bag, compareRow } from "./invariance.ts";
export { caseOf, type Warn } from "./json-lines.ts";
export { createLanguages, languagesLines, languagesReport } from "./languages.ts";
export { type Line, linesOf, MAX_LINE_BYTES } from "./lines.ts";
export { checkDetector, failedTexts, progressText, warner } from "./messages.ts";
export { type FiguresByKind, figuresByKind, reportOf } from "./report.ts";
export { reportLines } from "./report-text.ts";
export { type Row, rowsOf } from "./rows.ts";
export * from "./scoring.ts";
export { compileSubject, compileSubjectIn, judgeTexts, type Subject, spentTexts } from "./subject.ts";
export { type Scope, type Survey, scopeOf, surveyOf, unmarkedWarnings } from "./survey.ts";
export type { Step, SweepOptions, Swept } from "./sweep.ts";
export { count, createTally, isMarked, type Outcome, SCORES, type ScoreKind, type Tally, totalOf } from "./tally.ts";
export type { Side, Turned, Turning } from "./threshold-changes.ts";
export { type Names, namesOf } from "./type-names.ts";
export { type Faults, faultsOf } from "./wrong-cases.ts";
