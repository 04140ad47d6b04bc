/**
 * Rule suites: cases of who asks for what, and whether the access rules of a deployment let them; of texts, and what its
 * guardrails make of them. Run by `-test-rules`.
 */

export { type Case, resolveCases } from "./cases.ts";
export { coverageOf } from "./coverage.ts";
export { findSuites } from "./files.ts";
export { type GuardrailCase, type GuardrailJudgement, judgeGuardrail } from "./guardrail-cases.ts";
export { type Judgement, judge } from "./judge.ts";
export { readSuite } from "./read.ts";
export { coverageLine, judgementLine, summaryLine } from "./report.ts";
export type { Subject } from "./subject.ts";
