/**
 * MCP server of an earlier revision, with its recorded answers to clients of the new one. Source: mcp.md section 8, an
 * old upstream behind the gateway.
 */

import { RpcError, resultText } from "../agents/json-rpc-answers.ts";
import { EMPTY_OBJECT, type Json, type JsonObject, objectOf, parseJson, stringOf } from "../json-fields.ts";
import { type Answer, json, NO_TOKENS } from "../route-types.ts";
import { toolList } from "./cursor-pages.ts";
import type { McpCall } from "./mcp-call.ts";

const OLD_VERSION = "2025-11-25";
const SESSION = "simulated-session";

export function answerEarlierRevision(call: McpCall, capabilities: JsonObject, serverInfo: JsonObject): Answer {
  const message = objectOf(parseMessage(call.text));
  const method = stringOf(message?.["method"]);
  const id = message?.["id"];
  if (method === undefined) throw new RpcError(-32_600, "Invalid Request", { status: 400, id: null });
  const isSession = call.deviations.quirks.has("old-session");
  if (isSession && method !== "initialize" && call.headers["mcp-session-id"] !== SESSION) {
    throw new RpcError(-32_000, "Bad Request: Server not initialized", { status: 400, id: null });
  }
  const headers = isSession ? ["mcp-session-id", SESSION] : [];
  if (typeof id !== "string" && typeof id !== "number") {
    return { kind: "body", status: 202, headers, contentType: "", body: "", tokens: NO_TOKENS };
  }
  const result = resultOf(method, objectOf(message?.["params"]) ?? EMPTY_OBJECT, call, { capabilities, serverInfo });
  return { ...json(resultText(id, result)), headers };
}

function resultOf(method: string, params: JsonObject, call: McpCall, server: JsonObject): JsonObject {
  switch (method) {
    case "initialize":
      return { protocolVersion: OLD_VERSION, ...server };
    case "ping":
      return {};
    case "tools/list":
      return { tools: toolList(call.deviations, call.state) };
    case "tools/call":
      return { content: [{ type: "text", text: `${String(params["name"]).slice(0, 80)} was called.` }] };
    default:
      throw new RpcError(-32_601, "Method not found");
  }
}

function parseMessage(text: string | undefined): Json {
  try {
    return parseJson(text ?? "");
  } catch {
    throw new RpcError(-32_700, "Parse error", { status: 400, id: null });
  }
}
