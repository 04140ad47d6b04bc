/**
 * Calls of native code in threads that may not be cut short: some libraries abort the whole process when their thread is
 * ended within one, be it by `terminate` or by the end of the process. Whoever ends the process waits for them.
 */

const under = new Set<object>();
const waiting = new Set<() => void>();

/** Begins one; what it gives ends it, once. */
export function beginNativeCall(): () => void {
  const call = {};
  under.add(call);
  return () => {
    if (under.delete(call) && under.size === 0) for (const settle of [...waiting]) settle();
  };
}

/** Undefined where there is none; else whether they ended within the limit. */
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
