/**
 * Strict parser for the JSON-RPC envelope of a request. The bytes are forwarded unchanged, so anything that two parsers could
 * read differently is refused. Source: JSON-RPC 2.0; mcp reference, 8; a2a reference, 5; design decisions, section 7.
 */
import { isUtf8 } from "node:buffer";
import { type JsonMember, type JsonNode, mayBeReadAs, memberOf, parseJsonTree, stringIn } from "../dialects/index.ts";
import type { RpcFault } from "./types.ts";

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;

/** Maximum number of JSON values of a message; each takes about 100 bytes. */
export const MAX_VALUES = 200_000;
const MAX_METHOD_LENGTH = 256;
/** Maximum length of an id's JSON text. */
const MAX_ID_LENGTH = 1_024;
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;
export const MEMBERS = ["jsonrpc", "id", "method", "params"] as const;

export interface Envelope {
  /** Text of the whole message, in which all positions are offsets. */
  readonly text: string;
  readonly root: JsonNode;
  readonly method: string;
  /** JSON text of the id, as received. `undefined` if the message has none, or if it is null and ids are `lenient`. */
  readonly id: string | undefined;
  readonly params: JsonNode | undefined;
}

type EnvelopeReading =
  | { readonly kind: "envelope"; readonly envelope: Envelope }
  | { readonly kind: "refused"; readonly fault: RpcFault };

const refused = (code: number, message: string, id = "null"): EnvelopeReading => ({
  kind: "refused",
  fault: { status: 400, code, message, id },
});

/** Parses the body of a request. `ids` states whether `null` and fractions are valid ids. */
export function readEnvelope(body: Buffer, ids: "strict" | "lenient"): EnvelopeReading {
  if (!isUtf8(body)) return refused(PARSE_ERROR, "Parse error: the body is not UTF-8.");
  const text = body.toString("utf8");
  const root = parseJsonTree(text, MAX_VALUES);
  if (root === undefined) {
    return refused(PARSE_ERROR, "Parse error: the body is not JSON, is nested too deep, or holds too many values.");
  }
  if (root.kind === "array") return refused(INVALID_REQUEST, "Invalid request: batches are not part of this protocol.");
  return envelopeOf(text, root, ids);
}

/** Reads one message, which may be part of a longer text. */
export function envelopeOf(text: string, root: JsonNode, ids: "strict" | "lenient"): EnvelopeReading {
  if (root.kind !== "object") return refused(INVALID_REQUEST, "Invalid request: the body is not an object.");
  // Repeated or nearly equal names are refused before the values are read, because another parser might take a different
  // one.
  const id = idOf(text, memberOf(root, "id"), ids);
  const shown = id === "bad" || id === undefined ? "null" : id;
  const alias = findAlias(root, MEMBERS);
  if (alias !== undefined)
    return refused(INVALID_PARAMS, `Invalid params: a member is spelled almost like "${alias}".`, shown);
  if (hasRepeatedNames(root))
    return refused(INVALID_PARAMS, "Invalid params: a name appears twice in one object.", shown);
  if (id === "bad") return refused(INVALID_REQUEST, "Invalid request: `id` is neither a string nor an integer.");
  if (stringIn(text, memberOf(root, "jsonrpc")) !== "2.0") {
    return refused(INVALID_REQUEST, 'Invalid request: `jsonrpc` is not "2.0".', shown);
  }
  const method = stringIn(text, memberOf(root, "method"));
  if (method === undefined || method === "" || method.length > MAX_METHOD_LENGTH) {
    return refused(INVALID_REQUEST, "Invalid request: `method` is missing, empty or too long.");
  }
  return { kind: "envelope", envelope: { text, root, method, id, params: memberOf(root, "params") } };
}

function idOf(text: string, node: JsonNode | undefined, ids: "strict" | "lenient"): string | undefined | "bad" {
  if (node === undefined) return undefined;
  const written = text.slice(node.start, node.end);
  if (written.length > MAX_ID_LENGTH) return "bad";
  if (node.kind === "string" || (node.kind === "scalar" && INTEGER.test(written))) return written;
  if (ids === "strict" || node.kind !== "scalar" || written === "true" || written === "false") return "bad";
  return written === "null" ? undefined : written;
}

/**
 * Returns the name in `known` that a member of `node` almost equals: in another case, with more or fewer underscores, or with
 * letters that some parsers treat as equal.
 */
export function findAlias(node: JsonNode | undefined, known: readonly string[]): string | undefined {
  if (node?.kind !== "object") return undefined;
  for (const { name } of node.members) {
    if (known.includes(name)) continue;
    const plain = name.replaceAll("_", "");
    const alike = known.find((one) => mayBeReadAs(plain, one.replaceAll("_", "").toLowerCase()));
    if (alike !== undefined) return alike;
  }
  return undefined;
}

/** Returns whether any object in the tree has two members of the same name. */
export function hasRepeatedNames(root: JsonNode): boolean {
  if (root.kind === "array") return root.items.some(hasRepeatedNames);
  if (root.kind !== "object") return false;
  const { members } = root;
  return hasRepeatedName(members) || members.some(({ value }) => hasRepeatedNames(value));
}

/** Up to this number of members, comparing each pair is faster than a set. */
const MAX_PAIRWISE = 8;

function hasRepeatedName(members: readonly JsonMember[]): boolean {
  if (members.length > MAX_PAIRWISE) return new Set(members.map(({ name }) => name)).size < members.length;
  for (let at = 1; at < members.length; at++) {
    for (let before = 0; before < at; before++) if (members[before]?.name === members[at]?.name) return true;
  }
  return false;
}

/**
 * Returns whether a content type is JSON in UTF-8. With another character set the server would read other text than the
 * gateway.
 */
export function isJsonType(value = ""): boolean {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(value)?.[1];
  return /^\s*application\/json\s*(?:;|$)/i.test(value) && (charset === undefined || /^utf-?8$/i.test(charset));
}
