/** Which protocol a request of a proxy speaks, as far as its head and its method tell. */

import { isA2aMethod } from "../a2a/index.ts";
import { MCP_METHODS, type McpHeaders } from "../mcp/index.ts";
import type { AgentProtocol } from "../rpc-refusal.ts";
import type { ProxiedShape } from "./proxied-refusal.ts";
import { restMethod } from "./rest.ts";

export interface ProxiedArrival {
  /** HTTP method. */
  readonly verb: string;
  /** Without its query. */
  readonly path: string;
  /** Names in lower case, what stood twice joined with a comma. */
  readonly headers: McpHeaders;
}

const OF_MCP = ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"];

export const saysA2a = (headers: McpHeaders): boolean =>
  headers["a2a-version"] !== undefined || headers["a2a-extensions"] !== undefined;

/** Returns `undefined` if there is no header of either protocol, or headers of both. */
export function protocolInHeaders(headers: McpHeaders): AgentProtocol | undefined {
  const isMcp = OF_MCP.some((name) => headers[name] !== undefined);
  if (isMcp === saysA2a(headers)) return undefined;
  return isMcp ? "mcp" : "a2a";
}

/** Returns the protocol of a method. A header only decides if both protocols have the method. `undefined` if neither does. */
export function protocolOfMethod(method: string, isOfTask: boolean): AgentProtocol | undefined {
  const isMcp = MCP_METHODS.has(method);
  const isA2a = isA2aMethod(method);
  if (isMcp && isA2a) return isOfTask ? "mcp" : "a2a";
  if (isA2a) return "a2a";
  return isMcp ? "mcp" : undefined;
}

/** The shape of a refusal of what was not read; undefined: its head does not tell of either protocol. */
export function shapeByHeaders({ verb, path, headers }: ProxiedArrival): ProxiedShape | undefined {
  if (restMethod(verb, path, saysA2a(headers)) !== undefined) return { protocol: "a2a", binding: "rest", ...NO_IDS };
  const protocol = protocolInHeaders(headers);
  return protocol && { protocol, binding: "rpc", ...NO_IDS };
}

export const NO_IDS = { ids: [], isBatch: false } as const;
