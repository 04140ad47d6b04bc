/**
 * Reads a request of MCP or A2A that another proxy routes, of any revision: its texts, and what rules may read. Versions are
 * not checked, since client and server negotiate them. A request that two parsers could read differently is refused, as on the
 * gateway's own endpoints. Source: mcp reference, 3 to 8; a2a reference, 3 to 7; design decisions, sections 7, 11 and 19.
 */
import { isUtf8 } from "node:buffer";
import { type JsonNode, memberOf, parseJsonTree, stringIn } from "../../dialects/index.ts";
import { ambiguityInMessage, asksForPush, isA2aMethod, readA2aParams } from "../a2a/index.ts";
import {
  findMcpAlias,
  HEADER_MISMATCH,
  type McpRequestTexts,
  mcpNameIn,
  mismatchedHeader,
  readMcpParams,
  readMcpReply,
  withMirroredHeaders,
} from "../mcp/index.ts";
import {
  envelopeOf,
  findAlias,
  hasRepeatedNames,
  INVALID_PARAMS,
  INVALID_REQUEST,
  isJsonType,
  MAX_VALUES,
  MEMBERS,
  PARSE_ERROR,
} from "../rpc-envelope.ts";
import type { AgentProtocol } from "../rpc-refusal.ts";
import { TextCollector } from "../text-collector.ts";
import { restMethod } from "./a2a-rest-paths.ts";
import type { ProxiedShape } from "./proxied-refusal.ts";
import {
  hasA2aHeader,
  NO_IDS,
  type ProxiedRequestHead,
  protocolInHeaders,
  protocolOfMethod,
} from "./recognize-protocol.ts";

/** Maximum number of messages in a batch. Rules evaluate each separately. */
const MAX_BATCH = 100;

/** Members of a client's answer to a request of the server, in addition to those of a request. */
const REPLY_MEMBERS = ["result", "error"];

export interface ProxiedCall {
  /** Method of the call. Empty for an answer to a request of the server. */
  readonly method: string;
  /** Name of the called tool, prompt or resource; empty for other methods. */
  readonly name: string;
}

export interface ProxiedTexts extends McpRequestTexts {
  /** For each call, the index after its last text. */
  readonly endIndexes: readonly number[];
}

export interface ProxiedRequest {
  readonly shape: ProxiedShape;
  /** Calls of a batch in order, or the single call. */
  readonly calls: readonly ProxiedCall[];
  /** True if the request asks an agent to post its results to a URL. */
  readonly asksForPush: boolean;
  /** Returns the texts of the request. Throws `TooManyTexts`. */
  readonly texts: () => ProxiedTexts;
}

export type ProxiedReading =
  /** Request that belongs to neither protocol. */
  | { readonly kind: "other" }
  | { readonly kind: "read"; readonly request: ProxiedRequest }
  /** `message` quotes nothing of the request. `shape` contains the error code. */
  | { readonly kind: "refused"; readonly shape: ProxiedShape; readonly message: string };

