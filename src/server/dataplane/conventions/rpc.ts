/**
 * Reads the failure that the answer of an MCP server or agent reports for a call, whatever its HTTP status. Source: semantic
 * conventions for JSON-RPC and for MCP, `rpc.response.status_code` and `error.type` (1.45).
 */
import type { SpanAttributes } from "../../../base/index.ts";

/**
 * Code of a JSON-RPC error as text, or `tool_error` if the tool reports its own failure. All values come from a closed list, so
 * they are safe as labels.
 */
export type RpcFailure = string;

/**
 * Returns whether the code is reserved by JSON-RPC 2.0, either for itself or for servers, which includes the codes of MCP and
 * A2A.
 */
const isReserved = (code: number): boolean =>
  code === -32_700 || (code >= -32_603 && code <= -32_600) || (code >= -32_099 && code <= -32_000);
const OTHER = "_OTHER";
const TOOL_ERROR = "tool_error";

/** Returns the failure that a message reports, or `undefined` if there is none. */
export function rpcFailureOf(message: string): RpcFailure | undefined {
  if (!message.includes('"error"') && !message.includes('"isError"')) return undefined;
  const { error, result } = membersOf(parsed(message));
  if (error === undefined || error === null) return membersOf(result)["isError"] === true ? TOOL_ERROR : undefined;
  const { code } = membersOf(error);
  return typeof code === "number" && Number.isInteger(code) && isReserved(code) ? String(code) : OTHER;
}

export const failureAttributes = (failure: RpcFailure | undefined): SpanAttributes =>
  failure === undefined
    ? {}
    : {
        "error.type": failure,
        ...(failure !== TOOL_ERROR && failure !== OTHER && { "rpc.response.status_code": failure }),
      };

function parsed(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch {
    return undefined;
  }
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
