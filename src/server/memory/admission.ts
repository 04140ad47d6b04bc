/**
 * Limits the requests in flight and the memory that they hold. A request beyond a limit is answered with 503 `overloaded` at
 * once, without being read.
 */
import { GatewayError } from "../../base/index.ts";

interface AdmissionLimits {
  readonly maxInFlight: number;
  readonly maxBufferedBytes: number;
}

export const DEFAULT_ADMISSION: AdmissionLimits = { maxInFlight: 4_096, maxBufferedBytes: 512 << 20 };

/** Number of requests in flight, and bytes held for them. */
export interface AdmissionUsage {
  readonly inFlight: number;
  readonly bytes: number;
}

export const NO_USAGE: AdmissionUsage = { inFlight: 0, bytes: 0 };

export interface Admission {
  readonly limits: AdmissionLimits;
  /** Counts a request that begins. Throws `overloaded`. */
  enter(): void;
  leave(): void;
  /** Counts bytes held for a request. Throws `overloaded`. */
  hold(bytes: number): void;
  release(bytes: number): void;
  inFlight(): number;
  bufferedBytes(): number;
  /** Sets the requests and bytes that other processes hold within the same limits. */
  setOtherUsage(others: AdmissionUsage): void;
}

export function createAdmission(limits: AdmissionLimits): Admission {
  const { maxInFlight, maxBufferedBytes } = limits;
  let others = NO_USAGE;
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
        throw new GatewayError("overloaded", "The gateway buffers too many bytes of other requests.");
      }
      buffered += bytes;
    },
    release(bytes) {
      buffered -= bytes;
    },
    inFlight: () => inFlight,
    bufferedBytes: () => buffered,
    setOtherUsage(usage) {
      others = usage;
    },
  };
}
