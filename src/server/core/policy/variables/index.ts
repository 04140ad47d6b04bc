/** Variables that rules read; does not load the rule engine. */
export {
  type A2aPart,
  type A2aRequest,
  type A2aVariables,
  a2aVariables,
  type CallerVariables,
  callerVariables,
  type HopVariables,
  type LlmRequest,
  type LlmVariables,
  llmVariables,
  type McpRequest,
  type McpVariables,
  mcpVariables,
  type PolicyCaller,
} from "./variables.ts";
