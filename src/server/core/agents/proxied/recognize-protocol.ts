/** Detects which protocol a proxied request speaks, from its headers, path and method. */

import { isA2aMethod } from "../a2a/index.ts";
import { MCP_METHODS, type McpHeaders } from "../mcp/index.ts";
import type { AgentProtocol } from "../rpc-refusal.ts";
import { restMethod } from "./a2a-rest-paths.ts";
import type { ProxiedShape } from "./proxied-refusal.ts";

export interface ProxiedRequestHead {
  readonly verb: string;
  /** Path without the query. */
  readonly path: string;
  /** Headers by lower-case name; repeated ones are joined with a comma. */
  readonly headers: McpHeaders;
}

const MCP_HEADERS = ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"];

export const hasA2aHeader = (headers: McpHeaders): boolean =>
  headers["a2a-version"] !== undefined || headers["a2a-extensions"] !== undefined;

/** Returns the protocol that the headers indicate; `undefined` if there is no header of either protocol, or headers of both. */
export function protocolInHeaders(headers: McpHeaders): AgentProtocol | undefined {
  const isMcp = MCP_HEADERS.some((name) => headers[name] !== undefined);
  if (isMcp === hasA2aHeader(headers)) return undefined;
  return isMcp ? "mcp" : "a2a";
}

/** Returns the protocol that defines the method, or `undefined`. If both define it, `hasTaskId` decides. */
export function protocolOfMethod(method: string, hasTaskId: boolean): AgentProtocol | undefined {
  const isMcp = MCP_METHODS.has(method);
  const isA2a = isA2aMethod(method);
  if (isMcp && isA2a) return hasTaskId ? "mcp" : "a2a";
  if (isA2a) return "a2a";
  return isMcp ? "mcp" : undefined;
}

/**
 * Returns the form of a refusal for a request that was not read, from its path and headers; `undefined` if they indicate no
 * protocol.
 */
export function shapeByHeaders({ verb, path, headers }: ProxiedRequestHead): ProxiedShape | undefined {
  if (restMethod(verb, path, hasA2aHeader(headers)) !== undefined)
    return { protocol: "a2a", binding: "rest", ...NO_IDS };
  const protocol = protocolInHeaders(headers);
  return protocol && { protocol, binding: "rpc", ...NO_IDS };
}

export const NO_IDS = { ids: [], isBatch: false } as const;
