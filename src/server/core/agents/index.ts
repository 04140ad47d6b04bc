/**
 * Reads messages of MCP and A2A, for the gateway's own endpoints and for the inspector. Pure.
 *
 * - `a2a/`: messages and cards of A2A
 * - `mcp/`: messages of MCP
 * - `proxied/`: MCP and A2A requests that another proxy routes, at any path
 * - `registry/`: the MCP registry API that the gateway serves
 */

export * from "./a2a/index.ts";
export * from "./mcp/index.ts";
export * from "./proxied/index.ts";
export * from "./registry/index.ts";
export { type AgentProtocol, rpcError, rpcRefusal } from "./rpc-refusal.ts";
export { TooManyTexts } from "./text-collector.ts";
export type { AgentText, AgentTexts, RpcFault } from "./types.ts";
