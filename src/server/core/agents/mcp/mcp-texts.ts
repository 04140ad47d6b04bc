/** Finds the texts of MCP requests and answers, and rewrites them. Source: design decisions, section 11. */
import { type JsonNode, memberOf, parseJsonTree } from "../../dialects/index.ts";
import { TextCollector } from "../text-collector.ts";
import type { AgentText, AgentTexts } from "../types.ts";
import { decodeHeaderValue, encodeHeaderValue } from "./header-values.ts";
import { plain, readMember, readUnknownParams } from "./message-members.ts";
import type { McpHeaders, McpRequest } from "./read-mcp-request.ts";

const MIRROR_PREFIX = "mcp-param-";

/** Methods whose parameters are known, including those of older revisions. Source: mcp reference, 4 and 8. */
export const MCP_METHODS: ReadonlySet<string> = new Set([
  "server/discover",
  "tools/list",
  "tools/call",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "completion/complete",
  "subscriptions/listen",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
  "notifications/cancelled",
  "initialize",
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
  "notifications/initialized",
  "notifications/progress",
  "notifications/roots/list_changed",
]);

export interface RewrittenRequest {
  readonly body: string;
  /** New values of headers that mirror changed arguments, by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
}

export interface McpRequestTexts {
  readonly texts: readonly AgentText[];
  readonly uninspected: AgentTexts["uninspected"];
  readonly rewrite: (changes: readonly (string | undefined)[]) => RewrittenRequest;
}

/** Returns the texts of a request and of the headers that mirror its arguments. Throws `TooManyTexts`. */
export function mcpRequestTexts({ envelope, method, params }: McpRequest, headers: McpHeaders): McpRequestTexts {
  const { text: source } = envelope;
  const collector = new TextCollector(source);
  readMcpParams(collector, source, method, params);
  return withMirroredHeaders(source, [params], collector.toTexts(), headers);
}

/** Adds the texts of a request's parameters to the collector. Throws `TooManyTexts`. */
export function readMcpParams(
  collector: TextCollector,
  source: string,
  method: string,
  params: JsonNode | undefined,
): void {
  if (params === undefined) return;
  if (MCP_METHODS.has(method)) readMember(collector, source, "", params, "tool_args", undefined);
  else readUnknownParams(collector, source, params, "tool_args");
}

/** Adds the texts of a client's answer to a request of the server, which only older revisions have: a result or an error. */
export function readMcpReply(collector: TextCollector, source: string, reply: JsonNode): void {
  readMember(collector, source, "", reply, "tool_args", undefined);
}

/** Returns the texts of a body and of the headers that mirror arguments of its `calls`. */
export function withMirroredHeaders(
  source: string,
  calls: readonly (JsonNode | undefined)[],
  body: AgentTexts,
  headers: McpHeaders,
): McpRequestTexts {
  const scalars = new Set(calls.flatMap((params) => [...scalarArguments(source, params)]));
  const mirrors = mirrorsOf(headers, scalars, body.texts);
  const unmatchedHeaders = mirrors.filter(({ at }) => at === undefined);
  return {
    texts: [
      ...body.texts,
      ...unmatchedHeaders.map(({ text }) => ({ ...plain("tool_args"), text, turn: 0 as const, isArgument: false })),
    ],
    uninspected: body.uninspected,
    rewrite(changes) {
      const rewritten = new Map<string, string>();
      for (const mirror of mirrors) {
        const at = mirror.at ?? body.texts.length + unmatchedHeaders.indexOf(mirror);
        const change = changes[at];
        if (change !== undefined && change !== mirror.text) rewritten.set(mirror.header, encodeHeaderValue(change));
      }
      return { body: body.rewrite(changes.slice(0, body.texts.length)), headers: rewritten };
    },
  };
}

/** Reads a response or notification of the server, whole or as one event of a stream. Returns `undefined` if it is not JSON. */
export function mcpAnswerTexts(message: string): AgentTexts | undefined {
  const root = parseJsonTree(message);
  if (root === undefined) return undefined;
  const collector = new TextCollector(message);
  readMember(collector, message, "", root, "tool_result", undefined);
  return collector.toTexts();
}

interface MirroredHeader {
  readonly header: string;
  readonly text: string;
  /** Index of the body's text that the header repeats; `undefined` if it repeats none. */
  readonly at: number | undefined;
}

/**
 * Returns the headers that mirror arguments. A header that mirrors an argument is rewritten with it, so that both stay equal.
 * Mirrors of numbers and booleans never change. A header that mirrors no argument, or cannot be decoded, is a text of its own.
 */
function mirrorsOf(
  headers: McpHeaders,
  scalars: ReadonlySet<string>,
  texts: readonly AgentText[],
): readonly MirroredHeader[] {
  return Object.entries(headers).flatMap(([header, value]) => {
    if (!header.startsWith(MIRROR_PREFIX) || value === undefined) return [];
    const written = typeof value === "string" ? value : value.join(", ");
    const text = decodeHeaderValue(written) ?? written;
    const at = texts.findIndex((one) => one.text === text && !one.isReadOnly);
    if (text === "" || (at < 0 && scalars.has(text))) return [];
    return [{ header, text, at: at < 0 ? undefined : at }];
  });
}

/** Returns the numbers and booleans among the arguments, as written. */
function scalarArguments(source: string, params: JsonNode | undefined): ReadonlySet<string> {
  const found = new Set<string>();
  const walk = (node: JsonNode): void => {
    if (node.kind === "object") for (const { value } of node.members) walk(value);
    else if (node.kind === "array") node.items.forEach(walk);
    else if (node.kind === "scalar") found.add(source.slice(node.start, node.end));
  };
  const args = memberOf(params, "arguments");
  if (args !== undefined) walk(args);
  return found;
}

/** Properties of a response that are known without reading its texts. */
export interface McpOutcome {
  readonly kind: "result" | "error" | "notification" | "other";
  /** Value of `resultType` in a result; `undefined` if the server speaks an old revision. */
  readonly resultType: string | undefined;
}

export function mcpOutcome(message: string): McpOutcome {
  const { id, method, result, error } = membersOf(parsed(message));
  if (result !== undefined) {
    const { resultType } = membersOf(result);
    return { kind: "result", resultType: typeof resultType === "string" ? resultType : undefined };
  }
  if (error !== undefined) return { kind: "error", resultType: undefined };
  const isNotification = method !== undefined && id === undefined;
  return { kind: isNotification ? "notification" : "other", resultType: undefined };
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

/**
 * Parses a message without positions, which are not needed here and take far longer to find. Returns `undefined` if it is not
 * JSON.
 */
function parsed(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch {
    return undefined;
  }
}
