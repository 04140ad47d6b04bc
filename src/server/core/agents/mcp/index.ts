export { decodeHeaderValue, encodeHeaderValue } from "./header-values.ts";
export {
  MCP_METHODS,
  type McpOutcome,
  type McpRequestTexts,
  mcpAnswerTexts,
  mcpOutcome,
  mcpRequestTexts,
  type RewrittenRequest,
  readMcpParams,
  readMcpReply,
  withMirrors,
} from "./mcp-texts.ts";
export { type Arrival, isForeignPage } from "./origin.ts";
export {
  argumentsOf,
  HEADER_MISMATCH,
  listKeyOf,
  MCP_VERSION,
  type McpHeaders,
  type McpReading,
  type McpRequest,
  mcpAliasIn,
  mcpDisagreement,
  mcpNameIn,
  NOT_A_POST,
  readMcpRequest,
} from "./read-mcp-request.ts";
export { answerFromCache, filterTools, type Shareable, shareableOf } from "./tools-list.ts";
