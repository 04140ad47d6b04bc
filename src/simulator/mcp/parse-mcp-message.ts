/**
 * Parses an MCP message as strictly as revision 2026-07-28 requires: headers copy members of the body, and a header
 * that differs is refused. Source: mcp.md sections 2, 3, 7 and 8 (the order of the checks, recorded from the official
 * SDK).
 */

import type { IncomingHttpHeaders } from "node:http";
import { RpcError } from "../agents/json-rpc-answers.ts";
import { EMPTY_OBJECT, type Json, type JsonObject, objectOf, parseJson, stringOf } from "../json-fields.ts";

export const VERSION = "2026-07-28";

const META = "io.modelcontextprotocol/";
/** Version that earlier revisions assume without the header. */
const UNNAMED_VERSION = "2025-03-26";

export interface McpRequest {
  readonly kind: "request";
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
  readonly capabilities: JsonObject;
  readonly progressToken: string | number | undefined;
  /** Log level; `undefined` if the client requests no log messages. */
  readonly logLevel: string | undefined;
}

type McpMessage = McpRequest | { readonly kind: "notification"; readonly method: string };

/** Name of the parameter that the header `mcp-name` copies, by method. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** Parses a message. Throws `RpcError`. `text` is the body, `undefined` if it is not text. */
export function parseMcp(headers: IncomingHttpHeaders, text: string | undefined): McpMessage {
  const type = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new RpcError(-32_000, "Unsupported Media Type: Content-Type must be application/json", {
      status: 415,
      id: null,
    });
  }
  const message = objectOf(parsed(text));
  const [method, id] = [message?.["method"], message?.["id"]];
  const hasId = message !== undefined && "id" in message;
  const isSound = typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id));
  if (message?.["jsonrpc"] !== "2.0" || typeof method !== "string" || (hasId && !isSound)) {
    throw new RpcError(-32_600, "Invalid Request: not one JSON-RPC request or notification", { status: 400, id: null });
  }
  const params = objectOf(message["params"]) ?? EMPTY_OBJECT;
  const meta = objectOf(params["_meta"]);
  const asked = stringOf(meta?.[`${META}protocolVersion`]);
  const header = headers["mcp-protocol-version"]?.toString();
  if (!isSound) return { kind: "notification", method };
  const capabilities = objectOf(meta?.[`${META}clientCapabilities`]);
  checkVersion(asked, header, stringOf(params["protocolVersion"]));
  if (capabilities === undefined) throw invalid("_meta has no client capabilities", 400);
  if (headers["mcp-method"] !== method) throw mismatch("Mcp-Method", headers["mcp-method"], method);
  const naming = NAMED.get(method);
  if (naming !== undefined) {
    const name = stringOf(params[naming]);
    if (name === undefined) throw invalid(`params.${naming} must be a string`);
    const copy = headers["mcp-name"]?.toString();
    if (copy === undefined || decoded(copy) !== name) throw mismatch("Mcp-Name", copy, name);
  }
  const token = meta?.["progressToken"];
  const progressToken = typeof token === "string" || typeof token === "number" ? token : undefined;
  return {
    kind: "request",
    id,
    method,
    params,
    capabilities,
    progressToken,
    logLevel: stringOf(meta?.[`${META}logLevel`]),
  };
}

function checkVersion(asked: string | undefined, header: string | undefined, initial: string | undefined): void {
  if (asked === undefined) {
    if (header !== undefined && header >= VERSION) throw invalid("params._meta has no protocol version", 400);
    throw unsupported(initial ?? header ?? UNNAMED_VERSION);
  }
  if (header !== asked) throw mismatch("MCP-Protocol-Version", header, asked);
  if (asked !== VERSION) throw unsupported(asked);
}

function unsupported(requested: string): RpcError {
  const message = `Unsupported protocol version: ${requested.slice(0, 64)}; this server speaks ${VERSION}`;
  return new RpcError(-32_022, message, {
    status: 400,
    data: { supported: [VERSION], requested: requested.slice(0, 64) },
  });
}

function mismatch(name: string, header: string | string[] | undefined, body: string): RpcError {
  const message = `Bad Request: the request headers and body disagree: ${name}`;
  return new RpcError(-32_020, message, {
    status: 400,
    data: { mismatch: { header: header?.toString() ?? null, body } },
  });
}

export function invalid(message: string, status = 200): RpcError {
  return new RpcError(-32_602, `Invalid params: ${message}`, { status });
}

/** Checks headers that copy arguments, as the tool's schema requires. `schema` is its `inputSchema`. */
export function checkMirrors(headers: IncomingHttpHeaders, schema: JsonObject, args: JsonObject): void {
  for (const [property, facts] of Object.entries(objectOf(schema["properties"]) ?? EMPTY_OBJECT)) {
    const suffix = stringOf(objectOf(facts)?.["x-mcp-header"]);
    if (suffix === undefined) continue;
    const copy = headers[`mcp-param-${suffix.toLowerCase()}`]?.toString();
    const value = args[property];
    if (value === undefined || value === null) {
      if (copy !== undefined) throw mismatch(`Mcp-Param-${suffix}`, copy, "");
    } else if (copy === undefined || decoded(copy) !== String(value)) {
      throw mismatch(`Mcp-Param-${suffix}`, copy, String(value));
    }
  }
}

/** Returns the decoded value, or `undefined` if it is invalid. Source: mcp.md section 2, value encoding. */
function decoded(value: string): string | undefined {
  const coded = /^=\?base64\?(.*)\?=$/s.exec(value)?.[1];
  if (coded === undefined) return value;
  const bytes = Buffer.from(coded, "base64");
  return bytes.toString("base64") === coded ? bytes.toString("utf8") : undefined;
}

function parsed(text: string | undefined): Json | undefined {
  try {
    return parseJson(text ?? "");
  } catch {
    throw new RpcError(-32_700, "Parse error: the body is not JSON", { status: 400, id: null });
  }
}
