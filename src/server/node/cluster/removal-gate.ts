/**
 * Takes a node that was removed from its cluster out of service: it becomes not ready immediately, so that load balancers send
 * their traffic elsewhere, and after ten seconds its data plane refuses everything, since its keys and suspensions no longer
 * follow the cluster's. A node that knew of its removal before its start refuses from the start. Source: design decisions,
 * section 20.
 */
import type { Cluster, ClusterStatus } from "../../cluster/index.ts";
import type { NodeStateSource } from "../../workers/index.ts";

/** Time between learning of the removal and the first refusal, in milliseconds. */
const GRACE_MS = 10_000;

const REASON =
  "this node was removed from its cluster: stop it, or start it again with `cluster.join` to have it admitted again";

export interface RemovalGate {
  /** Returns whether requests are refused. */
  isClosed(): boolean;
  /** Called after `isClosed` has changed. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
  close(): void;
}

export function openRemovalGate(
  cluster: Pick<Cluster, "status" | "onStatus">,
  reasons: Set<string>,
  graceMs: number = GRACE_MS,
): RemovalGate {
  const listeners = new Set<() => void>();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  const setClosed = (closed: boolean): void => {
    if (isClosed === closed) return;
    isClosed = closed;
    for (const listener of [...listeners]) listener();
  };
  const follow = ({ role }: ClusterStatus): void => {
    if (role === "removed") {
      reasons.add(REASON);
      timer ??= setTimeout(() => setClosed(true), graceMs).unref();
      return;
    }
    reasons.delete(REASON);
    clearTimeout(timer);
    timer = undefined;
    setClosed(false);
  };

  const status = cluster.status();
  follow(status);
  if (status.role === "removed") setClosed(true);
  const unlisten = cluster.onStatus(follow);
  return {
    isClosed: () => isClosed,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      unlisten();
      clearTimeout(timer);
    },
  };
}

/**
 * Change of the time offset below which no message is sent to a worker process, in milliseconds; a slewed clock moves by less.
 */
const MIN_REPORTED_DRIFT_MS = 5;

/** Returns the node state that is sent to the worker processes. */
export function nodeStateOf(
  cluster: Pick<Cluster, "status" | "onStatus">,
  removal: Pick<RemovalGate, "isClosed" | "onChange">,
): NodeStateSource {
  return {
    read: () => ({ isRemoved: removal.isClosed(), originMs: cluster.status().time.originMs }),
    onChange(listener) {
      let lastOriginMs = cluster.status().time.originMs;
      const unlisten = cluster.onStatus(({ time: { originMs } }) => {
        if (Math.abs(originMs - lastOriginMs) < MIN_REPORTED_DRIFT_MS) return;
        lastOriginMs = originMs;
        listener();
      });
      const end = removal.onChange(listener);
      return () => {
        unlisten();
        end();
      };
    },
  };
}
