/** Semaphore with a bounded wait queue. */
import { DetectorError } from "../../core/guardrails/index.ts";

export interface Semaphore {
  readonly inFlight: number;
  readonly waiting: number;
  /** Throws `overloaded`, or rejects with the signal's reason. Each that resolves is left once. */
  readonly enter: (signal: AbortSignal) => Promise<void> | undefined;
  readonly leave: () => void;
}

export function createSemaphore(mostInFlight: number, mostWaiting: number, refused: () => void = () => {}): Semaphore {
  const waiting: (() => void)[] = [];
  let inFlight = 0;
  return {
    get inFlight() {
      return inFlight;
    },
    get waiting() {
      return waiting.length;
    },
    enter(signal) {
      signal.throwIfAborted();
      if (inFlight < mostInFlight) {
        inFlight++;
        return undefined;
      }
      if (waiting.length >= mostWaiting) {
        refused();
        throw new DetectorError("overloaded", `${mostWaiting} calls wait for its server`);
      }
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          waiting.splice(waiting.indexOf(turn), 1);
          reject(signal.reason as Error);
        };
        const turn = (): void => {
          signal.removeEventListener("abort", onAbort);
          inFlight++;
          resolve();
        };
        signal.addEventListener("abort", onAbort, { once: true });
        waiting.push(turn);
      });
    },
    leave() {
      inFlight--;
      waiting.shift()?.();
    },
  };
}
