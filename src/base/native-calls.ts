/**
 * Tracks native calls in threads. Some libraries abort the whole process if their thread ends during a call, by `terminate` or
 * at process exit, so shutdown waits for these calls.
 */

const activeCalls = new Set<object>();
const waiters = new Set<() => void>();

/** Marks the beginning of a call. Returns a function that marks its end; call it once. */
export function beginNativeCall(): () => void {
  const call = {};
  activeCalls.add(call);
  return () => {
    if (activeCalls.delete(call) && activeCalls.size === 0) for (const settle of [...waiters]) settle();
  };
}

/** Waits for all calls to end. Returns `undefined` if there are none, otherwise whether they ended within the limit. */
export function waitForNativeCalls(limitMs: number): Promise<boolean> | undefined {
  if (activeCalls.size === 0) return undefined;
  return new Promise((resolve) => {
    const settle = (haveEnded: boolean): void => {
      clearTimeout(limit);
      waiters.delete(onIdle);
      resolve(haveEnded);
    };
    const onIdle = (): void => settle(true);
    const limit = setTimeout(() => settle(false), limitMs);
    waiters.add(onIdle);
  });
}
