/** Evaluation of guardrails: cases read from data, and what was found in them scored. */

export { DataError, type EvalCase, type Mark } from "./cases.ts";
export { sentencesOf } from "./conll.ts";
export { type Agreement, type Bag, compareRow } from "./invariance.ts";
export { caseOf, type Warn } from "./json-lines.ts";
export { type Line, linesOf, MAX_LINE_BYTES } from "./lines.ts";
export { type Names, namesOf } from "./names.ts";
export * from "./scoring.ts";
export { count, createTally, isMarked, type Outcome, SCORES, type ScoreKind, type Tally, totalOf } from "./tally.ts";
