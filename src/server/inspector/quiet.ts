/** Idle timeout with one timer. Activity only sets a flag, so it costs nothing per message. */
export interface Quiet {
  /** Reports activity of the peer. */
  readonly heard: () => void;
  /** Stops the timer. */
  readonly end: () => void;
}

/** Calls `onSilence` once, between one and two times `limitMs` after the last activity. */
export function watchQuiet(limitMs: number, onSilence: () => void): Quiet {
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
    heard() {
      hasSpoken = true;
    },
    end: () => clearInterval(timer),
  };
}
