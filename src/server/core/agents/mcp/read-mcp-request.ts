/**
 * Reads a request of the Model Context Protocol, revision 2026-07-28, or refuses it. The body is authoritative; headers repeat
 * parts of it and must agree. Source: mcp reference, 2 to 4, and 8, whose rows are checked in order.
 */
import { type JsonNode, memberOf, stringIn } from "../../dialects/index.ts";
import {
  type Envelope,
  findAlias,
  INVALID_PARAMS,
  INVALID_REQUEST,
  isJsonType,
  readEnvelope,
} from "../rpc-envelope.ts";
import type { JsonValue, RpcFault } from "../types.ts";
import { decodeHeaderValue } from "./header-values.ts";

export const MCP_VERSION = "2026-07-28";

export const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;

/** Version that older revisions assume if the version header is missing. */
const OLDEST_VERSION = "2025-03-26";
const VERSION_SHAPE = /^[\x21-\x7e]{1,64}$/;

const META = "_meta";
const META_VERSION = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** Members of `params` that the gateway reads, here or in rules, guardrails and caches. */
const PARAMS = [
  META,
  "name",
  "uri",
  "arguments",
  "taskId",
  "inputResponses",
  "requestState",
  "cursor",
  "argument",
  "ref",
  "context",
  "notifications",
] as const;

/** Member of `params` that `Mcp-Name` repeats, by method. `isRuled` is true if rules read it as `name`. */
const NAME_MEMBER: ReadonlyMap<string, { readonly member: string; readonly isRuled: boolean }> = new Map([
  ["tools/call", { member: "name", isRuled: true }],
  ["prompts/get", { member: "name", isRuled: true }],
  ["resources/read", { member: "uri", isRuled: true }],
  ["tasks/get", { member: "taskId", isRuled: false }],
  ["tasks/update", { member: "taskId", isRuled: false }],
  ["tasks/cancel", { member: "taskId", isRuled: false }],
]);

export interface McpRequest {
  readonly kind: "request" | "notification";
  /** JSON text of the id, as received; `null` for a notification. */
  readonly id: string;
  readonly method: string;
  /** Name of the requested tool, prompt or resource; empty for other methods. */
  readonly name: string;
  readonly envelope: Envelope;
  readonly params: JsonNode | undefined;
  /** True if the request continues an exchange of several rounds. Its result is then for this caller only. */
  readonly isContinued: boolean;
}

export type McpReading =
  | { readonly kind: "read"; readonly request: McpRequest }
  /** Notification of an old revision. It is answered with 202 and not forwarded. */
  | { readonly kind: "dropped" }
  | { readonly kind: "refused"; readonly fault: RpcFault };

/** Headers as `node:http` delivers them: lower-case names, repeated ones joined with a comma. */
export type McpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export function readMcpRequest(headers: McpHeaders, body: Buffer): McpReading {
  if (!isJsonType(headerOf(headers, "content-type"))) {
    const message = "The content type must be application/json.";
    return refused({ status: 415, code: INVALID_REQUEST, message, id: "null" });
  }
  const reading = readEnvelope(body, "strict");
  if (reading.kind === "refused") return reading;
  const { envelope } = reading;
  const { text, method, params } = envelope;
  const id = envelope.id ?? "null";
  const fault = (code: number, message: string, data?: unknown): McpReading =>
    refused({ status: 400, code, message, id, ...(data !== undefined && { data }) });
  const meta = memberOf(params, META);
  const bodyVersion = stringIn(text, memberOf(meta, META_VERSION));
  const headerVersion = headerOf(headers, "mcp-protocol-version")?.trim();
  const isNotification = envelope.id === undefined;
  const opensSession = method === "initialize";
  if (bodyVersion === undefined && (opensSession || headerVersion === undefined || headerVersion < MCP_VERSION)) {
    if (isNotification) return { kind: "dropped" };
    const requested = stringIn(text, memberOf(params, "protocolVersion")) ?? headerVersion ?? OLDEST_VERSION;
    return fault(...(opensSession ? sessionRefused(requested) : unsupported(requested)));
  }
  // A call without an id is refused: it would pass as a notification, which rules do not read, and some servers would execute
  // it.
  if (isNotification && !method.startsWith("notifications/")) {
    return fault(INVALID_REQUEST, "Invalid request: there is no `id`, and the method is not that of a notification.");
  }
  if (params !== undefined && params.kind !== "object") return fault(INVALID_PARAMS, "Invalid params: not an object.");
  const alias = findAlias(params, PARAMS);
  if (alias !== undefined) return fault(INVALID_PARAMS, `Invalid params: a member is spelled almost like "${alias}".`);
  // The member `_meta` is optional in a notification.
  if (bodyVersion === undefined && !isNotification) {
    return fault(INVALID_PARAMS, `Invalid params: \`_meta\` lacks "${META_VERSION}".`);
  }
  if (headerVersion === undefined)
    return fault(HEADER_MISMATCH, "Bad request: the header MCP-Protocol-Version is missing.");
  if (bodyVersion !== undefined && headerVersion !== bodyVersion) {
    return fault(HEADER_MISMATCH, "Bad request: MCP-Protocol-Version and the body disagree.");
  }
  if (headerVersion !== MCP_VERSION) return fault(...unsupported(headerVersion));
  if (!isNotification && memberOf(meta, META_CAPABILITIES)?.kind !== "object") {
    return fault(INVALID_PARAMS, `Invalid params: \`_meta\` lacks "${META_CAPABILITIES}".`);
  }
  const methodHeader = headerOf(headers, "mcp-method")?.trim();
  if (methodHeader === undefined ? !isNotification : methodHeader !== method) {
    return fault(HEADER_MISMATCH, "Bad request: Mcp-Method is missing, or differs from the body's method.");
  }
  const named = NAME_MEMBER.get(method);
  let name = "";
  if (named !== undefined) {
    const bodyName = stringIn(text, memberOf(params, named.member));
    if (bodyName === undefined || bodyName === "")
      return fault(INVALID_PARAMS, `Invalid params: no \`${named.member}\`.`);
    const header = headerOf(headers, "mcp-name");
    if (header === undefined || decodeHeaderValue(header) !== bodyName) {
      return fault(HEADER_MISMATCH, `Bad request: Mcp-Name is missing, or differs from \`${named.member}\`.`);
    }
    if (named.isRuled) name = bodyName;
  }
  const args = memberOf(params, "arguments");
  if (args !== undefined && args.kind !== "object") {
    return fault(INVALID_PARAMS, "Invalid params: `arguments` is not an object.");
  }
  const isContinued =
    memberOf(params, "inputResponses") !== undefined || memberOf(params, "requestState") !== undefined;
  const kind = isNotification ? "notification" : "request";
  return { kind: "read", request: { kind, id, method, name, envelope, params, isContinued } };
}

