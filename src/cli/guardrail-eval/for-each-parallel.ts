/** Runs work on the items of a sequence, several at a time, until it ends or is interrupted. */

import { setImmediate as turn } from "node:timers/promises";

/** Returns the number of items done. Yields to the event loop between two items, so that an interrupt is noticed. */
export async function forEachParallel<Item>(
  items: AsyncIterable<Item>,
  parallel: number,
  signal: AbortSignal,
  work: (item: Item, index: number) => Promise<void>,
): Promise<number> {
  const iterator = items[Symbol.asyncIterator]();
  let [next, done] = [0, 0];
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    while (!signal.aborted && !hasFailed) {
      const item = await iterator.next();
      if (item.done) return;
      const index = next;
      next += 1;
      await work(item.value, index);
      done += 1;
      await turn();
    }
  };
  const guarded = (): Promise<void> =>
    worker().catch((error: unknown) => {
      hasFailed = true;
      // Failures after an interrupt do not matter.
      if (!signal.aborted) throw error;
    });
  const outcomes = await Promise.allSettled(Array.from({ length: parallel }, guarded));
  await iterator.return?.();
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return done;
}
