/** Waits that end with a signal and leave no timer. None of them rejects. */

import { pause, systemClock } from "../../base/index.ts";

/** Waits until `at` on the monotonic clock, never less, unless the signal ends the wait. */
export async function pauseUntil(at: () => number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const ms = at() - systemClock.monotonic();
    if (ms <= 0 || signal.aborted) return;
    await pause(ms, signal);
  }
}

/** Ends a wait early. If it rings while nothing waits, it ends the next wait. */
export interface Notifier {
  notify(): void;
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export function createNotifier(): Notifier {
  let isNotified = false;
  let wake: (() => void) | undefined;
  return {
    notify() {
      isNotified = true;
      wake?.();
    },
    async wait(ms, signal) {
      if (!isNotified) {
        const notified = new AbortController();
        const end = (): void => notified.abort();
        wake = end;
        signal.addEventListener("abort", end, { once: true });
        if (signal.aborted) end();
        await pause(ms, notified.signal);
        signal.removeEventListener("abort", end);
        wake = undefined;
      }
      isNotified = false;
    },
  };
}
