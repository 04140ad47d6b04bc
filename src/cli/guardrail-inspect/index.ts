/** Output of `gateway guardrails inspect` for people. */

export { inspectionLines, type ShownAs } from "./report.ts";
