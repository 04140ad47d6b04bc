/**
 * `auth.failure` records, sampled: whoever tries keys must not be able to fill the trail. `MAX_PER_SECOND` are recorded;
 * every failure is counted, and the next record says how many were not recorded since the last. Source: design
 * decisions, section 4.
 */

import type { Instruments } from "../../base/index.ts";
import type { AuditEvent, AuditTrail, JsonValue } from "./types.ts";

export const MAX_PER_SECOND = 10;

/** Of `plane` and `fault`: both are enumerations of ours, and a slip must not create series without bound. */
const MAX_LABEL_LENGTH = 40;

/** `plane` says which door, `fault` why, both in words of our own enumerations; nothing is what the caller sent. */
export type AuthFailure = AuditEvent["data"];

export interface FailureSampler {
  /** Never throws. */
  failed(data: AuthFailure): void;
  /** So many more of this plane and fault, of which nothing else is told. */
  more(data: AuthFailure, count: number): void;
}

/** `now`: milliseconds, of any clock. */
export function createFailureSampler(options: {
  readonly trail: Pick<AuditTrail, "append">;
  readonly instruments: Instruments;
  readonly now: () => number;
}): FailureSampler {
  const { trail, instruments, now } = options;
  const total = instruments.counter("gateway_auth_failures_total", "Callers that were not let in.", ["plane", "fault"]);
  let second = Number.NEGATIVE_INFINITY;
  let recorded = 0;
  let suppressed = 0;

  return {
    more(data, count) {
      total.with(label(data["plane"]), label(data["fault"])).inc(count);
      suppressed += count;
    },
    failed(data) {
      total.with(label(data["plane"]), label(data["fault"])).inc();
      const current = Math.floor(now() / 1_000);
      if (current !== second) {
        second = current;
        recorded = 0;
      }
      if (recorded >= MAX_PER_SECOND) {
        suppressed += 1;
        return;
      }
      recorded += 1;
      try {
        trail.append({ event: "auth.failure", data: suppressed === 0 ? data : { ...data, suppressed } });
        suppressed = 0;
      } catch {
        // The trail is full or over, which it counts itself.
        suppressed += 1;
      }
    },
  };
}

function label(word: JsonValue | undefined): string {
  const isWord = typeof word === "string" && /^[a-z0-9_]+$/.test(word) && word.length <= MAX_LABEL_LENGTH;
  return isWord ? word : "other";
}
