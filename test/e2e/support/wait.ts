/**
 * Waiting for what another process or socket brings about (a condition is looked at again, never a time slept away), and
 * closing what a test has opened, last opened first.
 */
import timers from "node:timers/promises";

/** Taken when the module is loaded: a test may replace the timers of its process. */
const { setImmediate: turn, setTimeout: pause } = timers;

/** What is awaited happens in milliseconds; a machine under load is given this long. */
const LIMIT_MS = 60_000;

/** Whose end ends what it opened: the context of a test, or `{ after }` of `node:test` for a whole file. */
export interface Owner {
  after(close: () => void | Promise<void>): void;
}

type Close = () => unknown;
const opened = new WeakMap<Owner, Close[]>();

/** Calls `close` at the owner's end, in the reverse order of these calls; a failure does not keep the others back. */
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

/** The first value that is not undefined or false; rejects, naming `what`, when none comes in time. */
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
    // The other process needs the core: a wait that spins takes it away.
    await (looks <= TURNS ? turn() : pause(Math.min(looks - TURNS, LONGEST_PAUSE_MS)));
  }
}

/** Looks that follow each other at once, for what takes some turns of this process. */
const TURNS = 20;
/** Pauses between further looks become longer by a millisecond each, up to this. */
const LONGEST_PAUSE_MS = 10;

/** The promise's value, or a rejection naming `what` when it does not settle in time. */
export async function within<Value>(what: string, promise: Promise<Value>, limitMs = LIMIT_MS): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not happen within ${limitMs} ms`)), limitMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
