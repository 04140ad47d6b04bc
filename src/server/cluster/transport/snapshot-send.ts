/** Sends one snapshot file over a separate connection. Source: cluster reference, sections 2.9 and 4.1. */

import { type FileHandle, open } from "node:fs/promises";
import type { Message } from "../../core/raft/index.ts";
import type { Identity } from "../identity/index.ts";
import type { SnapshotRecord } from "../storage/types.ts";
import { dial, KIND, type Link, type SelfDescription, type Timing, WireError } from "../wire/index.ts";
import {
  CHUNK_BYTES,
  decodeAck,
  encodeAnnounce,
  encodeChunk,
  MAX_SNAPSHOT_BYTES,
  type SnapshotAck,
  WINDOW_CHUNKS,
} from "./snapshot-frames.ts";

/** Error if the peer refused the snapshot. */
class SnapshotRefused extends Error {
  override readonly name = "SnapshotRefused";
  readonly code: string;

  constructor(code: string) {
    super(`the peer refused the snapshot: ${code}`);
    this.code = code;
  }
}

interface SnapshotSending {
  readonly to: string;
  readonly raftAddr: string;
  readonly identity: Identity;
  readonly self: SelfDescription;
  readonly timing: Timing;
  readonly message: Message;
  readonly record: SnapshotRecord;
  readonly path: string;
  readonly signal: AbortSignal;
}

/** Timeout without progress. A peer whose disk takes longer for two megabytes is unusable. */
const PROGRESS_TIMEOUT_MS = 60_000;

export async function sendSnapshotFile(sending: SnapshotSending): Promise<void> {
  const { to, raftAddr, identity, self, timing, message, record, path, signal } = sending;
  if (record.size === 0 || record.size > MAX_SNAPSHOT_BYTES) {
    throw new RangeError(`a snapshot of ${record.size} bytes cannot be sent`);
  }
  signal.throwIfAborted();
  const file = await open(path, "r");
  const acks = createAckQueue(timing);
  let link: Link | undefined;
  try {
    link = await dial({
      address: raftAddr,
      identity,
      self,
      purpose: "snapshot",
      to,
      signal,
      timing,
      onLink: acks.onLink,
    });
    signal.addEventListener("abort", acks.onAbort, { once: true });
    link.send(encodeAnnounce(message, record));
    await stream(link, file, record.size, acks.next);
  } finally {
    signal.removeEventListener("abort", acks.onAbort);
    link?.close();
    acks.stop();
    await file.close();
  }
  signal.throwIfAborted();

  async function stream(to: Link, from: FileHandle, size: number, next: () => Promise<SnapshotAck>): Promise<void> {
    let sent: number | undefined;
    let acknowledged = 0;
    for (;;) {
      const ack = await next();
      signal.throwIfAborted();
      if (ack.kind === "refused") throw new SnapshotRefused(ack.code);
      if (ack.kind === "done") {
        if (sent !== size) throw new WireError("a snapshot was finished before its end");
        return;
      }
      if (ack.offset < acknowledged || ack.offset > (sent ?? size)) throw new WireError("an offset out of range");
      acknowledged = ack.offset;
      sent ??= acknowledged;
      while (sent < size && sent - acknowledged < WINDOW_CHUNKS * CHUNK_BYTES) {
        const chunk = await readChunk(from, sent, Math.min(CHUNK_BYTES, size - sent));
        to.send(encodeChunk(sent, chunk));
        sent += chunk.length;
      }
    }
  }
}

async function readChunk(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const chunk = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(chunk, filled, length - filled, position + filled);
    if (bytesRead === 0) throw new Error("the snapshot file is shorter than its record says");
    filled += bytesRead;
  }
  return chunk;
}

/** Creates the queue of answers. A wait for one also ends if the link ends, the signal aborts, or the peer makes no progress. */
function createAckQueue(timing: Timing) {
  const arrived: SnapshotAck[] = [];
  let failure: Error | undefined;
  let wake: (() => void) | undefined;

  const fail = (error: Error): void => {
    failure ??= error;
    wake?.();
  };
  return {
    onLink: () => ({
      onFrame({ kind, payload }: { readonly kind: number; readonly payload: Uint8Array }) {
        if (kind !== KIND.snapAck) throw new WireError("a frame other than an answer to a snapshot");
        arrived.push(decodeAck(payload));
        wake?.();
      },
      onEnd: (error: Error | undefined) => fail(error ?? new Error("the connection was closed")),
    }),
    onAbort: () => fail(new Error("the transfer was given up")),
    async next(): Promise<SnapshotAck> {
      const stopTimer = timing.after(PROGRESS_TIMEOUT_MS, () => fail(new Error("the peer makes no progress")));
      try {
        for (;;) {
          const ack = arrived.shift();
          if (ack !== undefined) return ack;
          if (failure !== undefined) throw failure;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        stopTimer();
      }
    },
    stop: () => fail(new Error("the transfer has ended")),
  };
}
