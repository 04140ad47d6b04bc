/** Sends a request's body in frames, no further ahead of its reader than the window. */

import { encodeFrame, KIND, type Wire, WireError } from "../wire/index.ts";
import { CHUNK_BYTES, WINDOW_BYTES } from "./payload.ts";

export interface OutboundBody {
  /** Resolves when all is sent, or nobody wants the rest. Rejects with what the source threw. */
  readonly sent: Promise<void>;
  /** The peer has read so much. Throws `WireError` for what was not sent. */
  onRead(bytes: number): void;
  stop(): void;
}

export function sendBody(wire: Wire, id: number, source: AsyncIterable<Uint8Array>): OutboundBody {
  let sentBytes = 0;
  let readBytes = 0;
  let isStopped = false;
  let wake: (() => void) | undefined;

  /** False when the rest is not wanted. */
  async function mayGoOn(): Promise<boolean> {
    while (!isStopped && sentBytes - readBytes > WINDOW_BYTES - CHUNK_BYTES) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return !isStopped;
  }

  async function run(): Promise<void> {
    for await (const piece of source) {
      for (let at = 0; at < piece.length; at += CHUNK_BYTES) {
        if (!(await mayGoOn())) return;
        const chunk = piece.subarray(at, at + CHUNK_BYTES);
        wire.send(encodeFrame({ kind: KIND.restoreChunk, id }, chunk));
        sentBytes += chunk.length;
      }
      if (isStopped) return;
    }
    if (!isStopped) wire.send(encodeFrame({ kind: KIND.restoreEnd, id, isLast: true }));
  }

  return {
    sent: run(),
    onRead(bytes) {
      if (bytes > sentBytes || bytes < readBytes) throw new WireError("a count of bytes read that cannot be");
      readBytes = bytes;
      wake?.();
    },
    stop() {
      isStopped = true;
      wake?.();
    },
  };
}
