/**
 * What an answer of a server or agent says of a call that failed within it, whatever the status around it. Source: semantic
 * conventions for JSON-RPC and for MCP, `rpc.response.status_code` and `error.type` (1.45).
 */
import type { SpanAttributes } from "../../../base/index.ts";

/** A code of JSON-RPC, as text; `tool_error`: the tool itself says that it failed. Of a closed list, for label series. */
export type RpcFailure = string;

/** Of JSON-RPC 2.0 itself, and what it leaves to servers; MCP's and A2A's own are among those. */
const isReserved = (code: number): boolean =>
  code === -32_700 || (code >= -32_603 && code <= -32_600) || (code >= -32_099 && code <= -32_000);
const OTHER = "_OTHER";
const TOOL_ERROR = "tool_error";

/** Of one message; undefined: it tells no failure. */
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
