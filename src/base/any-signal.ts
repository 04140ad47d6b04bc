/**
 * `AbortSignal.any` whose sources stay. Before Node 22 a composite signal holds its sources weakly, and nothing else holds
 * `AbortSignal.timeout`: once the collector has run, that timeout never fires and the wait has no limit.
 */

const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/** Returns a signal that aborts with the first of `signals`, with its reason. */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const signal = AbortSignal.any([...signals]);
  // Node keeps a signal while something listens to it, and this keeps the sources as long.
  if (!signal.aborted) sources.set(signal, signals);
  return signal;
}
