/**
 * Waits for effects of another process or socket by polling a condition instead of sleeping, and closes what a test has
 * opened, last opened first.
 */
import timers from "node:timers/promises";

/** Captured when the module is loaded, since a test may replace the timers of its process. */
const { setImmediate: turn, setTimeout: pause } = timers;

/** Awaited events take milliseconds; a loaded machine gets more time. */
const LIMIT_MS = 60_000;

/** Lifetime that ends what it opened: the context of a test, or `{ after }` of `node:test` for a whole file. */
export interface Owner {
  after(close: () => void | Promise<void>): void;
}

type Close = () => unknown;
const opened = new WeakMap<Owner, Close[]>();

/** Calls `close` at the owner's end, in reverse order of registration; a failure does not stop the others. */
export function atEnd(owner: Owner, close: Close): void {
  const closers = opened.get(owner) ?? [];
  closers.push(close);
  if (closers.length > 1) return;
  opened.set(owner, closers);
  owner.after(async () => {
    const failures: unknown[] = [];
    for (const closer of closers.reverse()) {
      try {
        await closer();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
  });
}

/** Returns the first value that is not undefined or false; rejects with `what` on timeout. */
export async function eventually<Value>(
  what: string,
  look: () => Value | undefined | false | Promise<Value | undefined | false>,
  limitMs = LIMIT_MS,
): Promise<Value> {
  const startedAt = performance.now();
  for (let looks = 1; ; looks++) {
    const value = await look();
    if (value !== undefined && value !== false) return value;
    if (performance.now() - startedAt > limitMs) throw new Error(`${what} did not happen within ${limitMs} ms`);
    // The other process needs the core, which a busy wait would take.
    await (looks <= TURNS ? turn() : pause(Math.min(looks - TURNS, LONGEST_PAUSE_MS)));
  }
}

/** Immediate checks, for effects within a few turns of this process. */
const TURNS = 20;
/** Pauses between later checks grow by a millisecond each, up to this. */
const LONGEST_PAUSE_MS = 10;

/** Returns the promise's value, or rejects with `what` on timeout. */
export async function within<Value>(what: string, promise: Promise<Value>, limitMs = LIMIT_MS): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not happen within ${limitMs} ms`)), limitMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
