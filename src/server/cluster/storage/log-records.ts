/**
 * Records of the log database. Integers are big endian; each record ends with the CRC-32 of everything before it, since LevelDB
 * returns flipped bits silently. Keys are bytes, too:
 *
 *     l + u64 index   u8 format | u8 kind | u64 term | u64 index | 16-byte chain | u32 length | data | u32 crc32
 *     h               u8 format | u64 term | u64 commit | u16 length or 0xffff | vote | u32 crc32
 *     t               u8 format | u64 sequence | base | last | u32 crc32; a position is u64 index | u64 term | chain
 *     s               u8 format | JSON of the snapshot record | u32 crc32
 *     g               u8 format | u64 generation | u32 crc32
 *     m/...           text
 *
 * The chain of an entry is the first 16 bytes of SHA-256(chain before | term | index | kind | data), so the last one identifies
 * the whole log. `t` contains the beginning and end of the log; it is part of every synced batch, so that a lost batch is
 * detected. Source: cluster reference, sections 3.2 and 3.3.
 */

import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Configuration, Entry, EntryKind, HardState, NodeId } from "../../core/raft/index.ts";
import type { SnapshotRecord } from "./types.ts";

/** Error for a record that was altered. The message says which and how; the reader adds the directory. */
export class BadRecord extends Error {}

/** Position in the log: an index, with the chain up to and including it. */
export interface Position {
  readonly index: number;
  readonly term: number;
  /** Chain of 16 bytes. */
  readonly chain: Uint8Array;
}

export interface Tail {
  /** Number of synced batches. */
  readonly sequence: number;
  /** Last position that is no longer in the log. */
  readonly base: Position;
  /** Last position of the log; `base` if it is empty. */
  readonly last: Position;
}

export const CHAIN_BYTES = 16;
const FORMAT = 1;
const KINDS: readonly EntryKind[] = ["normal", "conf-change"];
const ENTRY_HEAD_BYTES = 1 + 1 + 8 + 8 + CHAIN_BYTES + 4;
/** Size of an entry's record beyond its data. */
export const RECORD_OVERHEAD_BYTES = ENTRY_HEAD_BYTES + 4;
const POSITION_BYTES = 8 + 8 + CHAIN_BYTES;
const NO_VOTE = 0xffff;

/** Returns the position before the first entry. After an installed snapshot the chain begins again. */
export function origin(index: number, term: number): Position {
  return { index, term, chain: new Uint8Array(CHAIN_BYTES) };
}

export function chainAfter(before: Uint8Array, entry: Entry): Uint8Array {
  // Only one buffer is allocated, because every entry is hashed at a start.
  const text = Buffer.allocUnsafe(CHAIN_BYTES + 17 + entry.data.length);
  text.set(before, 0);
  writeU64(text, entry.term, CHAIN_BYTES);
  writeU64(text, entry.index, CHAIN_BYTES + 8);
  text[CHAIN_BYTES + 16] = KINDS.indexOf(entry.kind);
  text.set(entry.data, CHAIN_BYTES + 17);
  return hash("sha256", text, "buffer").subarray(0, CHAIN_BYTES);
}

export function entryKey(index: number): Uint8Array {
  const key = Buffer.allocUnsafe(9);
  key[0] = 0x6c;
  writeU64(key, index, 1);
  return key;
}

export function indexOfKey(key: Uint8Array): number {
  if (key.length !== 9) throw new BadRecord("a key of the log is malformed");
  return readU64(Buffer.from(key.buffer, key.byteOffset, key.byteLength), 1);
}

/** Returns the size of an entry's record, in bytes. */
export function entryBytes(entry: Entry): number {
  return ENTRY_HEAD_BYTES + entry.data.length + 4;
}

export function encodeEntry(entry: Entry, chain: Uint8Array): Uint8Array {
  const record = Buffer.allocUnsafe(entryBytes(entry));
  record[0] = FORMAT;
  record[1] = KINDS.indexOf(entry.kind);
  writeU64(record, entry.term, 2);
  writeU64(record, entry.index, 10);
  record.set(chain, 18);
  record.writeUInt32BE(entry.data.length, 18 + CHAIN_BYTES);
  record.set(entry.data, ENTRY_HEAD_BYTES);
  return seal(record);
}

export interface StoredEntry {
  readonly entry: Entry;
  readonly chain: Uint8Array;
}

/** Decodes an entry. `data` and `chain` are views of `bytes`. */
export function decodeEntry(bytes: Uint8Array, index: number): StoredEntry {
  const record = unseal(bytes, `entry ${index}`, ENTRY_HEAD_BYTES);
  const kind = KINDS[record[1] ?? 255];
  const length = record.readUInt32BE(18 + CHAIN_BYTES);
  if (kind === undefined || readU64(record, 10) !== index || record.length !== ENTRY_HEAD_BYTES + length) {
    throw new BadRecord(`entry ${index} is malformed`);
  }
  return {
    entry: { index, term: readU64(record, 2), kind, data: record.subarray(ENTRY_HEAD_BYTES) },
    chain: record.subarray(18, 18 + CHAIN_BYTES),
  };
}

