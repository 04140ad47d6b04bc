/** Waiting for what other processes bring about: a condition is looked at again and again, up to a limit. */
import { setTimeout as pause } from "node:timers/promises";

/** What is awaited takes a second or two; a machine under load is given this long. */
export const LIMIT_MS = 60_000;

/** Between two looks; a look is a request to a process that has work of its own. */
const BETWEEN_MS = 15;

/**
 * The first value that is not undefined or false; rejects, naming `what`, when none comes in time. A look that rejects is
 * a look that saw nothing, and the last rejection is told.
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
      const why = last instanceof Error ? `: ${last.message}` : "";
      throw new Error(`${what} did not happen within ${limitMs} ms${why}`, { cause: last });
    }
    await pause(BETWEEN_MS);
  }
}

/** Thrown by a look that knows that nothing will come of it any more. */
export class GivenUp extends Error {
  override readonly name = "GivenUp";
}
