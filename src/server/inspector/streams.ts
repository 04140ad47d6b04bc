/** The streams that are open on one server: how many there may be, and the bytes that they may hold between them. */

export interface Streams {
  /** `stop` ends the stream with an error, since one that ended well would let its request go on unseen. Undefined: no room. */
  readonly enter: (stop: () => void) => Place | undefined;
  readonly stopAll: () => void;
  readonly count: () => number;
  readonly heldBytes: () => number;
}

export interface Place {
  /** Negative gives back. False: nothing more may be held. */
  readonly hold: (bytes: number) => boolean;
  /** What was held is free again. Once. */
  readonly leave: () => void;
}

export function createStreams(limits: { readonly maxStreams: number; readonly maxHeldBytes: number }): Streams {
  const stops = new Set<() => void>();
  let heldInAll = 0;
  return {
    count: () => stops.size,
    heldBytes: () => heldInAll,
    enter(stop) {
      if (stops.size >= limits.maxStreams) return undefined;
      stops.add(stop);
      let held = 0;
      return {
        hold(bytes) {
          // Who left holds nothing, though an inspection of theirs may end later.
          if (!stops.has(stop) || heldInAll + bytes > limits.maxHeldBytes) return false;
          heldInAll += bytes;
          held += bytes;
          return true;
        },
        leave() {
          stops.delete(stop);
          heldInAll -= held;
          held = 0;
        },
      };
    },
    stopAll() {
      for (const stop of stops) stop();
    },
  };
}
