/**
 * What a request or an answer consists of: `u32 length | header as JSON | body`. Source: cluster reference, section 4.
 *
 * A body of several frames follows its request as `restore_chunk`s, the last one a `restore_end` with the flag of a last
 * frame. The other side answers with `restore_chunk`s that hold, as a u64, how many bytes of the body it has read; at
 * most `WINDOW_BYTES` are ahead of that. Whoever asked gives up with an `error`.
 */

import { encodeFrame, encodeJson, KIND, readBytes, WireError, writeBytes } from "../wire/index.ts";
import type { RequestKind } from "./types.ts";

export const MAX_HEADER_BYTES = 64 * 1024;
export const MAX_BODY_BYTES = 2 * 1024 * 1024;
/** Of a streamed body. */
export const CHUNK_BYTES = 256 * 1024;
export const WINDOW_BYTES = 8 * CHUNK_BYTES;
/** Requests under way on one link. */
export const MAX_OUTSTANDING = 1_024;

const REQUEST_KINDS = {
  propose: KIND.propose,
  read_index: KIND.readIndex,
  join: KIND.join,
  rejoin: KIND.rejoin,
  prune: KIND.prune,
  status: KIND.status,
  restore_begin: KIND.restoreBegin,
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

/** Throws `RangeError` for what is too large, `TypeError` for a header that JSON cannot write. */
export function encodePayload(header: unknown, body: Uint8Array = NO_BYTES): readonly Uint8Array[] {
  if (header === undefined) throw new TypeError("a header is a JSON value");
  const text = encodeJson(header);
  if (text.length > MAX_HEADER_BYTES) throw new RangeError(`a header of ${text.length} bytes is over the limit`);
  if (body.length > MAX_BODY_BYTES) throw new RangeError(`a body of ${body.length} bytes is over the limit`);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return [length, text, body];
}

/** Throws `WireError`. */
export function decodePayload(payload: Uint8Array): { readonly header: unknown; readonly body: Uint8Array } {
  const source = readBytes(payload);
  const length = source.u32();
  if (length > MAX_HEADER_BYTES) throw new WireError(`a header of ${length} bytes`);
  const header = source.json(length);
  if (source.remaining > MAX_BODY_BYTES) throw new WireError(`a body of ${source.remaining} bytes`);
  return { header, body: source.bytes(source.remaining) };
}

export function encodeRead(id: number, bytesRead: number): Buffer {
  const count = Buffer.alloc(8);
  writeBytes(count).u64(bytesRead);
  return encodeFrame({ kind: KIND.restoreChunk, id }, count);
}

/** Throws `WireError`. */
export function decodeRead(payload: Uint8Array): number {
  const source = readBytes(payload);
  const bytesRead = source.u64();
  source.end();
  return bytesRead;
}
