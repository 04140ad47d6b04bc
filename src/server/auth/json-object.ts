/**
 * Parses untrusted JSON: valid UTF-8, one object, no repeated member, bounded depth.
 *
 * RFC 7519 section 4 lets a reader refuse a token with a repeated member; this one refuses it at every depth.
 */

import { findJsonFault } from "../../base/index.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** Maximum levels of nesting; claims of real issuers have three. */
const MAX_DEPTH = 16;

/** Parses a JSON object; `undefined` for anything else. */
export function parseJsonObject(bytes: Uint8Array): JsonObject | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && findJsonFault(text, MAX_DEPTH) === undefined ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns an own member; never one inherited from `Object.prototype`. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