/** Reads a request of another proxy. `body` is decompressed. */
export function readProxied(arrival: ProxiedRequestHead, body: Buffer): ProxiedReading {
  const { verb, path, headers } = arrival;
  const rest = restMethod(verb, path, hasA2aHeader(headers));
  if (rest !== undefined) return readRest(rest, body);
  const headerProtocol = protocolInHeaders(headers);
  if (body.length === 0 || (headerProtocol === undefined && !RPC_MARKERS.some((part) => body.includes(part))))
    return OTHER;
  const text = isUtf8(body) ? body.toString("utf8") : undefined;
  const root = text === undefined ? undefined : parseJsonTree(text, MAX_VALUES);
  if (text === undefined || root === undefined) {
    // The body cannot be parsed. It is refused only if it is meant as a message of the protocol.
    const isDeclaredRpc = headerProtocol !== undefined && isJsonType(String(headers["content-type"] ?? ""));
    if (!isDeclaredRpc && !(text !== undefined && isRpcText(text))) return OTHER;
    const shape = { protocol: headerProtocol ?? "mcp", binding: "rpc", ...NO_IDS, code: PARSE_ERROR } as const;
    return refused(shape, "the body is not JSON in UTF-8, is nested too deep, or holds too many values");
  }
  const isBatch = root.kind === "array";
  const nodes = isBatch ? root.items : [root];
  const protocol = protocolOf(text, nodes, headerProtocol);
  if (protocol === undefined) return OTHER;
  const messages: Message[] = [];
  const ids: string[] = [];
  if (nodes.length > MAX_BATCH) {
    return refused(
      { protocol, binding: "rpc", ...NO_IDS, code: INVALID_REQUEST },
      `the batch has more than ${MAX_BATCH} messages`,
    );
  }
  for (const node of nodes) {
    const message = readMessage(text, node, protocol);
    if ("fault" in message) {
      const { code, id, fault } = message;
      return refused({ protocol, binding: "rpc", ids: [...ids, id], isBatch, code }, fault);
    }
    if (message.id !== undefined) ids.push(message.id);
    messages.push(message);
  }
  const shape = { protocol, binding: "rpc", ids, isBatch } as const;
  const [only] = messages;
  if (protocol === "mcp" && !isBatch && only !== undefined && !only.isReply) {
    const header = mismatchedHeader(headers, text, only.method, only.payload);
    if (header !== undefined)
      return refused({ ...shape, code: HEADER_MISMATCH }, `the header ${header} and the body disagree`);
  }
  return {
    kind: "read",
    request: {
      shape,
      calls: messages.map(({ method, name }) => ({ method, name })),
      asksForPush: protocol === "a2a" && messages.some(({ method, payload }) => asksForPush(text, method, payload)),
      texts: () => textsOf(text, messages, protocol, protocol === "mcp" ? headers : {}),
    },
  };
}

const OTHER: ProxiedReading = { kind: "other" };

/** Byte sequences of which a JSON-RPC message contains at least one. The name `jsonrpc` may be written with escapes. */
const RPC_MARKERS = ['"jsonrpc"', "\\u"];

function refused(shape: ProxiedShape, message: string): ProxiedReading {
  return { kind: "refused", shape, message: `Guardrails cannot inspect the request: ${message}.` };
}

interface Message {
  /** JSON text of the id; `undefined` for a notification, which gets no answer. */
  readonly id: string | undefined;
  readonly method: string;
  readonly name: string;
  /** Parameters of a request; result or error of a reply. */
  readonly payload: JsonNode | undefined;
  readonly isReply: boolean;
  /** Values of members that the protocol does not define. */
  readonly extras: readonly JsonNode[];
}

/** Returns the protocol of the messages, or `undefined` if none of them belongs to either protocol. */
function protocolOf(
  text: string,
  nodes: readonly JsonNode[],
  headerProtocol: AgentProtocol | undefined,
): AgentProtocol | undefined {
  let isRpc = false;
  for (const node of nodes) {
    if (stringIn(text, memberOf(node, "jsonrpc")) !== "2.0") continue;
    isRpc = true;
    const method = stringIn(text, memberOf(node, "method"));
    if (method === undefined) continue;
    const hasTaskId = memberOf(memberOf(node, "params"), "taskId") !== undefined;
    const protocol = protocolOfMethod(method, hasTaskId);
    if (protocol !== undefined) return protocol;
  }
  const hasRequest = nodes.some((node) => stringIn(text, memberOf(node, "method")) !== undefined);
  // Headers alone are no proof, since clients send other bodies with the same headers, such as registrations.
  if (headerProtocol !== undefined && (isRpc || hasRequest)) return headerProtocol;
  // Only in MCP does a client answer requests of the server.
  const isReply = nodes.some((node) => REPLY_MEMBERS.some((name) => memberOf(node, name) !== undefined));
  return isRpc && isReply && !hasRequest ? "mcp" : undefined;
}

interface Fault {
  readonly fault: string;
  readonly code: number;
  /** JSON text of the message's id. */
  readonly id: string;
}

function readMessage(text: string, node: JsonNode, protocol: AgentProtocol): Message | Fault {
  const isReply = node.kind === "object" && memberOf(node, "method") === undefined && replyPayload(node) !== undefined;
  if (isReply) {
    const alias = findAlias(node, [...MEMBERS, ...REPLY_MEMBERS]);
    if (alias !== undefined || hasRepeatedNames(node)) {
      return { fault: "a name appears in it twice, or in two spellings", code: INVALID_PARAMS, id: "null" };
    }
    const payload = replyPayload(node);
    return { id: undefined, method: "", name: "", payload, isReply, extras: otherMembers(node, REPLY_MEMBERS) };
  }
  const reading = envelopeOf(text, node, "lenient");
  if (reading.kind === "refused") {
    const { message, code, id } = reading.fault;
    return { fault: message.replace(/\.$/, ""), code, id };
  }
  const { method, params, id } = reading.envelope;
  const doubt = protocol === "mcp" ? ambiguityInParams(params) : ambiguityInA2a(text, method, params);
  if (doubt !== undefined) return { fault: doubt, code: INVALID_PARAMS, id: id ?? "null" };
  const name = protocol === "mcp" ? mcpNameIn(text, method, params) : "";
  return { id, method, name, payload: params, isReply, extras: otherMembers(node, ["params"]) };
}

