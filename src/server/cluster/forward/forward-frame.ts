/**
 * Frame of a request or an answer: `u32 length | header as JSON | body`. The requester gives up with an `error` frame. Source:
 * cluster reference, section 4.
 */

import { encodeJson, KIND, readBytes, WireError } from "../wire/index.ts";
import type { RequestKind } from "./types.ts";

const MAX_HEADER_BYTES = 64 * 1024;
const MAX_BODY_BYTES = 2 * 1024 * 1024;
/** Maximum number of outstanding requests on one link. */
export const MAX_OUTSTANDING = 1_024;

const REQUEST_KINDS = {
  propose: KIND.propose,
  join: KIND.join,
  rejoin: KIND.rejoin,
  prune: KIND.prune,
  status: KIND.status,
} as const satisfies Record<RequestKind, number>;

const KIND_NAMES: ReadonlyMap<number, RequestKind> = new Map(
  (Object.keys(REQUEST_KINDS) as RequestKind[]).map((name) => [REQUEST_KINDS[name], name]),
);

export function kindNumber(name: RequestKind): number {
  return REQUEST_KINDS[name];
}

export function kindName(kind: number): RequestKind | undefined {
  return KIND_NAMES.get(kind);
}

const NO_BYTES = new Uint8Array(0);

/** Encodes a payload. Throws `RangeError` if it is too large, `TypeError` for a header that JSON cannot represent. */
export function encodePayload(header: unknown, body: Uint8Array = NO_BYTES): readonly Uint8Array[] {
  if (header === undefined) throw new TypeError("a header is a JSON value");
  const text = encodeJson(header);
  if (text.length > MAX_HEADER_BYTES) throw new RangeError(`a header of ${text.length} bytes is over the limit`);
  if (body.length > MAX_BODY_BYTES) throw new RangeError(`a body of ${body.length} bytes is over the limit`);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return [length, text, body];
}

/** Decodes a payload. Throws `WireError`. */
export function decodePayload(payload: Uint8Array): { readonly header: unknown; readonly body: Uint8Array } {
  const source = readBytes(payload);
  const length = source.u32();
  if (length > MAX_HEADER_BYTES) throw new WireError(`a header of ${length} bytes`);
  const header = source.json(length);
  if (source.remaining > MAX_BODY_BYTES) throw new WireError(`a body of ${source.remaining} bytes`);
  return { header, body: source.bytes(source.remaining) };
}
