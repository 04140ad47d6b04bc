/** Work on items of a sequence, some at once, until it ends or is interrupted. */

import { setImmediate as turn } from "node:timers/promises";

/** Gives how many were done. Between two items the event loop has a turn, so that an interrupt is heard. */
export async function eachOf<Item>(
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
      // Failures after an interrupt say nothing new.
      if (!signal.aborted) throw error;
    });
  const outcomes = await Promise.allSettled(Array.from({ length: parallel }, guarded));
  await iterator.return?.();
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return done;
}
