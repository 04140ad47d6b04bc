/**
 * Consensus messages on the wire. Source: cluster reference, section 4.1, with the parts it leaves open. Big-endian:
 *
 *     u8 type | u64 term | u16 length, from | u16 length, to | u64 logTerm | u64 index | u64 commit
 *     u8 flags: 1 reject, 2 transfer, 4 a context follows, 8 a snapshot follows
 *     u64 hintIndex | u64 hintTerm | u16 length, context | u32 count, entries | snapshot
 *     entry: u8 kind (0 normal, 1 conf-change) | u64 term | u64 index | u32 length, data
 *     snapshot, where flagged: u64 index | u64 term | u32 length, configuration as JSON
 *
 * A batch is `u32 count | count x (u32 length, message)`.
 */

import type { Configuration, Entry, Message, MessageType, NodeId, SnapshotMeta } from "../../core/raft/index.ts";
import { type ByteReader, isRecord, readBytes, writeBytes } from "./bytes.ts";
import { WireError } from "./wire-error.ts";

/** Message types. The position is the number on the wire, so types may only be appended. */
const TYPES: readonly MessageType[] = [
  "MsgApp",
  "MsgAppResp",
  "MsgVote",
  "MsgVoteResp",
  "MsgPreVote",
  "MsgPreVoteResp",
  "MsgHeartbeat",
  "MsgHeartbeatResp",
  "MsgSnap",
  "MsgTimeoutNow",
  "MsgReadIndex",
  "MsgReadIndexResp",
];

const REJECT = 1;
const TRANSFER = 2;
const CONTEXT = 4;
const SNAPSHOT = 8;

const FIXED_BYTES = 1 + 8 + 2 + 2 + 8 + 8 + 8 + 1 + 8 + 8 + 2 + 4;
const ENTRY_BYTES = 1 + 8 + 8 + 4;

/** Maximum length of an id in UTF-16 code units, the same as in the node file. */
const MAX_ID_LENGTH = 128;
/** Maximum members of a list, far more than any cluster has. A longer list is refused before it is read. */
const MAX_MEMBERS = 1_000;

const NO_BYTES = new Uint8Array(0);

/**
 * Returns the bytes that the entries of a message take on the wire. Its other fields, except a snapshot's, take some hundreds.
 */
export function entriesBytes({ entries }: Message): number {
  return entries.reduce((sum, { data }) => sum + ENTRY_BYTES + data.length, 0);
}

/** Encodes a message. Throws `RangeError` for ids that are not texts and for values that do not fit. */
export function encodeMessage(message: Message): Buffer {
  const { entries, snapshot } = message;
  const from = encodeId(message.from);
  const to = encodeId(message.to);
  const context = message.context ?? NO_BYTES;
  const configuration =
    snapshot === undefined ? NO_BYTES : Buffer.from(JSON.stringify(ordered(snapshot.configuration)), "utf8");
  const snapshotBytes = snapshot === undefined ? 0 : 20 + configuration.length;
  const buffer = Buffer.allocUnsafe(
    FIXED_BYTES + from.length + to.length + context.length + entriesBytes(message) + snapshotBytes,
  );
  const out = writeBytes(buffer);
  out.u8(TYPES.indexOf(message.type));
  out.u64(message.term);
  out.u16(from.length);
  out.bytes(from);
  out.u16(to.length);
  out.bytes(to);
  out.u64(message.logTerm);
  out.u64(message.index);
  out.u64(message.commit);
  out.u8(
    (message.reject ? REJECT : 0) |
      (message.transfer ? TRANSFER : 0) |
      (message.context === undefined ? 0 : CONTEXT) |
      (snapshot === undefined ? 0 : SNAPSHOT),
  );
  out.u64(message.hintIndex);
  out.u64(message.hintTerm);
  out.u16(context.length);
  out.bytes(context);
  out.u32(entries.length);
  for (const entry of entries) {
    out.u8(entry.kind === "normal" ? 0 : 1);
    out.u64(entry.term);
    out.u64(entry.index);
    out.u32(entry.data.length);
    out.bytes(entry.data);
  }
  if (snapshot !== undefined) {
    out.u64(snapshot.index);
    out.u64(snapshot.term);
    out.u32(configuration.length);
    out.bytes(configuration);
  }
  return buffer;
}

/** Decodes a message, which shares no memory with `payload`. Throws `WireError`. */
export function decodeMessage(payload: Uint8Array): Message {
  // One copy for all entries: a message outlives the buffer that the socket read into.
  const source = readBytes(Buffer.from(payload));
  const message = readMessage(source);
  source.end();
  return message;
}

