/**
 * Formats refusals for each dialect.
 *
 * compat: `{"error":{message,type,param,code}}`, with all four keys; messages:
 * `{"type":"error","error":{type,message},"request_id"}`. The type follows from the status, as both providers document.
 * MCP servers and A2A agents use JSON-RPC errors.
 */

import type { Json } from "./json-fields.ts";

export type Dialect = "compat" | "messages";

/** Protocol of an answer's headers and errors. */
export type AnswerProtocol = Dialect | "rpc";

/** Error that routes throw, answered in one place. The message is shown to the client and quotes no prompt. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly status: number;
  readonly param: string | null;
  /** Error code; `undefined` for the default of the status in compat, and for none in messages. */
  readonly code: string | null | undefined;
  readonly retryAfterSeconds: number | undefined = undefined;

  constructor(status: number, message: string, param: string | null = null, code?: string | null) {
    super(message);
    this.status = status;
    this.param = param;
    this.code = code;
  }
}

interface ErrorTypes {
  readonly compatType: string;
  readonly compatCode: string | null;
  readonly messagesType: string;
}

const INVALID: ErrorTypes = {
  compatType: "invalid_request_error",
  compatCode: null,
  messagesType: "invalid_request_error",
};

const SERVER: ErrorTypes = { compatType: "server_error", compatCode: "internal_error", messagesType: "api_error" };

const OVERLOADED: ErrorTypes = {
  compatType: "service_unavailable_error",
  compatCode: "server_is_overloaded",
  messagesType: "overloaded_error",
};

const WORDS: Readonly<Record<number, ErrorTypes>> = {
  401: { ...INVALID, compatCode: "invalid_api_key", messagesType: "authentication_error" },
  402: { compatType: "insufficient_quota", compatCode: "insufficient_quota", messagesType: "billing_error" },
  403: { ...INVALID, compatCode: "permission_denied", messagesType: "permission_error" },
  404: { ...INVALID, compatCode: "model_not_found", messagesType: "not_found_error" },
  408: { ...INVALID, compatCode: "timeout", messagesType: "timeout_error" },
  409: { ...INVALID, compatCode: "conflict", messagesType: "conflict_error" },
  413: { ...INVALID, messagesType: "request_too_large" },
  429: { compatType: "rate_limit_error", compatCode: "rate_limit_exceeded", messagesType: "rate_limit_error" },
  503: { ...OVERLOADED, messagesType: "api_error" },
  504: { ...SERVER, compatCode: "timeout", messagesType: "timeout_error" },
  529: OVERLOADED,
};

export function errorTypes(status: number): ErrorTypes {
  return WORDS[status] ?? (status >= 500 ? SERVER : INVALID);
}

interface ErrorFacts {
  readonly status: number;
  readonly message: string;
  readonly param: string | null;
  /** Error code; `undefined` for the default of the status. */
  readonly code?: string | null | undefined;
  readonly requestId: string;
  /** Id of the JSON-RPC request. */
  readonly rpcId?: Json;
}

export function errorBody(dialect: AnswerProtocol, facts: ErrorFacts): string {
  const { status, message, param, code, requestId, rpcId = null } = facts;
  if (dialect === "rpc") {
    const error = { code: status < 500 ? -32_600 : -32_603, message };
    return JSON.stringify({ jsonrpc: "2.0", id: rpcId, error });
  }
  const { compatType, compatCode, messagesType } = errorTypes(status);
  if (dialect === "messages") {
    const details = code === undefined || code === null ? undefined : { error_code: code };
    return JSON.stringify({ type: "error", error: { type: messagesType, message, details }, request_id: requestId });
  }
  return JSON.stringify({ error: { message, type: compatType, param, code: code === undefined ? compatCode : code } });
}
