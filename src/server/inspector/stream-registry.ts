/** Registry of open streams: limits their number, in total and per peer, and counts the bytes that they hold. */
import { GatewayError } from "../../base/index.ts";
import type { Account } from "../memory/index.ts";

/** Share of all streams that one peer may use. The rest is left for other peers. */
const PEER_SHARE = 0.75;

export interface StreamRegistry {
  /**
   * Registers a stream, or returns `undefined` if there is no room. `peer`: its address. `stop` must end the stream with an
   * error: after an end with status OK its request would continue without inspection.
   */
  readonly register: (peer: string, stop: () => void) => RegisteredStream | undefined;
  readonly stopAll: () => void;
  readonly count: () => number;
  readonly heldBytes: () => number;
}

export interface RegisteredStream {
  /** Reserves memory, or releases it if `bytes` is negative. Returns false if there is no room. */
  readonly reserve: (bytes: number) => boolean;
  /** Releases the stream's place and all memory that it holds. */
  readonly release: () => void;
}

interface StreamLimits {
  readonly maxStreams: number;
  /** Memory account for held bytes, shared with all other users of held bodies in this process. */
  readonly account: Account;
}

export function createStreamRegistry({ maxStreams, account }: StreamLimits): StreamRegistry {
  const maxStreamsPerPeer = Math.ceil(maxStreams * PEER_SHARE);
  const stops = new Set<() => void>();
  const byPeer = new Map<string, number>();
  let totalHeldBytes = 0;
  return {
    count: () => stops.size,
    heldBytes: () => totalHeldBytes,
    register(peer, stop) {
      const streamsOfPeer = byPeer.get(peer) ?? 0;
      if (stops.size >= maxStreams || streamsOfPeer >= maxStreamsPerPeer) return undefined;
      stops.add(stop);
      byPeer.set(peer, streamsOfPeer + 1);
      let heldBytes = 0;
      const change = (bytes: number): void => {
        totalHeldBytes += bytes;
        heldBytes += bytes;
      };
      return {
        reserve(bytes) {
          // A stream that has left reserves no memory, even if its inspection is still running.
          if (!stops.has(stop)) return false;
          if (bytes > 0 && !tryReserve(account, bytes)) return false;
          if (bytes < 0) account.release(-bytes);
          change(bytes);
          return true;
        },
        release() {
          if (!stops.delete(stop)) return;
          const remaining = (byPeer.get(peer) ?? 1) - 1;
          if (remaining === 0) byPeer.delete(peer);
          else byPeer.set(peer, remaining);
          account.release(heldBytes);
          change(-heldBytes);
        },
      };
    },
    stopAll() {
      for (const stop of stops) stop();
    },
  };
}

function tryReserve(account: Account, bytes: number): boolean {
  try {
    account.hold(bytes);
    return true;
  } catch (error) {
    if (error instanceof GatewayError && error.code === "overloaded") return false;
    throw error;
  }
}
