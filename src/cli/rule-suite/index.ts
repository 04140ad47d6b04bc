/**
 * Rule suites: test cases for the access rules and guardrails of a deployment. Run by `-test-rules`, and for packs by
 * `pack test`.
 */

export { findSuites } from "./find-suites.ts";
export { type OnCase, runSuites, type SuitesRun, subjectOf } from "./run-suites.ts";
