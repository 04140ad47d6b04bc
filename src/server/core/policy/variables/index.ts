/** Variables that rules read; does not load the rule engine. */
export {
  type A2aVariables,
  a2aVariables,
  type CallerVariables,
  callerVariables,
  type HopVariables,
  type LlmVariables,
  llmVariables,
  type McpVariables,
  mcpVariables,
} from "./variables.ts";
