/**
 * Samples `auth.failure` records, so that an attacker who tries keys cannot fill the trail. At most `MAX_PER_SECOND`
 * are recorded per second; all are counted, and the next record reports how many were skipped since the last. Source:
 * design decisions, section 4.
 */

import type { Instruments } from "../../base/index.ts";
import type { AuditEvent, AuditTrail, JsonValue } from "./types.ts";

const MAX_PER_SECOND = 10;

/** Maximum length of the labels `plane` and `fault`. Both are fixed lists; a bug must not create series without bound. */
const MAX_LABEL_LENGTH = 40;

/**
 * Data of an `auth.failure` event. `plane` is the interface and `fault` the reason, both from fixed lists. Nothing that
 * the caller sent is included.
 */
export type AuthFailure = AuditEvent["data"];

export interface FailureSampler {
  /** Counts a failure, and records it if the rate allows. Never throws. */
  record(data: AuthFailure): void;
  /** Counts failures that were sampled elsewhere. */
  countUnsampled(data: AuthFailure, count: number): void;
}

/** Creates a sampler. `now` returns milliseconds of any clock. */
export function createFailureSampler(options: {
  readonly trail: Pick<AuditTrail, "append">;
  readonly instruments: Instruments;
  readonly now: () => number;
}): FailureSampler {
  const { trail, instruments, now } = options;
  const total = instruments.counter(
    "gateway_auth_failures_total",
    "Requests with a credential that was not accepted, by listener and fault.",
    ["plane", "fault"],
  );
  let second = Number.NEGATIVE_INFINITY;
  let recorded = 0;
  let suppressed = 0;

  return {
    countUnsampled(data, count) {
      total.with(label(data["plane"]), label(data["fault"])).inc(count);
      suppressed += count;
    },
    record(data) {
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
        // The trail is full or has ended; it counts such refusals itself.
        suppressed += 1;
      }
    },
  };
}

function label(word: JsonValue | undefined): string {
  const isWord = typeof word === "string" && /^[a-z0-9_]+$/.test(word) && word.length <= MAX_LABEL_LENGTH;
  return isWord ? word : "other";
}
