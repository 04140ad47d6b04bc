/** Waits for effects of other processes by polling a condition up to a limit. */
import { setTimeout as pause } from "node:timers/promises";

/** Awaited events take a second or two; a loaded machine gets more time. */
export const LIMIT_MS = 60_000;

/** Interval between two checks; a check is a request to a busy process. */
const BETWEEN_MS = 15;

/**
 * Returns the first value that is not undefined or false; rejects with `what` on timeout. A rejected check counts as no
 * result, and the last rejection is reported.
 */
export async function until<Value>(
  what: string,
  look: () => Value | undefined | false | Promise<Value | undefined | false>,
  limitMs = LIMIT_MS,
): Promise<Value> {
  const startedAt = performance.now();
  let last: unknown;
  for (;;) {
    try {
      const value = await look();
      if (value !== undefined && value !== false) return value;
      last = undefined;
    } catch (error) {
      if (error instanceof GivenUp) throw error;
      last = error;
    }
    if (performance.now() - startedAt > limitMs) {
      const reason = last instanceof Error ? `: ${last.message}` : "";
      throw new Error(`${what} did not happen within ${limitMs} ms${reason}`, { cause: last });
    }
    await pause(BETWEEN_MS);
  }
}

/** Thrown by a check that knows it can no longer succeed. */
export class GivenUp extends Error {
  override readonly name = "GivenUp";
}
