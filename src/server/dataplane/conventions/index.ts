/** Spans and metrics according to OpenTelemetry's semantic conventions for generative AI and MCP. */
export {
  type ConventionLabels,
  type ConventionMetrics,
  createConventionMetrics,
  type ServedStream,
} from "./metrics.ts";
export { attemptErrorOf, errorOf, operationOf } from "./names.ts";
export { failureAttributes } from "./rpc.ts";
export {
  type AgentWords,
  agentWords,
  calledWords,
  inWords,
  modelWords,
  noteFailure,
  requestWords,
  toldAttributes,
  usageAttributes,
} from "./spans.ts";
export { ToldAnswer } from "./told-answer.ts";
