/** A request's body as it arrives in frames: a queue whose reader tells the peer how far it has come. */

import { WireError } from "../wire/index.ts";
import { CHUNK_BYTES, WINDOW_BYTES } from "./payload.ts";

export interface InboundBody extends AsyncIterable<Uint8Array> {
  /** Throws `WireError` when the peer sends more than the window lets it. */
  add(chunk: Uint8Array): void;
  end(): void;
  /** The reader's next step throws `reason`; what is queued is lost. */
  fail(reason: Error): void;
}

/** `onRead` is told how many bytes have been read in all. To be iterated once. */
export function createInboundBody(onRead: (bytes: number) => void): InboundBody {
  let queue: Uint8Array[] = [];
  let queuedBytes = 0;
  let readBytes = 0;
  let isEnded = false;
  let isUnwanted = false;
  let failure: Error | undefined;
  let wake: (() => void) | undefined;

  async function* read(): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (;;) {
        if (failure !== undefined) throw failure;
        const chunk = queue.shift();
        if (chunk !== undefined) {
          queuedBytes -= chunk.length;
          readBytes += chunk.length;
          onRead(readBytes);
          yield chunk;
        } else if (isEnded) {
          return;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      isUnwanted = true;
      queue = [];
    }
  }

  return {
    [Symbol.asyncIterator]: read,
    add(chunk) {
      if (isEnded) throw new WireError("a body goes on after its end");
      if (isUnwanted || failure !== undefined) return;
      if (chunk.length > CHUNK_BYTES || queuedBytes + chunk.length > WINDOW_BYTES) {
        throw new WireError("more of a body than was asked for");
      }
      if (chunk.length === 0) return;
      queuedBytes += chunk.length;
      queue.push(chunk);
      wake?.();
    },
    end() {
      isEnded = true;
      wake?.();
    },
    fail(reason) {
      failure ??= reason;
      queue = [];
      wake?.();
    },
  };
}