/** Returns the defined name that a member of `params` nearly equals; a server might take the member for the defined one. */
export const findMcpAlias = (params: JsonNode | undefined): string | undefined => findAlias(params, PARAMS);

/** Returns the name of the called tool, prompt or resource, as rules read it; empty for other methods. */
export function mcpNameIn(text: string, method: string, params: JsonNode | undefined): string {
  const named = NAME_MEMBER.get(method);
  return named?.isRuled === true ? (stringIn(text, memberOf(params, named.member)) ?? "") : "";
}

/**
 * Returns the header that contradicts the body; `undefined` if none does. A missing header is accepted, since older revisions
 * do not have it. Source: mcp reference, 2 and 8.
 */
export function mismatchedHeader(
  headers: McpHeaders,
  text: string,
  method: string,
  params: JsonNode | undefined,
): string | undefined {
  const version = stringIn(text, memberOf(memberOf(params, META), META_VERSION));
  const headerVersion = headerOf(headers, "mcp-protocol-version")?.trim();
  if (version !== undefined && headerVersion !== undefined && headerVersion !== version) return "MCP-Protocol-Version";
  const methodHeader = headerOf(headers, "mcp-method")?.trim();
  if (methodHeader !== undefined && methodHeader !== method) return "Mcp-Method";
  const named = NAME_MEMBER.get(method);
  const nameHeader = headerOf(headers, "mcp-name");
  if (named === undefined || nameHeader === undefined) return undefined;
  return decodeHeaderValue(nameHeader) === stringIn(text, memberOf(params, named.member)) ? undefined : "Mcp-Name";
}

/** Returns what rules read as `args`: the arguments of a tool call. Empty for other methods. */
export function argumentsOf({ method, envelope, params }: McpRequest): Readonly<Record<string, JsonValue>> {
  const node = method === "tools/call" ? memberOf(params, "arguments") : undefined;
  if (node === undefined) return {};
  return JSON.parse(envelope.text.slice(node.start, node.end)) as Record<string, JsonValue>;
}

/**
 * Returns the cache key of a page of a list: everything that the page depends on besides the server, which is the cursor as
 * received and the names of the client's extensions.
 */
export function listKeyOf({ envelope, params }: McpRequest): string {
  const { text } = envelope;
  const cursor = memberOf(params, "cursor");
  const extensions = memberOf(memberOf(memberOf(params, META), META_CAPABILITIES), "extensions");
  const names = extensions?.kind === "object" ? extensions.members.map(({ name }) => name).sort() : [];
  return JSON.stringify([cursor === undefined ? null : text.slice(cursor.start, cursor.end), names]);
}

/** Answer of the endpoints of both protocols to methods other than POST. The header `allow` names POST. */
export const NOT_A_POST: RpcFault = {
  status: 405,
  code: INVALID_REQUEST,
  message: "Method not allowed: this endpoint takes only POST.",
  id: "null",
};

function unsupported(requested: string): [number, string, unknown] {
  const shown = VERSION_SHAPE.test(requested) ? requested : OLDEST_VERSION;
  return [
    UNSUPPORTED_VERSION,
    `Unsupported protocol version: ${shown}; this endpoint speaks ${MCP_VERSION}`,
    { supported: [MCP_VERSION], requested: shown },
  ];
}

/**
 * Returns the refusal of an `initialize`. Some clients send it for the current revision too, and clients that negotiate send it
 * after any error of `server/discover`, which they then do not show.
 */
function sessionRefused(requested: string): [number, string, unknown] {
  const [code, message, data] = unsupported(requested);
  const hint =
    requested === MCP_VERSION
      ? `Revision ${MCP_VERSION} has no \`initialize\`: set the client to begin with \`server/discover\`.`
      : `${message}. A client that speaks it sends \`initialize\` only after \`server/discover\` failed: look for that error.`;
  return [code, hint, data];
}

const refused = (fault: RpcFault): McpReading => ({ kind: "refused", fault });

function headerOf(headers: McpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : value?.join(", ");
}
