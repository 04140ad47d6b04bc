/** Spans and metrics according to OpenTelemetry's semantic conventions for generative AI and MCP. */

export { attemptErrorOf, errorOf, operationOf } from "./convention-names.ts";
export { type ConventionMetrics, createConventionMetrics } from "./metrics.ts";
export { ReportedAnswerReader } from "./reported-answer.ts";
export { failureAttributes } from "./rpc.ts";
export {
  type AgentSpanNaming,
  agentSpanNaming,
  captureFailure,
  endedCallSpanNaming,
  modelSpanNaming,
  reportedAttributes,
  requestSpanNaming,
  usageAttributes,
  withSpanNaming,
} from "./span-naming.ts";
