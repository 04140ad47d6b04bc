/**
 * `AbortSignal.any` that keeps its sources. Before Node 22 a composite signal references its sources weakly, and
 * nothing else references `AbortSignal.timeout`: after a garbage collection that timeout never fires, and the wait has
 * no limit.
 */

const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/** Returns a signal that aborts with the first of `signals`, with its reason. */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const signal = AbortSignal.any([...signals]);
  // Node keeps a signal while something listens to it, and this map keeps its sources as long.
  if (!signal.aborted) sources.set(signal, signals);
  return signal;
}
