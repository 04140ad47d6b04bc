/** Bodies that were said and that the peer has not read yet: they are held as those are that came, and not for ever. */
import { type Quiet, watchQuiet } from "./quiet.ts";
import type { Place } from "./streams.ts";

export interface Unread {
  /** So many bytes are about to be said. False: there is no room for them. */
  readonly add: (bytes: number) => boolean;
  /** They have left. */
  readonly left: (bytes: number) => void;
  readonly isWaiting: () => boolean;
  readonly end: () => void;
}

/** `onStuck`: once, when nothing of what waits has left for `limitMs`, at most twice as late. */
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
