/** The streams that are open on one server: how many there may be, of one peer and in all, and the bytes that they hold. */
import { GatewayError } from "../../base/index.ts";
import type { Account } from "../memory/index.ts";

/** Of all places, those that one peer may take; the others are for whoever calls beside it. */
const PEER_SHARE = 0.75;

export interface Streams {
  /**
   * `peer`: its address. `stop` ends the stream with an error, since one that ended well would let its request go on unseen.
   * Undefined: no room.
   */
  readonly enter: (peer: string, stop: () => void) => Place | undefined;
  readonly stopAll: () => void;
  readonly count: () => number;
  readonly heldBytes: () => number;
}

export interface Place {
  /** Negative gives back. False: nothing more may be held. */
  readonly hold: (bytes: number) => boolean;
  /** What was held is free again. */
  readonly leave: () => void;
}

export interface StreamLimits {
  readonly maxStreams: number;
  /** Where held bytes are counted, with those of whatever else holds bodies in this process. */
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
          // Who left holds nothing, though an inspection of theirs may end later.
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