const replyPayload = (node: JsonNode): JsonNode | undefined => memberOf(node, "result") ?? memberOf(node, "error");

function ambiguityInParams(params: JsonNode | undefined): string | undefined {
  const alias = findMcpAlias(params);
  return alias && `a member of \`params\` is spelled almost like "${alias}"`;
}

const ambiguityInA2a = (text: string, method: string, params: JsonNode | undefined): string | undefined =>
  method === "SendMessage" || method === "SendStreamingMessage" ? ambiguityInMessage(text, params) : undefined;

/** Returns the values of all members except those of the envelope and those named in `read`. */
function otherMembers(node: JsonNode, read: readonly string[]): readonly JsonNode[] {
  if (node.kind !== "object") return [];
  const knownNames = ["jsonrpc", "id", "method", ...read];
  return node.members.flatMap(({ name, value }) => (knownNames.includes(name) ? [] : [value]));
}

const EXTRA_TEXT = { kind: "tool_args", ref: "", isReadOnly: false } as const;

function textsOf(
  text: string,
  messages: readonly Message[],
  protocol: AgentProtocol,
  headers: ProxiedRequestHead["headers"],
): ProxiedTexts {
  const collector = new TextCollector(text);
  const ends: number[] = [];
  for (const { method, payload, isReply, extras } of messages) {
    if (isReply && payload !== undefined) readMcpReply(collector, text, payload);
    else if (protocol === "mcp") readMcpParams(collector, text, method, payload);
    else readA2aParams(collector, text, isA2aMethod(method), payload);
    for (const node of extras) collector.addAll(node, EXTRA_TEXT);
    ends.push(collector.textCount);
  }
  const all = withMirroredHeaders(
    text,
    messages.map(({ payload, isReply }) => (isReply ? undefined : payload)),
    collector.toTexts(),
    headers,
  );
  // The texts of headers count as part of the last message.
  ends[ends.length - 1] = all.texts.length;
  return { ...all, endIndexes: ends };
}

function readRest(method: string, body: Buffer): ProxiedReading {
  const shape = { protocol: "a2a", binding: "rest", ...NO_IDS } as const;
  const calls = [{ method, name: "" }];
  const isPlain = isUtf8(body);
  const text = isPlain ? body.toString("utf8") : "";
  if (isPlain && text.trim() === "") {
    return {
      kind: "read",
      request: {
        shape,
        calls,
        asksForPush: asksForPush(text, method, undefined),
        texts: () => ({ ...withMirroredHeaders("", [], new TextCollector("").toTexts(), {}), endIndexes: [0] }),
      },
    };
  }
  const root = isPlain ? parseJsonTree(text, MAX_VALUES) : undefined;
  if (root?.kind !== "object") {
    return refused(shape, "the body is not a JSON object, is nested too deep, or holds too many values");
  }
  const doubt = hasRepeatedNames(root) ? "a name appears twice in one object" : ambiguityInA2a(text, method, root);
  if (doubt !== undefined) return refused(shape, doubt);
  return {
    kind: "read",
    request: {
      shape,
      calls,
      asksForPush: asksForPush(text, method, root),
      texts() {
        const collector = new TextCollector(text);
        readA2aParams(collector, text, true, root);
        const all = withMirroredHeaders(text, [], collector.toTexts(), {});
        return { ...all, endIndexes: [all.texts.length] };
      },
    },
  };
}

/** Returns whether a text that the parser with positions could not read is JSON-RPC. */
function isRpcText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    const messages: readonly unknown[] = Array.isArray(value) ? value : [value];
    return messages.some((one) => typeof one === "object" && one !== null && "jsonrpc" in one && one.jsonrpc === "2.0");
  } catch {
    return false;
  }
}
