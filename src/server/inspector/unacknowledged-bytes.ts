/**
 * Counts body bytes that were sent but that the peer has not read yet. They take memory like received bytes, and may do so only
 * for a limited time.
 */
import { type IdleTimeout, startIdleTimeout } from "./idle-timeout.ts";
import type { RegisteredStream } from "./stream-registry.ts";

export interface UnacknowledgedBytes {
  /** Reserves memory for bytes that are about to be sent. Returns false if there is no room. */
  readonly add: (bytes: number) => boolean;
  /** Releases the memory of bytes that were sent. */
  readonly acknowledge: (bytes: number) => void;
  readonly isWaiting: () => boolean;
  readonly end: () => void;
}

/** Counts the bytes. Calls `onStuck` once if bytes wait and none was sent for between one and two times `limitMs`. */
export function countUnacknowledgedBytes(
  reserve: RegisteredStream["reserve"],
  limitMs: number,
  onStuck: () => void,
): UnacknowledgedBytes {
  let waitingBytes = 0;
  let idleTimeout: IdleTimeout | undefined;
  const end = (): void => {
    idleTimeout?.end();
    idleTimeout = undefined;
  };
  return {
    add(bytes) {
      if (!reserve(bytes)) return false;
      waitingBytes += bytes;
      idleTimeout ??= startIdleTimeout(limitMs, onStuck);
      return true;
    },
    acknowledge(bytes) {
      reserve(-bytes);
      waitingBytes -= bytes;
      idleTimeout?.markActive();
      if (waitingBytes === 0) end();
    },
    isWaiting: () => waitingBytes > 0,
    end,
  };
}
