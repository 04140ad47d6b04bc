/**
 * Tracks native calls in threads. Some libraries abort the whole process if their thread ends during a call, by `terminate` or
 * at process exit, so shutdown waits for these calls.
 */

const under = new Set<object>();
const waiting = new Set<() => void>();

/** Marks the beginning of a call. Returns a function that marks its end; call it once. */
export function beginNativeCall(): () => void {
  const call = {};
  under.add(call);
  return () => {
    if (under.delete(call) && under.size === 0) for (const settle of [...waiting]) settle();
  };
}

/** Waits for all calls to end. Returns `undefined` if there are none, otherwise whether they ended within the limit. */
export function nativeCallsEnded(limitMs: number): Promise<boolean> | undefined {
  if (under.size === 0) return undefined;
  return new Promise((resolve) => {
    const settle = (haveEnded: boolean): void => {
      clearTimeout(limit);
      waiting.delete(ended);
      resolve(haveEnded);
    };
    const ended = (): void => settle(true);
    const limit = setTimeout(() => settle(false), limitMs);
    waiting.add(ended);
  });
}