export function encodeHardState({ term, vote, commit }: HardState): Uint8Array {
  const name = vote === undefined ? Buffer.alloc(0) : Buffer.from(voteText(vote), "utf8");
  const record = Buffer.alloc(19 + name.length + 4);
  record[0] = FORMAT;
  writeU64(record, term, 1);
  writeU64(record, commit, 9);
  record.writeUInt16BE(vote === undefined ? NO_VOTE : name.length, 17);
  record.set(name, 19);
  return seal(record);
}

export function decodeHardState(bytes: Uint8Array): HardState {
  const record = unseal(bytes, "the hard state", 19);
  const length = record.readUInt16BE(17);
  if (record.length !== 19 + (length === NO_VOTE ? 0 : length)) throw new BadRecord("the hard state is malformed");
  const vote = length === NO_VOTE ? undefined : record.toString("utf8", 19);
  return { term: readU64(record, 1), vote, commit: readU64(record, 9) };
}

/** Returns the vote as text. Nodes with a disk have text ids. */
export function voteText(vote: NodeId): string {
  if (typeof vote !== "string") throw new TypeError("a stored vote is not a text");
  return vote;
}

export function encodeTail({ sequence, base, last }: Tail): Uint8Array {
  const record = Buffer.alloc(9 + 2 * POSITION_BYTES + 4);
  record[0] = FORMAT;
  writeU64(record, sequence, 1);
  writePosition(record, base, 9);
  writePosition(record, last, 9 + POSITION_BYTES);
  return seal(record);
}

export function decodeTail(bytes: Uint8Array): Tail {
  const record = unseal(bytes, "the bounds of the log", 9 + 2 * POSITION_BYTES);
  return {
    sequence: readU64(record, 1),
    base: readPosition(record, 9),
    last: readPosition(record, 9 + POSITION_BYTES),
  };
}

export function encodeGeneration(generation: number): Uint8Array {
  const record = Buffer.alloc(13);
  record[0] = FORMAT;
  writeU64(record, generation, 1);
  return seal(record);
}

export function decodeGeneration(bytes: Uint8Array): number {
  return readU64(unseal(bytes, "the state's generation", 9), 1);
}

export function encodeSnapshotRecord(snapshot: SnapshotRecord): Uint8Array {
  const { index, term, configuration, now, rows, digest, size, sha256 } = snapshot;
  const text = JSON.stringify({ index, term, configuration, now, rows, digest, size, sha256 });
  return seal(Buffer.concat([Uint8Array.of(FORMAT), Buffer.from(text, "utf8"), Buffer.alloc(4)]));
}

export function decodeSnapshotRecord(bytes: Uint8Array): SnapshotRecord {
  const record = unseal(bytes, "the snapshot's record", 1);
  let value: unknown;
  try {
    value = JSON.parse(record.toString("utf8", 1));
  } catch {
    value = undefined;
  }
  if (!isSnapshotRecord(value)) throw new BadRecord("the snapshot's record is malformed");
  return value;
}

function isSnapshotRecord(value: unknown): value is SnapshotRecord {
  if (!isObject(value)) return false;
  const isNumber = (name: string) => Number.isSafeInteger(value[name]);
  return (
    ["index", "term", "now", "rows", "size"].every(isNumber) &&
    typeof value.digest === "string" &&
    typeof value.sha256 === "string" &&
    isConfiguration(value.configuration)
  );
}

export function isConfiguration(value: unknown): value is Configuration {
  if (!isObject(value) || typeof value.autoLeave !== "boolean") return false;
  return ["voters", "votersOutgoing", "learners", "learnersNext"].every((name) => {
    const list = value[name];
    return Array.isArray(list) && list.every((id) => typeof id === "string");
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function writePosition(record: Buffer, { index, term, chain }: Position, at: number): void {
  writeU64(record, index, at);
  writeU64(record, term, at + 8);
  record.set(chain, at + 16);
}

function readPosition(record: Buffer, at: number): Position {
  return {
    index: readU64(record, at),
    term: readU64(record, at + 8),
    chain: record.subarray(at + 16, at + 16 + CHAIN_BYTES),
  };
}

export function writeU64(into: Buffer, value: number, at: number): void {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not an index, term or count`);
  into.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at);
  into.writeUInt32BE(value % 0x1_0000_0000, at + 4);
}

export function readU64(from: Buffer, at: number): number {
  const value = from.readUInt32BE(at) * 0x1_0000_0000 + from.readUInt32BE(at + 4);
  if (!Number.isSafeInteger(value)) throw new BadRecord("a number is out of range");
  return value;
}

/** Writes the checksum into the last four bytes. */
function seal(record: Buffer): Uint8Array {
  const end = record.length - 4;
  record.writeUInt32BE(crc32(record.subarray(0, end)), end);
  return record;
}

/** Returns the record without its checksum. `least`: minimum length that contains the fields. */
function unseal(bytes: Uint8Array, what: string, least: number): Buffer {
  const end = bytes.length - 4;
  if (end < least) throw new BadRecord(`${what} is too short`);
  const record = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (crc32(record.subarray(0, end)) !== record.readUInt32BE(end)) {
    throw new BadRecord(`${what} does not match its checksum`);
  }
  if (record[0] !== FORMAT) throw new BadRecord(`${what} has the unknown format ${record[0]}`);
  return record.subarray(0, end);
}
