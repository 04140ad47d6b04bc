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

/** Starts the checks. `onSilent` is called once, after `maxSilentChecks` checks without a message. */
export function startLivenessChecks(
  { everyMs, maxSilentChecks }: { readonly everyMs: number; readonly maxSilentChecks: number },
  onSilent: () => void,
): LivenessChecks {
  let checksLeft = maxSilentChecks;
  const timer = setInterval(() => {
    checksLeft -= 1;
    if (checksLeft > 0) return;
    clearInterval(timer);
    onSilent();
  }, everyMs).unref();
  return {
    recordSign() {
      checksLeft = maxSilentChecks;
    },
    end: () => clearInterval(timer),
  };
}
