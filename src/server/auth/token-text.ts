/**
 * Parses a token before anything is believed or fetched. Source: RFC 7515 section 7.1 (compact serialization), RFC 7519 section
 * 7.2, RFC 8725 (best current practices).
 *
 * Parsing is strict: base64url must be canonical (unused bits of the last character are zero), members must not repeat,
 * critical extensions are refused, and keys in the header (`jwk`, `jku`, `x5u`, `x5c`) are ignored.
 */

import { type Algorithm, isAlgorithm } from "./algorithms.ts";
import { type JsonObject, member, parseJsonObject } from "./json-object.ts";

/** Maximum length in characters. Proxies refuse longer headers; a token with 200 groups has about 10,000. */
export const MAX_TOKEN_LENGTH = 16 << 10;

export interface TokenText {
  readonly kind: "read";
  readonly text: string;
  readonly algorithm: Algorithm;
  readonly kid: string | undefined;
  /** Claims whose signature has not been verified yet. */
  readonly claims: JsonObject;
}

type TokenReading = TokenText | { readonly kind: "refused"; readonly fault: "malformed" | "algorithm" };

const MALFORMED = { kind: "refused", fault: "malformed" } as const;

const FORM = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)$/;

export function readToken(text: string): TokenReading {
  if (text.length > MAX_TOKEN_LENGTH) return MALFORMED;
  const match = FORM.exec(text);
  if (match === null) return MALFORMED;
  const [, head = "", body = "", signature = ""] = match;
  const header = parsePart(head);
  if (header === undefined) return MALFORMED;
  const algorithm = member(header, "alg");
  if (!isAlgorithm(algorithm)) return { kind: "refused", fault: "algorithm" };
  const kid = member(header, "kid");
  if (kid !== undefined && typeof kid !== "string") return MALFORMED;
  if (Object.hasOwn(header, "crit") || Object.hasOwn(header, "b64") || !canNameCaller(member(header, "typ"))) {
    return MALFORMED;
  }
  const claims = parsePart(body);
  if (claims === undefined || signature === "" || decodePart(signature) === undefined) return MALFORMED;
  return { kind: "read", text, algorithm, kid, claims };
}

/**
 * Returns whether a token of this `typ` can name a caller. Issuers sign other things with the same keys, such as logout tokens,
 * and mark them with a name that ends in `+jwt` (RFC 8725 section 3.11). Of these, only access tokens (RFC 9068) name a caller;
 * ID tokens have no such name.
 */
function canNameCaller(type: unknown): boolean {
  if (type === undefined) return true;
  if (typeof type !== "string") return false;
  const name = type.toLowerCase().replace(/^application\//, "");
  return !name.endsWith("+jwt") || name === "at+jwt";
}

function parsePart(text: string): JsonObject | undefined {
  const bytes = decodePart(text);
  return bytes === undefined ? undefined : parseJsonObject(bytes);
}

/** Decodes base64url; `undefined` for a non-canonical encoding. */
function decodePart(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}