export function encodeBatch(messages: readonly Uint8Array[]): Buffer {
  const buffer = Buffer.allocUnsafe(messages.reduce((sum, { length }) => sum + 4 + length, 4));
  const out = writeBytes(buffer);
  out.u32(messages.length);
  for (const message of messages) {
    out.u32(message.length);
    out.bytes(message);
  }
  return buffer;
}

/** Decodes a batch. Throws `WireError`. */
export function decodeBatch(payload: Uint8Array): readonly Message[] {
  const source = readBytes(payload);
  const count = source.u32();
  if (count * (4 + FIXED_BYTES) > source.remaining) throw new WireError(`a batch of ${count} messages is cut off`);
  const messages: Message[] = [];
  for (let n = 0; n < count; n++) messages.push(decodeMessage(source.bytes(source.u32())));
  source.end();
  return messages;
}

function readMessage(source: ByteReader): Message {
  const type = TYPES[source.u8()];
  if (type === undefined) throw new WireError("a message of unknown type");
  const term = source.u64();
  const from = readId(source);
  const to = readId(source);
  const logTerm = source.u64();
  const index = source.u64();
  const commit = source.u64();
  const flags = source.u8();
  if (flags > (REJECT | TRANSFER | CONTEXT | SNAPSHOT)) throw new WireError(`a message with unknown flags ${flags}`);
  const hintIndex = source.u64();
  const hintTerm = source.u64();
  const context = source.bytes(source.u16());
  if ((flags & CONTEXT) === 0 && context.length > 0) throw new WireError("a context without its flag");
  const entries = readEntries(source);
  const snapshot = (flags & SNAPSHOT) === 0 ? undefined : readSnapshot(source);
  if ((type === "MsgSnap") !== (snapshot !== undefined))
    throw new WireError("a snapshot where none is expected, or a missing one");
  return {
    type,
    from,
    to,
    term,
    logTerm,
    index,
    commit,
    reject: (flags & REJECT) !== 0,
    transfer: (flags & TRANSFER) !== 0,
    hintIndex,
    hintTerm,
    context: (flags & CONTEXT) === 0 ? undefined : context,
    entries,
    snapshot,
  };
}

function readEntries(source: ByteReader): readonly Entry[] {
  const count = source.u32();
  if (count * ENTRY_BYTES > source.remaining) throw new WireError(`a list of ${count} entries is cut off`);
  const entries: Entry[] = [];
  for (let n = 0; n < count; n++) {
    const kind = source.u8();
    if (kind > 1) throw new WireError(`an entry of unknown kind ${kind}`);
    const term = source.u64();
    const index = source.u64();
    entries.push({ index, term, kind: kind === 0 ? "normal" : "conf-change", data: source.bytes(source.u32()) });
  }
  return entries;
}

function readSnapshot(source: ByteReader): SnapshotMeta {
  const index = source.u64();
  const term = source.u64();
  return { index, term, configuration: parseConfiguration(source.json(source.u32())) };
}

/** Parses a configuration. Throws `WireError`. */
export function parseConfiguration(value: unknown): Configuration {
  if (!isRecord(value) || typeof value["autoLeave"] !== "boolean" || Object.keys(value).length !== 5) {
    throw new WireError("a configuration without its five members");
  }
  return {
    voters: parseIds(value["voters"]),
    votersOutgoing: parseIds(value["votersOutgoing"]),
    learners: parseIds(value["learners"]),
    learnersNext: parseIds(value["learnersNext"]),
    autoLeave: value["autoLeave"],
  };
}

function parseIds(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length > MAX_MEMBERS) throw new WireError("a configuration's list is not one");
  const ids = value.map((id: unknown) => {
    if (typeof id !== "string" || id === "" || id.length > MAX_ID_LENGTH) throw new WireError("an id is not a text");
    return id;
  });
  if (new Set(ids).size !== ids.length) throw new WireError("a configuration names a member twice");
  return ids;
}

function ordered({ voters, votersOutgoing, learners, learnersNext, autoLeave }: Configuration): Configuration {
  return { voters, votersOutgoing, learners, learnersNext, autoLeave };
}

function encodeId(id: NodeId): Buffer {
  if (typeof id !== "string" || id === "" || id.length > MAX_ID_LENGTH) {
    throw new RangeError(`${JSON.stringify(id)} is not an id that can be sent`);
  }
  return Buffer.from(id, "utf8");
}

function readId(source: ByteReader): string {
  const id = source.text(source.u16());
  if (id === "" || id.length > MAX_ID_LENGTH) throw new WireError("an id is empty or too long");
  return id;
}
