/**
 * Rule suites: cases of who asks for what, and whether the access rules of a deployment let them; of texts, and what its
 * guardrails make of them. Run by `-test-rules`, and of packs by `pack test`.
 */

export { findSuites } from "./files.ts";
export { type OnCase, runSuites, type SuitesRun, subjectOf } from "./run.ts";
