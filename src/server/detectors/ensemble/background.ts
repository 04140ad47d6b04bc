/**
 * Runs detectors with `schedule: async`: the request does not wait, and findings are remembered for the next turn. The queue is
 * bounded; further texts are dropped and counted.
 */
import { run } from "./run.ts";
import type { Scanning } from "./scan-texts.ts";
import type { Member, RunLater } from "./types.ts";

interface AsyncScanLimits {
  /** Maximum number of messages that are scanned at the same time. */
  readonly maxInFlight: number;
  readonly timeoutMs: number;
}

/** Returns the function that scans a message while its request goes on. */
export function createBackground(members: readonly Member[], limits: AsyncScanLimits, scanning: Scanning): RunLater {
  const asyncMembers = members
    .filter(({ schedule }) => schedule === "async")
    .map(
      (member): Member => ({ ...member, timeoutMs: Math.min(member.timeoutMs ?? limits.timeoutMs, limits.timeoutMs) }),
    );
  let inFlight = 0;
  return (segments, found, names, tracer) => {
    for (const member of asyncMembers) {
      if (names !== undefined && !names.has(member.name)) continue;
      if (inFlight >= limits.maxInFlight) {
        scanning.metrics.countDropped(member.name);
        continue;
      }
      inFlight++;
      // The scan begins in a later turn of the event loop, so that the request is sent first.
      setImmediate(async () => {
        try {
          const signal = AbortSignal.timeout(limits.timeoutMs);
          await run([member], segments, { signal, earlier: found, tracer }, scanning);
        } catch {
          scanning.metrics.countFailure(member.name);
        } finally {
          inFlight--;
        }
      });
    }
  };
}
