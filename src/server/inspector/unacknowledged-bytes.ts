/**
 * Counts body bytes that were sent but that the peer has not read yet. They take memory like received bytes, and may do so only
 * for a limited time.
 */
import { type IdleTimeout, startIdleTimeout } from "./idle-timeout.ts";
import type { Place } from "./stream-registry.ts";

export interface UnacknowledgedBytes {
  /** Reserves memory for bytes that are about to be sent. Returns false if there is no room. */
  readonly add: (bytes: number) => boolean;
  /** Releases the memory of bytes that were sent. */
  readonly sent: (bytes: number) => void;
  readonly isWaiting: () => boolean;
  readonly end: () => void;
}

/** Counts the bytes. Calls `onStuck` once if bytes wait and none was sent for between one and two times `limitMs`. */
export function countUnacknowledgedBytes(
  hold: Place["hold"],
  limitMs: number,
  onStuck: () => void,
): UnacknowledgedBytes {
  let waiting = 0;
  let watch: IdleTimeout | undefined;
  const end = (): void => {
    watch?.end();
    watch = undefined;
  };
  return {
    add(bytes) {
      if (!hold(bytes)) return false;
      waiting += bytes;
      watch ??= startIdleTimeout(limitMs, onStuck);
      return true;
    },
    sent(bytes) {
      hold(-bytes);
      waiting -= bytes;
      watch?.activity();
      if (waiting === 0) end();
    },
    isWaiting: () => waiting > 0,
    end,
  };
}
