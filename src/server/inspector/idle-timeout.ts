/** Idle timeout with one timer. Activity only sets a flag, so no timer is reset per message. */
export interface IdleTimeout {
  /** Reports activity of the peer. */
  readonly markActive: () => void;
  /** Stops the timer. */
  readonly end: () => void;
}

/** Calls `onSilence` once, between one and two times `limitMs` after the last activity. */
export function startIdleTimeout(limitMs: number, onSilence: () => void): IdleTimeout {
  let wasActive = false;
  const timer = setInterval(() => {
    if (!wasActive) {
      clearInterval(timer);
      onSilence();
    }
    wasActive = false;
  }, limitMs);
  timer.unref();
  return {
    markActive() {
      wasActive = true;
    },
    end: () => clearInterval(timer),
  };
}
