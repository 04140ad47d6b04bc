/** Time controlled by the test. */

import type { Timing } from "../../../../src/server/cluster/wire/index.ts";

interface ManualTiming extends Timing {
  /** Runs due timers in order. */
  advance(ms: number): void;
  /** All requested delays. */
  readonly requestedDelays: readonly number[];
}

export function manualTiming(random: () => number = () => 0.5): ManualTiming {
  const waiting = new Set<{ readonly at: number; readonly action: () => void }>();
  const requestedDelays: number[] = [];
  let now = 0;
  return {
    requestedDelays,
    random,
    after(ms, action) {
      const timer = { at: now + ms, action };
      requestedDelays.push(ms);
      waiting.add(timer);
      return () => waiting.delete(timer);
    },
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const due = [...waiting].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        now = due.at;
        waiting.delete(due);
        due.action();
      }
      now = end;
    },
  };
}
