/** Maps items asynchronously with a concurrency limit. */

/**
 * Returns the results of `call` in the order of the items. At most `concurrency` calls run at a time. The first failure aborts
 * the others through the signal passed to `call`, and is the reason of the rejection.
 */
export async function mapWithLimit<Item, Result>(
  items: readonly Item[],
  concurrency: number,
  signal: AbortSignal,
  call: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  const abortAll = new AbortController();
  const onAbort = (): void => abortAll.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  let next = 0;
  const runWorker = async (): Promise<void> => {
    while (next < items.length && !abortAll.signal.aborted) {
      const at = next++;
      results[at] = await call(items[at] as Item, abortAll.signal);
    }
  };
  try {
    const workers = Array.from({ length: Math.min(concurrency, items.length) }, () =>
      runWorker().catch((error: unknown) => {
        abortAll.abort(error);
      }),
    );
    await Promise.all(workers);
    abortAll.signal.throwIfAborted();
    return results;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
