/** Parses the file of witnessed heads, and a key of the command line. Source: specification document 1. */

import { thumbprintOf } from "../audit-record.ts";
import type { WitnessedHead } from "./types.ts";

const MAX_HEADS = 100_000;

const HASH = /^[A-Za-z0-9_-]{43}$/;

/** Parses the file of witnessed heads. Throws an error whose message says what is wrong with `text`. */
export function parseHeads(text: string): readonly WitnessedHead[] {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    throw new Error("it is not JSON");
  }
  // The admin API answers with the array in `items`.
  if (typeof value === "object" && value !== null && "items" in value) value = value.items;
  if (!Array.isArray(value)) throw new Error("it is not a JSON array of {node, kid, seq, hash}");
  if (value.length > MAX_HEADS) throw new Error(`it has more than ${MAX_HEADS} heads`);
  return value.map(parseHead);
}

function parseHead(value: unknown, index: number): WitnessedHead {
  const { node, kid, seq, hash } = (typeof value === "object" && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  if (typeof node === "string" && isHash(kid) && typeof seq === "number" && Number.isSafeInteger(seq) && seq >= 0) {
    if (isHash(hash)) return { node, kid, seq, hash };
  }
  throw new Error(`its entry ${index} is not {node, kid, seq, hash} of a record`);
}

function isHash(value: unknown): value is string {
  return typeof value === "string" && HASH.test(value);
}

/** Parses `KID=BASE64`, in either alphabet of base64. Throws an error whose message says what is wrong. */
export function parseChainKey(text: string): { readonly kid: string; readonly raw: Uint8Array } {
  const at = text.indexOf("=");
  const kid = text.slice(0, Math.max(at, 0));
  const base64 = text.slice(at + 1);
  if (!HASH.test(kid)) throw new Error("it is not KID=BASE64");
  const raw = Buffer.from(base64, "base64");
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(base64) || raw.length !== 32)
    throw new Error("the key is not 32 bytes in base64");
  if (thumbprintOf(raw) !== kid) throw new Error(`the key's thumbprint is ${thumbprintOf(raw)}, and not ${kid}`);
  return { kid, raw };
}
