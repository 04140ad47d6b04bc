/**
 * Counts body bytes that were sent but not yet read by the peer. They hold memory like received bytes, and only for a limited
 * time.
 */
import { type Quiet, watchQuiet } from "./quiet.ts";
import type { Place } from "./streams.ts";

export interface Unread {
  /** Reserves memory for bytes that are about to be sent. Returns false if there is no room. */
  readonly add: (bytes: number) => boolean;
  /** Releases the memory of bytes that were sent. */
  readonly left: (bytes: number) => void;
  readonly isWaiting: () => boolean;
  readonly end: () => void;
}

/** Calls `onStuck` once if nothing was sent for between one and two times `limitMs` while bytes wait. */
export function countUnread(hold: Place["hold"], limitMs: number, onStuck: () => void): Unread {
  let waiting = 0;
  let watch: Quiet | undefined;
  const end = (): void => {
    watch?.end();
    watch = undefined;
  };
  return {
    add(bytes) {
      if (!hold(bytes)) return false;
      waiting += bytes;
      watch ??= watchQuiet(limitMs, onStuck);
      return true;
    },
    left(bytes) {
      hold(-bytes);
      waiting -= bytes;
      watch?.heard();
      if (waiting === 0) end();
    },
    isWaiting: () => waiting > 0,
    end,
  };
}
