/** `schedule: async`: nobody waits, and what is found is remembered for the next turn. Bounded; past it dropped and counted. */
import type { Found, Segment } from "../../core/guardrails/index.ts";
import { run } from "./run.ts";
import type { Scanning } from "./scan.ts";
import type { Member } from "./types.ts";

export interface Background {
  /** Messages that are gone through at once. */
  readonly maxInFlight: number;
  readonly timeoutMs: number;
}

export type RunLater = (segments: readonly Segment[], found: Found, names: ReadonlySet<string> | undefined) => void;

export function createBackground(members: readonly Member[], limits: Background, scanning: Scanning): RunLater {
  const late = members
    .filter(({ schedule }) => schedule === "async")
    .map(
      (member): Member => ({ ...member, timeoutMs: Math.min(member.timeoutMs ?? limits.timeoutMs, limits.timeoutMs) }),
    );
  let inFlight = 0;
  return (segments, found, names) => {
    for (const member of late) {
      if (names !== undefined && !names.has(member.name)) continue;
      if (inFlight >= limits.maxInFlight) {
        scanning.metrics.dropped(member.name);
        continue;
      }
      inFlight++;
      // On a later turn of the loop: the request goes out first.
      setImmediate(async () => {
        try {
          await run([member], segments, { signal: AbortSignal.timeout(limits.timeoutMs), earlier: found }, scanning);
        } catch {
          scanning.metrics.failed(member.name);
        } finally {
          inFlight--;
        }
      });
    }
  };
}
