/**
 * Limits how long another process may be silent, in checks instead of time: a process that was stopped itself, by a migration of
 * the machine or a debugger, must not kill others because of that. Their messages from the meantime are read before the next
 * check.
 */

interface LivenessChecks {
  /** Records a sign of life, and restarts the count. */
  recordSign(): void;
  end(): void;
}

/** Starts the checks. `onSilent` is called once, after `most` checks without a message. */
export function startLivenessChecks(
  { everyMs, most }: { readonly everyMs: number; readonly most: number },
  onSilent: () => void,
): LivenessChecks {
  let checksLeft = most;
  const timer = setInterval(() => {
    checksLeft -= 1;
    if (checksLeft > 0) return;
    clearInterval(timer);
    onSilent();
  }, everyMs).unref();
  return {
    recordSign() {
      checksLeft = most;
    },
    end: () => clearInterval(timer),
  };
}
