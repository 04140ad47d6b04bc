/**
 * Checks the tables of a LevelDB database block by block before LevelDB reads them. LevelDB checks a block only if its reader
 * asks for that, which no binding for Node.js can do. And a key that a flipped bit made too short fails an assertion that ends
 * the process, so an operator would see only that line at each start.
 *
 * A file without the footer of a table is left to LevelDB: a crash leaves unfinished files, which do not belong to the database.
 *
 * Source: LevelDB, doc/table_format.md; blocks and indexes may be compressed, snappy's format_description.txt.
 */

import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../storage-error.ts";

/** Size of the footer: two padded handles and the magic number. */
const FOOTER_BYTES = 48;
const MAGIC = 0xdb4775248b80fb57n;
/** Size of a block's trailer: one byte of compression type, then the masked CRC-32C of block and type. */
const TRAILER_BYTES = 5;
const SNAPPY = 1;
/** Maximum size of a block. Data blocks have 4 KiB, or one key and value; an index has about twenty bytes per block. */
const MAX_BLOCK_BYTES = 256 << 20;

interface BlockHandle {
  readonly offset: number;
  readonly size: number;
}

/** Describes a fault of the tables below `location`, or returns `undefined`. Rejects with the system's error of a file. */
export async function findTableFault(location: string, signal?: AbortSignal): Promise<string | undefined> {
  for (const name of (await listNames(location)).filter((each) => /\.(?:ldb|sst)$/.test(each))) {
    signal?.throwIfAborted();
    const file = await openIfPresent(join(location, name));
    if (file === undefined) continue;
    try {
      const fault = await findFault(file);
      if (fault !== undefined) return `the table ${name} ${fault}`;
    } finally {
      await file.close();
    }
  }
  return undefined;
}

async function findFault(file: FileHandle): Promise<string | undefined> {
  const { size } = await file.stat();
  if (size < FOOTER_BYTES) return undefined;
  const footer = await bytesAt(file, { offset: size - FOOTER_BYTES, size: FOOTER_BYTES });
  if (footer?.readBigUInt64LE(FOOTER_BYTES - 8) !== MAGIC) return undefined;
  const reader = { at: 0 };
  // The first handle refers to metadata, which is checked too: a damaged filter hides existing keys.
  for (const index of [handleIn(footer, reader), handleIn(footer, reader)]) {
    const isRead = index !== undefined && (await isSound(file, index, size));
    const blocks = isRead ? await blocksOf(file, index) : undefined;
    if (blocks === undefined) return "has a damaged index";
    for (const block of blocks) {
      if (!(await isSound(file, block, size))) return `has a damaged block at byte ${block.offset}`;
    }
  }
  return undefined;
}

async function isSound(file: FileHandle, { offset, size }: BlockHandle, fileBytes: number): Promise<boolean> {
  if (size > MAX_BLOCK_BYTES || offset + size + TRAILER_BYTES > fileBytes) return false;
  const bytes = await bytesAt(file, { offset, size: size + TRAILER_BYTES });
  if (bytes === undefined) return false;
  return bytes.readUInt32LE(size + 1) === maskChecksum(crc32c(bytes.subarray(0, size + 1)));
}

/** Returns the handles in an index, a block whose trailer has been checked. */
async function blocksOf(file: FileHandle, { offset, size }: BlockHandle): Promise<readonly BlockHandle[] | undefined> {
  const stored = await bytesAt(file, { offset, size: size + 1 });
  if (stored === undefined) return undefined;
  const block = stored[size] === SNAPPY ? decompressSnappy(stored.subarray(0, size)) : stored.subarray(0, size);
  if (block === undefined || block.length < 4) return undefined;
  const end = block.length - 4 - 4 * block.readUInt32LE(block.length - 4);
  const handles: BlockHandle[] = [];
  const reader = { at: 0 };
  while (reader.at < end) {
    varint(block, reader); // skips the number of bytes that the key shares with the previous key
    const keyBytes = varint(block, reader);
    const valueBytes = varint(block, reader);
    if (keyBytes === undefined || valueBytes === undefined) return undefined;
    const next = reader.at + keyBytes + valueBytes;
    reader.at += keyBytes;
    const handle = handleIn(block, reader);
    if (handle === undefined || next > end) return undefined;
    handles.push(handle);
    reader.at = next;
  }
  return handles;
}

/** Reads bytes; `undefined` if the file ends before. */
async function bytesAt(file: FileHandle, { offset, size }: BlockHandle): Promise<Buffer | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(size), 0, size, offset);
  return bytesRead === size ? buffer : undefined;
}

function handleIn(bytes: Buffer, reader: { at: number }): BlockHandle | undefined {
  const offset = varint(bytes, reader);
  const size = varint(bytes, reader);
  return offset === undefined || size === undefined ? undefined : { offset, size };
}

/** Reads seven bits per byte, lowest first. Returns `undefined` after the end, and beyond 2^49, which no file reaches. */
function varint(bytes: Buffer, reader: { at: number }): number | undefined {
  let value = 0;
  for (let factor = 1; factor <= 2 ** 42; factor *= 128) {
    const byte = bytes[reader.at];
    if (byte === undefined) return undefined;
    reader.at += 1;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
  }
  return undefined;
}

/** Decompresses a snappy block; `undefined` if it is malformed. */
function decompressSnappy(bytes: Buffer): Buffer | undefined {
  const reader = { at: 0 };
  const length = varint(bytes, reader);
  if (length === undefined || length > MAX_BLOCK_BYTES) return undefined;
  const block = Buffer.alloc(length);
  let made = 0;
  while (reader.at < bytes.length) {
    const tag = bytes[reader.at++] ?? 0;
    const kind = tag & 3;
    if (kind === 0) {
      const short = tag >> 2;
      const more = Math.max(0, short - 59);
      if (reader.at + more > bytes.length) return undefined;
      const count = 1 + (more === 0 ? short : bytes.readUIntLE(reader.at, more));
      reader.at += more;
      if (reader.at + count > bytes.length || made + count > length) return undefined;
      bytes.copy(block, made, reader.at, reader.at + count);
      reader.at += count;
      made += count;
      continue;
    }
    const width = kind === 3 ? 4 : kind;
    if (reader.at + width > bytes.length) return undefined;
    const low = bytes.readUIntLE(reader.at, width);
    const back = kind === 1 ? ((tag & 0xe0) << 3) | low : low;
    const count = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    reader.at += width;
    if (back === 0 || back > made || made + count > length) return undefined;
    // A copy may overlap the bytes that it writes.
    for (let at = 0; at < count; at += 1, made += 1) block[made] = block[made - back] as number;
  }
  return made === length ? block : undefined;
}

/** Table of CRC-32C (RFC 3720 appendix B.4). The CRC-32 of Node.js uses another polynomial. */
const CASTAGNOLI = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (CASTAGNOLI[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** Masks a checksum like LevelDB, since a checksum over bytes that contain checksums is weak. */
function maskChecksum(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

async function listNames(location: string): Promise<readonly string[]> {
  try {
    return (await readdir(location)).sort();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

async function openIfPresent(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
