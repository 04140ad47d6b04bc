/**
 * Rule suites: test cases for the access rules and guardrails of a deployment. Run by `-test-rules`, and for packs by
 * `pack test`.
 */

export { findSuites } from "./files.ts";
export { type OnCase, runSuites, type SuitesRun, subjectOf } from "./run.ts";
