/**
 * Format of a snapshot (`state.bin`): `"GWSTATE1"`, then per row `u32 keyLen | key | u32 valLen | value` in key order, then
 * `0xffffffff | u64 rows | 16-byte digest`; big endian. Equal states give equal bytes.
 *
 * The decoder takes chunks cut anywhere, buffers at most one unfinished record, and refuses anything that the encoder does not
 * write: order, limits, count and digest are checked. Source: cluster reference, 6.4.
 */

import { Buffer } from "node:buffer";
import { createRowDigest } from "./rows-digest.ts";

const MAX_KEY_BYTES = 512;
export const MAX_VALUE_BYTES = 8 * 1_048_576;

const MAGIC = Buffer.from("GWSTATE1", "latin1");
const END_MARK = 0xffff_ffff;
/** Length of the trailer after the mark: `u64 rows | 16-byte digest`. */
const TRAILER_BYTES = 24;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The bytes are not a complete state file. The message contains no row's content. */
export class StateFormatError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StateFormatError";
  }
}

interface StateSummary {
  readonly rows: number;
  /** Digest as 32 hex digits. */
  readonly digest: string;
}

interface StateEncoder {
  header(): Uint8Array;
  /** Encodes a row; rows must be in key order. Throws `StateFormatError` if they are not, or if a limit is exceeded. */
  row(key: string, value: string): Uint8Array;
  end(): Uint8Array;
  /** Summary of the rows so far. */
  readonly summary: StateSummary;
}

interface StateDecoder {
  /** Returns the rows that `chunk` completes. Throws `StateFormatError`; do not use the decoder after that. */
  push(chunk: Uint8Array): readonly (readonly [key: string, value: string])[];
  /** Ends decoding. Throws `StateFormatError` unless everything up to the trailer was read and matches it. */
  end(): StateSummary;
}

interface DecodedRow {
  readonly key: string;
  readonly value: string;
  /** Offset of the next record. */
  readonly next: number;
}

const isKey = (key: string): boolean => /^[\x21-\x7e]+$/.test(key) && key.length <= MAX_KEY_BYTES;

export function createStateEncoder(): StateEncoder {
  const digest = createRowDigest();
  let rows = 0;
  let last = "";
  return {
    get summary() {
      return { rows, digest: digest.hex() };
    },
    header: () => new Uint8Array(MAGIC),
    row(key, value) {
      if (!isKey(key) || key <= last) throw new StateFormatError("a row's key is malformed or out of order");
      const valueBytes = Buffer.byteLength(value);
      if (valueBytes > MAX_VALUE_BYTES) throw new StateFormatError(`a value is longer than ${MAX_VALUE_BYTES} bytes`);
      const record = Buffer.alloc(8 + key.length + valueBytes);
      record.writeUInt32BE(key.length, 0);
      record.write(key, 4, "latin1");
      record.writeUInt32BE(valueBytes, 4 + key.length);
      record.write(value, 8 + key.length, "utf8");
      digest.toggle(key, value);
      rows += 1;
      last = key;
      return record;
    },
    end() {
      const trailer = Buffer.alloc(4 + TRAILER_BYTES);
      trailer.writeUInt32BE(END_MARK, 0);
      trailer.writeBigUInt64BE(BigInt(rows), 4);
      trailer.write(digest.hex(), 12, "hex");
      return trailer;
    },
  };
}

export function createStateDecoder(): StateDecoder {
  const digest = createRowDigest();
  /** Bytes of the unfinished record, which needs `wanted` bytes before it can be parsed. */
  let held: Buffer[] = [];
  let heldBytes = 0;
  let wanted = MAGIC.length;
  let isBegun = false;
  let last = "";
  let rows = 0;
  let summary: StateSummary | undefined;

  /** Returns the record at `at`, or the minimum number of bytes that it needs from there. */
  function recordAt(bytes: Buffer, at: number): DecodedRow | number {
    const left = bytes.length - at;
    if (left < 4) return 4;
    const keyBytes = bytes.readUInt32BE(at);
    if (keyBytes === END_MARK) return readTrailer(bytes, at);
    if (keyBytes === 0 || keyBytes > MAX_KEY_BYTES) throw new StateFormatError("the length of a key is out of range");
    const valueAt = at + 8 + keyBytes;
    if (bytes.length < valueAt) return valueAt - at;
    const valueBytes = bytes.readUInt32BE(valueAt - 4);
    if (valueBytes > MAX_VALUE_BYTES) throw new StateFormatError("the length of a value is out of range");
    const next = valueAt + valueBytes;
    if (bytes.length < next) return next - at;

    const key = bytes.toString("latin1", at + 4, valueAt - 4);
    if (!isKey(key) || key <= last) throw new StateFormatError("a row's key is malformed or out of order");
    try {
      return { key, value: utf8.decode(bytes.subarray(valueAt, next)), next };
    } catch {
      throw new StateFormatError("a row's value is not UTF-8");
    }
  }

  function readTrailer(bytes: Buffer, at: number): number {
    const end = at + 4 + TRAILER_BYTES;
    if (bytes.length < end) return end - at;
    if (bytes.length > end) throw new StateFormatError("bytes follow the end of the state");
    const statedDigest = bytes.toString("hex", end - 16, end);
    if (bytes.readBigUInt64BE(at + 4) !== BigInt(rows)) {
      throw new StateFormatError("the number of rows is not the stated one");
    }
    if (statedDigest !== digest.hex()) throw new StateFormatError("the digest of the rows is not the stated one");
    summary = { rows, digest: statedDigest };
    return Number.POSITIVE_INFINITY;
  }

  function begin(bytes: Buffer): number {
    if (isBegun) return 0;
    if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new StateFormatError("this is not a state file");
    isBegun = true;
    return MAGIC.length;
  }

  return {
    push(chunk) {
      if (chunk.length === 0) return [];
      if (summary !== undefined) throw new StateFormatError("bytes follow the end of the state");
      const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      heldBytes += piece.length;
      if (heldBytes < wanted) {
        held.push(Buffer.from(piece));
        return [];
      }
      const bytes = held.length === 0 ? piece : Buffer.concat([...held, piece]);
      const found: (readonly [string, string])[] = [];
      let at = begin(bytes);
      let record = recordAt(bytes, at);
      for (; typeof record !== "number"; record = recordAt(bytes, at)) {
        digest.toggle(record.key, record.value);
        rows += 1;
        last = record.key;
        at = record.next;
        found.push([record.key, record.value]);
      }
      wanted = record;
      // The rest is copied, since the caller may reuse its chunk.
      held = [Buffer.from(bytes.subarray(at))];
      heldBytes = bytes.length - at;
      return found;
    },
    end() {
      if (summary === undefined) throw new StateFormatError("the state ends early");
      return summary;
    },
  };
}
