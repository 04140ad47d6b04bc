/** Waits for work that continues even if the waiter leaves. */

/** Waits for `promise`. Rejects with the reason of `signal` if it aborts first; `promise` itself continues. */
export function waitFor<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Waits like `waitFor`, but resolves after at most `limitMs`. */
export async function waitAtMost(promise: Promise<void>, limitMs: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  try {
    await waitFor(Promise.race([promise, limit]), signal);
  } finally {
    clearTimeout(timer);
  }
}
