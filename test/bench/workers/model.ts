/**
 * What a machine with more cores than this one would do, from what the parts cost here: a bound for each thing that can
 * saturate, and the least of them. Pure.
 *
 * A worker's requests run on its main thread, so that it takes one core at most; what the node process does for a request,
 * and its other threads (signing, raft), are one thread each whatever the number of cores. Clocks, caches and memory are
 * taken to be as here, which a machine with sixty-four cores is not: figures are upper bounds.
 */

/** Microseconds of CPU a request. */
export interface RequestCost {
  /** Of a worker's main thread, and of its other threads (collection of memory). */
  readonly worker: number;
  readonly workerRest: number;
  /** Of the node process's main thread, and of its busiest other thread (signing, where requests are recorded). */
  readonly node: number;
  readonly nodeThread: number;
  /** Of all other threads of the node process. */
  readonly nodeRest: number;
}

export interface Machine {
  readonly cores: number;
  readonly workers: number;
}

interface Predicted {
  readonly perSecond: number;
  /** What cannot do more: the part that operators would have to relieve. */
  readonly saturates: "workers" | "cores" | "node process" | "thread of the node process";
  /** Of the node process's main thread, at that rate. */
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
