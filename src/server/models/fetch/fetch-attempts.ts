/**
 * Retries temporary failures: up to five attempts in a row without progress, after 1, 2, 4 and 8 seconds or as the
 * server asks.
 */
import { ModelError } from "../model-error.ts";

const MAX_ATTEMPTS = 5;
const FIRST_WAIT_MS = 1_000;

export interface RetryTiming {
  /** Waits. Rejects with the signal's reason. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** Returns a random number in [0, 1). */
  random(): number;
}

/**
 * Runs `work` until it succeeds or may not be retried. `work` calls `onProgress` when it progresses further than any attempt
 * before.
 */
export async function withRetries<Result>(
  work: (onProgress: () => void) => Promise<Result>,
  timing: RetryTiming,
  signal: AbortSignal,
): Promise<Result> {
  let failures = 0;
  const onProgress = (): void => {
    failures = 0;
  };
  for (;;) {
    try {
      return await work(onProgress);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ModelError) || error.fault !== "unreachable") throw error;
      failures += 1;
      if (failures >= MAX_ATTEMPTS) throw error;
      const backoffMs = FIRST_WAIT_MS * 2 ** (failures - 1) * (0.75 + timing.random() / 2);
      await timing.wait(error.retryAfterMs ?? backoffMs, signal);
    }
  }
}

export const systemRetryTiming: RetryTiming = {
  random: Math.random,
  wait: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        if (signal.aborted) reject(signal.reason);
        else resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener("abort", end, { once: true });
    }),
};
