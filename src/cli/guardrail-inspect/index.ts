/** What guardrails make of a text, for people. */

export { inspectionLines, type ShownAs } from "./report.ts";
