/**
 * Retries temporary failures: up to five attempts in a row without progress, after 1, 2, 4 and 8 seconds or as the
 * server asks.
 */
import { ModelError } from "../model-error.ts";

const ATTEMPTS = 5;
const FIRST_WAIT_MS = 1_000;

export interface Waiting {
  /** Waits. Rejects with the signal's reason. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** Returns a random number in [0, 1). */
  random(): number;
}

/**
 * Runs `work` until it succeeds or may not be retried. `work` calls `moved` when it progresses further than any attempt
 * before.
 */
export async function repeated<Result>(
  work: (moved: () => void) => Promise<Result>,
  waiting: Waiting,
  signal: AbortSignal,
): Promise<Result> {
  let failed = 0;
  const moved = (): void => {
    failed = 0;
  };
  for (;;) {
    try {
      return await work(moved);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ModelError) || error.fault !== "unreachable") throw error;
      failed += 1;
      if (failed >= ATTEMPTS) throw error;
      const backoff = FIRST_WAIT_MS * 2 ** (failed - 1) * (0.75 + waiting.random() / 2);
      await waiting.wait(error.retryAfterMs ?? backoff, signal);
    }
  }
}

export const systemWaiting: Waiting = {
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
