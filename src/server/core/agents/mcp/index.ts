export { decodeHeaderValue, encodeHeaderValue } from "./header-values.ts";
export { type Arrival, isForeignPage } from "./origin.ts";
export {
  argumentsOf,
  listKeyOf,
  MCP_VERSION,
  type McpHeaders,
  type McpReading,
  type McpRequest,
  NOT_A_POST,
  readMcpRequest,
} from "./read-request.ts";
export {
  type McpOutcome,
  type McpRequestTexts,
  mcpAnswerTexts,
  mcpOutcome,
  mcpRequestTexts,
  type RewrittenRequest,
} from "./texts.ts";
export { answerFromCache, filterTools, type Shareable, shareableOf } from "./tools-list.ts";
