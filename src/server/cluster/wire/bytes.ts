/**
 * Reads and writes fixed big-endian fields. A reader throws `WireError` for missing or invalid values, and never allocates more
 * than the available bytes for a stated length.
 */

import { WireError } from "./wire-error.ts";

const TEXT = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export interface ByteReader {
  readonly remaining: number;
  u8(): number;
  u16(): number;
  u32(): number;
  /** Reads a number of at most 2^53 - 1. */
  u64(): number;
  /** Returns a view of the source, not a copy. */
  bytes(length: number): Buffer;
  /** Reads UTF-8 text. */
  text(length: number): string;
  /** Reads UTF-8 JSON. */
  json(length: number): unknown;
  /** Ends reading; throws if bytes are left. */
  end(): void;
}

export function readBytes(source: Uint8Array): ByteReader {
  const buffer = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  let at = 0;
  const take = (length: number): number => {
    if (length > buffer.length - at) throw new WireError(`${length} bytes expected, ${buffer.length - at} are left`);
    const start = at;
    at += length;
    return start;
  };
  const reader: ByteReader = {
    get remaining() {
      return buffer.length - at;
    },
    u8: () => buffer.readUInt8(take(1)),
    u16: () => buffer.readUInt16BE(take(2)),
    u32: () => buffer.readUInt32BE(take(4)),
    u64() {
      const start = take(8);
      const value = buffer.readUInt32BE(start) * 2 ** 32 + buffer.readUInt32BE(start + 4);
      if (!Number.isSafeInteger(value)) throw new WireError("a number is larger than 2^53 - 1");
      return value;
    },
    bytes(length) {
      const start = take(length);
      return buffer.subarray(start, start + length);
    },
    text(length) {
      try {
        return TEXT.decode(reader.bytes(length));
      } catch (error) {
        throw error instanceof WireError ? error : new WireError("a text is not UTF-8");
      }
    },
    json(length) {
      const text = reader.text(length);
      try {
        return JSON.parse(text);
      } catch {
        throw new WireError("a part is not JSON");
      }
    },
    end() {
      if (at !== buffer.length) throw new WireError(`${buffer.length - at} bytes too many`);
    },
  };
  return reader;
}

interface ByteWriter {
  u8(value: number): void;
  u16(value: number): void;
  u32(value: number): void;
  u64(value: number): void;
  bytes(value: Uint8Array): void;
}

/** Writes into `buffer`, which must have exactly the needed length. Throws `RangeError` for a value that does not fit. */
export function writeBytes(buffer: Buffer): ByteWriter {
  let at = 0;
  return {
    u8(value) {
      at = buffer.writeUInt8(value, at);
    },
    u16(value) {
      at = buffer.writeUInt16BE(value, at);
    },
    u32(value) {
      at = buffer.writeUInt32BE(value, at);
    },
    u64(value) {
      if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not a safe integer`);
      at = buffer.writeUInt32BE(Math.floor(value / 2 ** 32), at);
      at = buffer.writeUInt32BE(value % 2 ** 32, at);
    },
    bytes(value) {
      buffer.set(value, at);
      at += value.length;
    },
  };
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
