/** Maps items asynchronously with a concurrency limit. */

/**
 * Returns the results of `call` in the order of the items. At most `most` calls run at a time. The first failure aborts
 * the others through the signal passed to `call`, and is the reason of the rejection.
 */
export async function mapWithLimit<Item, Made>(
  items: readonly Item[],
  most: number,
  signal: AbortSignal,
  call: (item: Item, signal: AbortSignal) => Promise<Made>,
): Promise<Made[]> {
  const made: Made[] = new Array(items.length);
  const failing = new AbortController();
  const onAbort = (): void => failing.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < items.length && !failing.signal.aborted) {
      const at = next++;
      made[at] = await call(items[at] as Item, failing.signal);
    }
  };
  try {
    const workers = Array.from({ length: Math.min(most, items.length) }, () =>
      work().catch((error: unknown) => {
        failing.abort(error);
      }),
    );
    await Promise.all(workers);
    failing.signal.throwIfAborted();
    return made;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
