/** Requests to the simulated MCP server and agent, in the form of the specifications. */

import type { Json } from "../../src/simulator/json-fields.ts";

export const MCP_VERSION = "2026-07-28";
const META = "io.modelcontextprotocol/";

interface McpAsk {
  readonly capabilities?: Json;
  /** Further members of `_meta`, besides the required ones. */
  readonly meta?: Readonly<Record<string, Json>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export const metaOf = (capabilities: Json = {}): Record<string, Json> => ({
  [`${META}protocolVersion`]: MCP_VERSION,
  [`${META}clientCapabilities`]: capabilities,
});

/** The id is 7. The name in the params is copied to its header. */
export function mcp(
  url: string,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  { capabilities = {}, meta = {}, headers = {}, signal }: McpAsk = {},
): Promise<Response> {
  const name = params["name"] ?? params["uri"] ?? params["taskId"];
  return fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": MCP_VERSION,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 7,
      method,
      params: { ...params, _meta: { ...metaOf(capabilities), ...meta } },
    }),
    ...(signal !== undefined && { signal }),
  });
}

export const callTool = (url: string, name: string, args: Readonly<Record<string, unknown>> = {}, ask: McpAsk = {}) =>
  mcp(url, "tools/call", { name, arguments: args }, ask);

/** The id is 7. */
export function a2a(
  url: string,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }),
  });
}

export const messageOf = (text: string, facts: Readonly<Record<string, unknown>> = {}) => ({
  message: { messageId: "m-1", role: "ROLE_USER", parts: [{ text }], ...facts },
});

export interface Answered {
  readonly id?: unknown;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Messages of an answer: the one in a body, or those of a stream. */
export async function answersOf(response: Response): Promise<readonly (Answered & { readonly method?: string })[]> {
  const text = await response.text();
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return [JSON.parse(text) as Answered];
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as Answered);
}

export async function answerOf(response: Promise<Response>): Promise<Answered> {
  const [answer = {}] = (await answersOf(await response)).slice(-1);
  return answer;
}

/** The result of an answer without an error. */
export async function resultOf(response: Promise<Response>): Promise<Readonly<Record<string, unknown>>> {
  const answer = await answerOf(response);
  if (answer.result === undefined) throw new Error(JSON.stringify(answer));
  return answer.result;
}

/** The error as `[HTTP status, code]`. */
export async function refusal(response: Promise<Response>): Promise<readonly [number, number | undefined]> {
  const got = await response;
  return [got.status, (await answerOf(Promise.resolve(got))).error?.code];
}

/** The first text in a tool's result or a message. */
export function textOf({ result }: Answered): string {
  const { content, message } = (result ?? {}) as {
    readonly content?: readonly { readonly text?: string }[];
    readonly message?: { readonly parts: readonly { readonly text?: string }[] };
  };
  return content?.[0]?.text ?? message?.parts[0]?.text ?? "";
}
