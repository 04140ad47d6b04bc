/** Bounds on what may be under way at once. Past either the answer is 503 `overloaded`, at once and unread. */
import { GatewayError } from "../../base/index.ts";

export interface AdmissionLimits {
  readonly maxInFlight: number;
  readonly maxBufferedBytes: number;
}

export const DEFAULT_ADMISSION: AdmissionLimits = { maxInFlight: 4_096, maxBufferedBytes: 512 << 20 };

/** Requests in flight, and the bytes held for them. */
export interface Held {
  readonly inFlight: number;
  readonly bytes: number;
}

export const NOTHING_HELD: Held = { inFlight: 0, bytes: 0 };

export interface Admission {
  readonly limits: AdmissionLimits;
  /** Counts a request in; throws `overloaded`. */
  enter(): void;
  leave(): void;
  /** Counts bytes held for a request; throws `overloaded`. */
  hold(bytes: number): void;
  release(bytes: number): void;
  inFlight(): number;
  bufferedBytes(): number;
  /** Sets what other processes hold within the same limits. */
  besides(others: Held): void;
}

export function createAdmission(limits: AdmissionLimits): Admission {
  const { maxInFlight, maxBufferedBytes } = limits;
  let others = NOTHING_HELD;
  let inFlight = 0;
  let buffered = 0;
  return {
    limits,
    enter() {
      if (inFlight + others.inFlight >= maxInFlight)
        throw new GatewayError("overloaded", "The gateway has too many requests in flight.");
      inFlight++;
    },
    leave() {
      inFlight--;
    },
    hold(bytes) {
      if (buffered + bytes + others.bytes > maxBufferedBytes) {
        throw new GatewayError("overloaded", "The gateway holds too many bytes of other requests.");
      }
      buffered += bytes;
    },
    release(bytes) {
      buffered -= bytes;
    },
    inFlight: () => inFlight,
    bufferedBytes: () => buffered,
    besides(held) {
      others = held;
    },
  };
}
