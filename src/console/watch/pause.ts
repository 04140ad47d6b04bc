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
export interface Bell {
  ring(): void;
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export function createBell(): Bell {
  let isRung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      isRung = true;
      wake?.();
    },
    async wait(ms, signal) {
      if (!isRung) {
        const rung = new AbortController();
        const end = (): void => rung.abort();
        wake = end;
        signal.addEventListener("abort", end, { once: true });
        if (signal.aborted) end();
        await pause(ms, rung.signal);
        signal.removeEventListener("abort", end);
        wake = undefined;
      }
      isRung = false;
    },
  };
}
