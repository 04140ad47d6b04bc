/**
 * Loaded into the gateway by the soak (`--require`, with `--expose-gc`): answers over the channel with what is alive after
 * a full collection. Only so can timers be counted and the heap's floor be told from its breathing. The channel does not
 * keep the gateway alive, and workers, which load this too, stay silent.
 */

import { isMainThread } from "node:worker_threads";

export interface Alive {
  readonly heapBytes: number;
  /** Memory of buffers and other objects outside the heap. */
  readonly externalBytes: number;
  /** Number of what keeps the event loop alive, by type: Timeout, TCPSocketWrap and so on. */
  readonly resources: Readonly<Record<string, number>>;
}

if (isMainThread && process.send !== undefined) {
  process.on("message", () => {
    globalThis.gc?.();
    const resources: Record<string, number> = {};
    for (const type of process.getActiveResourcesInfo()) resources[type] = (resources[type] ?? 0) + 1;
    const { heapUsed, external } = process.memoryUsage();
    const alive: Alive = { heapBytes: heapUsed, externalBytes: external, resources };
    process.send?.(alive);
  });
  process.channel?.unref();
}
