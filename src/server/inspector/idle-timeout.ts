/** Idle timeout with one timer. Activity only sets a flag, so no timer is reset per message. */
export interface IdleTimeout {
  /** Reports activity of the peer. */
  readonly activity: () => void;
  /** Stops the timer. */
  readonly end: () => void;
}

/** Calls `onSilence` once, between one and two times `limitMs` after the last activity. */
export function startIdleTimeout(limitMs: number, onSilence: () => void): IdleTimeout {
  let hasSpoken = false;
  const timer = setInterval(() => {
    if (!hasSpoken) {
      clearInterval(timer);
      onSilence();
    }
    hasSpoken = false;
  }, limitMs);
  timer.unref();
  return {
    activity() {
      hasSpoken = true;
    },
    end: () => clearInterval(timer),
  };
}
