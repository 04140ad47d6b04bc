/** How long a peer may say nothing: one timer, which each word only notes the time for. */
export interface Quiet {
  /** The peer has said something. */
  readonly heard: () => void;
  /** Nothing more is waited for. */
  readonly end: () => void;
}

/** `onSilence`: once, when nothing was heard for `limitMs`, at most twice as late. */
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
