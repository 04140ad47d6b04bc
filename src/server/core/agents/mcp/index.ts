export { isForeignPage, type RequestOrigin } from "./dns-rebinding.ts";
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
  withMirroredHeaders,
} from "./mcp-texts.ts";
export {
  argumentsOf,
  findMcpAlias,
  HEADER_MISMATCH,
  listKeyOf,
  MCP_VERSION,
  type McpHeaders,
  type McpReading,
  type McpRequest,
  mcpNameIn,
  mismatchedHeader,
  NOT_A_POST,
  readMcpRequest,
} from "./read-mcp-request.ts";
export { answerFromCache, filterTools, type SharingTerms, sharingTermsOf } from "./tools-list.ts";
