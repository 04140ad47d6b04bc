/** Registry of open streams: limits their number, in total and per peer, and counts the bytes that they hold. */
import { GatewayError } from "../../base/index.ts";
import type { Account } from "../memory/index.ts";

/** Share of all streams that one peer may use. The rest is left for other peers. */
const PEER_SHARE = 0.75;

export interface Streams {
  /**
   * Registers a stream, or returns `undefined` if there is no room. `peer`: its address. `stop` must end the stream with an
   * error: after an end with status OK its request would continue without inspection.
   */
  readonly enter: (peer: string, stop: () => void) => Place | undefined;
  readonly stopAll: () => void;
  readonly count: () => number;
  readonly heldBytes: () => number;
}

export interface Place {
  /** Reserves memory, or releases it if `bytes` is negative. Returns false if there is no room. */
  readonly hold: (bytes: number) => boolean;
  /** Releases the stream's place and all memory that it holds. */
  readonly leave: () => void;
}

interface StreamLimits {
  readonly maxStreams: number;
  /** Memory account for held bytes, shared with all other users of held bodies in this process. */
  readonly account: Account;
}

export function createStreams({ maxStreams, account }: StreamLimits): Streams {
  const maxOfPeer = Math.ceil(maxStreams * PEER_SHARE);
  const stops = new Set<() => void>();
  const byPeer = new Map<string, number>();
  let heldInAll = 0;
  return {
    count: () => stops.size,
    heldBytes: () => heldInAll,
    enter(peer, stop) {
      const ofPeer = byPeer.get(peer) ?? 0;
      if (stops.size >= maxStreams || ofPeer >= maxOfPeer) return undefined;
      stops.add(stop);
      byPeer.set(peer, ofPeer + 1);
      let held = 0;
      const change = (bytes: number): void => {
        heldInAll += bytes;
        held += bytes;
      };
      return {
        hold(bytes) {
          // A stream that has left reserves no memory, even if its inspection is still running.
          if (!stops.has(stop)) return false;
          if (bytes > 0 && !hasRoom(account, bytes)) return false;
          if (bytes < 0) account.release(-bytes);
          change(bytes);
          return true;
        },
        leave() {
          if (!stops.delete(stop)) return;
          const left = (byPeer.get(peer) ?? 1) - 1;
          if (left === 0) byPeer.delete(peer);
          else byPeer.set(peer, left);
          account.release(held);
          change(-held);
        },
      };
    },
    stopAll() {
      for (const stop of stops) stop();
    },
  };
}

function hasRoom(account: Account, bytes: number): boolean {
  try {
    account.hold(bytes);
    return true;
  } catch (error) {
    if (error instanceof GatewayError && error.code === "overloaded") return false;
    throw error;
  }
}
