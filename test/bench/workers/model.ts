/**
 * Prediction for a machine with more cores, from the costs of the parts here: a bound for each thing that can saturate,
 * and the minimum of them. Pure.
 *
 * A worker's requests run on its main thread, so that it uses one core at most; the node process's work for a request,
 * and its other threads (signing, raft), are one thread each for any number of cores. Clocks, caches and memory are
 * assumed to be as here, unlike on a machine with sixty-four cores: figures are upper bounds.
 */

/** Microseconds of CPU per request. */
export interface RequestCost {
  /** A worker's main thread, and its other threads (garbage collection). */
  readonly worker: number;
  readonly workerRest: number;
  /** The node process's main thread, and its busiest other thread (signing, if requests are recorded). */
  readonly node: number;
  readonly nodeThread: number;
  /** All other threads of the node process. */
  readonly nodeRest: number;
}

export interface Machine {
  readonly cores: number;
  readonly workers: number;
}

interface Predicted {
  readonly perSecond: number;
  /** The saturated part, which operators would have to relieve. */
  readonly saturates: "workers" | "cores" | "node process" | "thread of the node process";
  /** Busy share of the node process's main thread, at that rate. */
  readonly nodeBusy: number;
}

export function predict(cost: RequestCost, { cores, workers }: Machine): Predicted {
  const { worker, workerRest, node, nodeThread, nodeRest } = cost;
  const bounds: readonly (readonly [Predicted["saturates"], number])[] = [
    ["workers", (workers * 1e6) / worker],
    ["cores", (cores * 1e6) / (worker + workerRest + node + nodeThread + nodeRest)],
    ["node process", 1e6 / node],
    ["thread of the node process", 1e6 / nodeThread],
  ];
  const [saturates, perSecond] = bounds.reduce((least, bound) => (bound[1] < least[1] ? bound : least));
  return { perSecond, saturates, nodeBusy: (perSecond * node) / 1e6 };
}
