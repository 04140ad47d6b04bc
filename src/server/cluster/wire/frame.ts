/**
 * Frames, the same on the raft and the forward listener. Source: cluster reference, section 4.1. Big-endian:
 *
 *     u32 length   bytes after this field, 12 .. 8,388,608
 *     u8  version  1
 *     u8  kind
 *     u16 flags    bit 0: last frame of the exchange; bit 1: reserved, never set
 *     u32 id       exchange, chosen by the side that began it; 0 for one-way frames
 *     u32 crc32    of the payload
 *     payload
 */

import { crc32 } from "node:zlib";
import { WireError } from "./wire-error.ts";

/**
 * Kinds of frames. The reference's 0x22 redirect, 0x23 read_index and 0x28 to 0x2a restore_* are not used: a result's header
 * names the leader, reads are confirmed over the raft connections, and an archive is restored by replicated commands.
 */
export const KIND = {
  hello: 0x01,
  helloOk: 0x02,
  helloRefused: 0x03,
  /** Keep-alive probe, an addition to the reference: it detects a vanished peer, for which TCP alone needs minutes. */
  ping: 0x04,
  pong: 0x05,
  raft: 0x10,
  raftBatch: 0x11,
  snapChunk: 0x12,
  snapAck: 0x13,
  propose: 0x20,
  result: 0x21,
  join: 0x24,
  rejoin: 0x25,
  prune: 0x26,
  status: 0x27,
  removed: 0x2b,
  error: 0x3f,
} as const;

export interface Frame {
  readonly kind: number;
  readonly isLast: boolean;
  readonly id: number;
  /** View of the received bytes. It is never overwritten; keeping it keeps everything received with it. */
  readonly payload: Buffer;
}

const VERSION = 1;
const LAST = 0x0001;
/** Size of the fields after the length, in bytes. */
const FIELD_BYTES = 12;
const HEAD_BYTES = 4 + FIELD_BYTES;
/** Length of the head up to its flags, enough to refuse a frame without waiting for its payload. */
const CHECKED_BYTES = 8;
const MAX_LENGTH_FIELD = 8_388_608;

/** Maximum size of a payload, in bytes. */
export const MAX_PAYLOAD_BYTES = MAX_LENGTH_FIELD - FIELD_BYTES;
/** Number of bytes that a frame adds to its payload. */
export const FRAME_OVERHEAD_BYTES = HEAD_BYTES;

interface FrameHead {
  readonly kind: number;
  readonly id?: number;
  readonly isLast?: boolean;
}

/** Encodes a frame. Throws `RangeError` if the parts together exceed `MAX_PAYLOAD_BYTES`. */
export function encodeFrame({ kind, id = 0, isLast = false }: FrameHead, ...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length > MAX_PAYLOAD_BYTES) throw new RangeError(`a frame of ${length} bytes is over the limit`);
  const frame = Buffer.allocUnsafe(HEAD_BYTES + length);
  let at = HEAD_BYTES;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  frame.writeUInt32BE(FIELD_BYTES + length, 0);
  frame.writeUInt8(VERSION, 4);
  frame.writeUInt8(kind, 5);
  frame.writeUInt16BE(isLast ? LAST : 0, 6);
  frame.writeUInt32BE(id, 8);
  frame.writeUInt32BE(crc32(frame.subarray(HEAD_BYTES)), 12);
  return frame;
}

export function encodeJson(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value), "utf8");
}

interface FrameDecoder {
  /**
   * Returns the frames that `chunk` completes. Throws `WireError`; the stream then has no more frames. Frames are read lazily, so
   * raising the limit at one applies to the next.
   */
  push(chunk: Buffer): Generator<Frame, void, void>;
  /** Sets the maximum size of a frame including its head, in bytes. */
  setLimit(bytes: number): void;
}

/** First size of the buffer for an incomplete frame. It doubles, so a stated length alone allocates nothing. */
const FIRST_CAPACITY = 4 * 1024;

export function createFrameDecoder(limitBytes = 4 + MAX_LENGTH_FIELD): FrameDecoder {
  let limit = limitBytes;
  let pending: Buffer = Buffer.alloc(0);
  let keptBytes = 0;
  let failure: WireError | undefined;

  /** Returns the size of a frame. The head is checked as soon as it is there, so that invalid frames are not waited for. */
  const frameBytes = (head: Buffer): number => {
    const length = head.readUInt32BE(0);
    if (length < FIELD_BYTES || length > MAX_LENGTH_FIELD) throw new WireError(`a frame of length ${length}`);
    if (4 + length > limit) throw new WireError(`a frame of ${4 + length} bytes where ${limit} are the limit`);
    return 4 + length;
  };

  /** Takes the missing part of the first `target` bytes from `chunk`; returns the rest. */
  const keep = (chunk: Buffer, target: number): Buffer => {
    const taken = Math.min(target - keptBytes, chunk.length);
    if (keptBytes + taken > pending.length) {
      const capacity = Math.min(target, Math.max(FIRST_CAPACITY, 2 * (keptBytes + taken)));
      const grown = Buffer.allocUnsafeSlow(Math.max(capacity, keptBytes + taken));
      pending.copy(grown, 0, 0, keptBytes);
      pending = grown;
    }
    chunk.copy(pending, keptBytes, 0, taken);
    keptBytes += taken;
    return chunk.subarray(taken);
  };

  function* frames(chunk: Buffer): Generator<Frame, void, void> {
    let rest = chunk;
    while (rest.length > 0) {
      if (keptBytes === 0 && rest.length >= 4) {
        const whole = frameBytes(rest);
        if (rest.length >= whole) {
          const frame = rest.subarray(0, whole);
          rest = rest.subarray(whole);
          yield parseFrame(frame);
          continue;
        }
      }
      if (keptBytes < 4) rest = keep(rest, 4);
      if (keptBytes < 4) return;
      const whole = frameBytes(pending);
      if (keptBytes < CHECKED_BYTES) rest = keep(rest, CHECKED_BYTES);
      if (keptBytes < CHECKED_BYTES) return;
      checkFields(pending);
      rest = keep(rest, whole);
      if (keptBytes < whole) return;
      const frame = pending.subarray(0, whole);
      pending = Buffer.alloc(0);
      keptBytes = 0;
      yield parseFrame(frame);
    }
  }

  return {
    *push(chunk) {
      if (failure !== undefined) throw failure;
      try {
        yield* frames(chunk);
      } catch (error) {
        if (error instanceof WireError) failure = error;
        throw error;
      }
    },
    setLimit(bytes) {
      limit = bytes;
    },
  };
}

function checkFields(head: Buffer): void {
  const version = head.readUInt8(4);
  if (version !== VERSION) throw new WireError(`a frame of version ${version}`);
  const flags = head.readUInt16BE(6);
  if ((flags & ~LAST) !== 0) throw new WireError(`a frame with unknown flags ${flags}`);
}

function parseFrame(frame: Buffer): Frame {
  checkFields(frame);
  const payload = frame.subarray(HEAD_BYTES);
  if (crc32(payload) !== frame.readUInt32BE(12)) throw new WireError("a frame whose checksum does not match");
  return { kind: frame.readUInt8(5), isLast: frame.readUInt16BE(6) === LAST, id: frame.readUInt32BE(8), payload };
}
