/**
 * Limits how long another process may be silent, in checks instead of time: a process that was stopped itself, by a migration of
 * the machine or a debugger, must not kill others because of that. Their messages from the meantime are read before the next
 * check.
 */

interface LivenessChecks {
  /** Records a sign of life, and restarts the count. */
  heard(): void;
  end(): void;
}

/** Starts the checks. `silent` is called once, after `most` checks without a message. */
export function startLivenessChecks(
  { everyMs, most }: { readonly everyMs: number; readonly most: number },
  silent: () => void,
): LivenessChecks {
  let left = most;
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    silent();
  }, everyMs).unref();
  return {
    heard() {
      left = most;
    },
    end: () => clearInterval(timer),
  };
}
