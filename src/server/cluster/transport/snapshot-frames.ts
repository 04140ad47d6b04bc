/**
 * Frames of a snapshot transfer, which has a separate connection so that it delays no heartbeat. Source: cluster reference,
 * sections 2.9 and 4.1.
 *
 *     snap_chunk, first:  u8 0 | u32 length, MsgSnap | record as JSON
 *     snap_chunk, others: u8 1 | u64 offset | u32 crc32 | up to 256 KiB
 *     snap_ack:           JSON: {"kind":"continue","offset":n} | {"kind":"done"} | {"kind":"refused","code":"..."}
 *
 * The first frame is answered with the offset to continue from; each chunk is acknowledged, so that at most eight are in flight.
 */

import { crc32 } from "node:zlib";
import type { Message } from "../../core/raft/index.ts";
import type { SnapshotRecord } from "../storage/types.ts";
import {
  decodeMessage,
  encodeFrame,
  encodeJson,
  encodeMessage,
  isRecord,
  KIND,
  parseConfiguration,
  readBytes,
  WireError,
  writeBytes,
} from "../wire/index.ts";

export const CHUNK_BYTES = 256 * 1024;
export const WINDOW_CHUNKS = 8;
export const MAX_SNAPSHOT_BYTES = 4 * 1024 ** 3;

export type SnapshotFrame =
  | { readonly kind: "announce"; readonly message: Message; readonly record: SnapshotRecord }
  | { readonly kind: "chunk"; readonly offset: number; readonly isIntact: boolean; readonly bytes: Buffer };

export type SnapshotAck =
  | { readonly kind: "continue"; readonly offset: number }
  | { readonly kind: "done" }
  | { readonly kind: "refused"; readonly code: string };

export function encodeAnnounce(message: Message, record: SnapshotRecord): Buffer {
  const encoded = encodeMessage(message);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(encoded.length, 1);
  return encodeFrame({ kind: KIND.snapChunk }, head, encoded, encodeJson(record));
}

export function encodeChunk(offset: number, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(13);
  const out = writeBytes(head);
  out.u8(1);
  out.u64(offset);
  out.u32(crc32(bytes));
  return encodeFrame({ kind: KIND.snapChunk }, head, bytes);
}

export function encodeAck(ack: SnapshotAck): Buffer {
  return encodeFrame({ kind: KIND.snapAck }, encodeJson(ack));
}

/** Decodes a snapshot frame. Throws `WireError`. */
export function decodeSnapshotFrame(payload: Uint8Array): SnapshotFrame {
  const source = readBytes(payload);
  const part = source.u8();
  if (part === 0) {
    const message = decodeMessage(source.bytes(source.u32()));
    const record = parseRecord(source.json(source.remaining));
    const { snapshot } = message;
    if (snapshot === undefined || snapshot.index !== record.index || snapshot.term !== record.term) {
      throw new WireError("a snapshot's message and record differ");
    }
    return { kind: "announce", message, record };
  }
  if (part !== 1) throw new WireError("a part of a snapshot of unknown kind");
  const offset = source.u64();
  const sum = source.u32();
  const bytes = source.bytes(source.remaining);
  if (bytes.length === 0 || bytes.length > CHUNK_BYTES) throw new WireError("a chunk that is empty or too long");
  return { kind: "chunk", offset, isIntact: crc32(bytes) === sum, bytes };
}

/** Decodes an acknowledgment. Throws `WireError`. */
export function decodeAck(payload: Uint8Array): SnapshotAck {
  const value = readBytes(payload).json(payload.length);
  if (isRecord(value)) {
    const { kind, offset, code } = value;
    if (kind === "done") return { kind };
    if (kind === "continue" && isNatural(offset)) return { kind, offset };
    if (kind === "refused" && typeof code === "string" && /^[a-z_]{1,64}$/.test(code)) return { kind, code };
  }
  throw new WireError("an invalid answer to a snapshot");
}

function parseRecord(value: unknown): SnapshotRecord {
  if (!isRecord(value)) throw new WireError("a snapshot's record is not an object");
  const { index, term, configuration, now, rows, digest, size, sha256 } = value;
  if (
    !isNatural(index) ||
    !isNatural(term) ||
    !isNatural(rows) ||
    !isNatural(size) ||
    typeof now !== "number" ||
    !Number.isFinite(now) ||
    typeof digest !== "string" ||
    digest.length > 256 ||
    typeof sha256 !== "string" ||
    !/^[0-9a-f]{64}$/.test(sha256)
  ) {
    throw new WireError("a snapshot's record lacks a member");
  }
  return { index, term, configuration: parseConfiguration(configuration), now, rows, digest, size, sha256 };
}

function isNatural(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
