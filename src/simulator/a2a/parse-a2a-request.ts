/**
 * Parses an A2A request of the JSON-RPC binding, protocol 1.0. It is strict where parsers of Protocol Buffers are
 * lenient. Source: a2a.md sections 1 to 6.
 */

import type { IncomingHttpHeaders } from "node:http";
import { RpcError } from "../agents/json-rpc-answers.ts";
import { EMPTY_OBJECT, type Json, type JsonObject, objectOf, objectsOf, parseJson, stringOf } from "../json-fields.ts";

export interface A2aRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
}

export interface UserMessage {
  readonly message: JsonObject;
  /** Texts of the message, joined. */
  readonly text: string;
  readonly taskId: string | undefined;
  readonly contextId: string | undefined;
  readonly parts: readonly JsonObject[];
}

const DOMAIN = "a2a-protocol.org";
const CONTENTS = ["text", "raw", "url", "data"];
const ROLES: ReadonlySet<unknown> = new Set(["ROLE_USER", "ROLE_AGENT"]);

export function a2aError(code: number, reason: string, message: string): RpcError {
  const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: DOMAIN };
  return new RpcError(code, message, { data: [info] });
}

/** Parses a request. Throws `RpcError`. `text` is the body, `undefined` if it is not text. */
export function parseA2a(headers: IncomingHttpHeaders, text: string | undefined): A2aRequest {
  const type = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw a2aError(-32_005, "CONTENT_TYPE_NOT_SUPPORTED", "Content-Type must be application/json");
  }
  const request = parseRpc(text);
  const version = headers["a2a-version"]?.toString() || "0.3";
  if (version !== "1.0") {
    const message = `The requested A2A protocol version '${version.slice(0, 16)}' is not supported. Supported versions: 1.0`;
    throw a2aError(-32_009, "VERSION_NOT_SUPPORTED", message);
  }
  return request;
}

/** Reads a JSON-RPC request of any version. */
export function parseRpc(text: string | undefined): A2aRequest {
  const request = objectOf(parsed(text));
  const [id, method] = [request?.["id"], request?.["method"]];
  const isSound = typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id));
  if (request?.["jsonrpc"] !== "2.0" || typeof method !== "string" || !isSound) {
    throw new RpcError(-32_600, "Invalid Request: not one JSON-RPC request with an id", { id: null });
  }
  return { id, method, params: objectOf(request["params"]) ?? EMPTY_OBJECT };
}

/** Reads the parameters of `SendMessage` and its streamed form. */
export function parseMessage(params: JsonObject): UserMessage {
  const message = objectOf(params["message"]);
  if (message === undefined) throw invalid("message", "is needed");
  if (stringOf(message["messageId"]) === undefined) throw invalid("message.messageId", "is needed");
  if (!ROLES.has(message["role"])) throw invalid("message.role", "must be ROLE_USER or ROLE_AGENT");
  const parts = objectsOf(message["parts"]);
  if (parts.length === 0) throw invalid("message.parts", "must not be empty");
  for (const part of parts) {
    if (CONTENTS.filter((name) => name in part).length !== 1) throw invalid("message.parts", "one content each");
  }
  return {
    message,
    text: parts
      .map((part) => stringOf(part["text"]) ?? "")
      .join(" ")
      .trim(),
    // Clients that write Protocol Buffers send fields that are not set as empty strings.
    taskId: stringOf(message["taskId"]) || undefined,
    contextId: stringOf(message["contextId"]) || undefined,
    parts,
  };
}

export function invalid(field: string, problem: string): RpcError {
  return a2aError(-32_602, "INVALID_PARAMS", `Invalid params: ${field} ${problem}`);
}

function parsed(text: string | undefined): Json {
  try {
    return parseJson(text ?? "");
  } catch {
    throw new RpcError(-32_700, "Parse error: the body is not JSON", { id: null });
  }
}
