/** Messages of MCP and A2A, read by the same code for the hops and the inspector. Pure. */

export * from "./a2a/index.ts";
export * from "./mcp/index.ts";
export * from "./proxied/index.ts";
export { type AgentProtocol, rpcError, rpcRefusal } from "./refusal.ts";
export * from "./registry/index.ts";
export { TooManyTexts } from "./text-collector.ts";
export type { AgentText, AgentTexts, RpcFault, UninspectedMedia } from "./types.ts";
