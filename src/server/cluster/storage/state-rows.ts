/**
 * Rows of the state on disk: the key unchanged, the value after the CRC-32 of key, a zero byte and value, since LevelDB returns
 * flipped bits silently. `meta/applied` contains the position of the rows and their digest; it is written in the same batch as
 * the rows (separate batches caused etcd issue 13766). Source: cluster reference, section 3.2.
 */

import { crc32 } from "node:zlib";
import type { Applied, Mutation } from "../../core/state/index.ts";
import type { Operation } from "./database.ts";
import { BadRecord } from "./log-records.ts";

export interface Marker extends Applied {
  readonly digest: string;
}

export const MARKER = "meta/applied";
export const MARKER_KEY = Buffer.from(MARKER);
export const EMPTY_DIGEST = "0".repeat(32);

const ZERO = Uint8Array.of(0);

export function rowOperation({ key, value }: Mutation): Operation {
  if (key === MARKER) throw new Error(`${MARKER} is not a row of the state`);
  const keyBytes = Buffer.from(key, "latin1");
  return value === undefined
    ? { type: "del", key: keyBytes }
    : { type: "put", key: keyBytes, value: encodeValue(keyBytes, value) };
}

export function markerOperation({ index, term, now }: Applied, digest: string): Operation {
  const text = JSON.stringify({ index, term, now, digest });
  return { type: "put", key: MARKER_KEY, value: encodeValue(MARKER_KEY, text) };
}

export function decodeRow(key: Uint8Array, value: Uint8Array): readonly [key: string, value: string] {
  const name = asBuffer(key).toString("latin1");
  return [name, decodeValue(key, value, name)];
}

export function decodeMarker(value: Uint8Array): Marker {
  const text = decodeValue(MARKER_KEY, value, MARKER);
  const read: unknown = JSON.parse(text);
  if (typeof read === "object" && read !== null && "digest" in read) {
    const { index, term, now, digest } = read as Marker;
    if ([index, term, now].every(Number.isSafeInteger) && typeof digest === "string")
      return { index, term, now, digest };
  }
  throw new BadRecord(`the row ${MARKER} is malformed`);
}

function encodeValue(key: Uint8Array, value: string): Uint8Array {
  const bytes = Buffer.alloc(4 + Buffer.byteLength(value));
  bytes.write(value, 4, "utf8");
  bytes.writeUInt32BE(checksum(key, bytes.subarray(4)), 0);
  return bytes;
}

/** Checks and decodes a value. Keys of rows contain no secret content, so errors may name them. */
function decodeValue(key: Uint8Array, value: Uint8Array, name: string): string {
  const bytes = asBuffer(value);
  if (bytes.length < 4 || bytes.readUInt32BE(0) !== checksum(key, bytes.subarray(4))) {
    throw new BadRecord(`the row ${name.slice(0, 100)} does not match its checksum`);
  }
  return bytes.toString("utf8", 4);
}

function checksum(key: Uint8Array, value: Uint8Array): number {
  return crc32(value, crc32(ZERO, crc32(key)));
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
