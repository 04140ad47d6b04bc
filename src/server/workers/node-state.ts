/**
 * Sends the facts of the node that affect decisions about requests from the node process to a worker: all of them, at each
 * change.
 */
import type { Channel } from "./channel/index.ts";

interface NodeState {
  /** Whether the cluster has removed the node. Its data plane then refuses requests. */
  readonly isRemoved: boolean;
  /** Node's time minus the machine's monotonic clock, in milliseconds; `undefined` before the first message. */
  readonly originMs: number | undefined;
}

export interface NodeStateSource {
  read(): NodeState;
  /** Registers a listener that is called after a fact has changed. Returns a function that removes it. */
  onChange(listener: () => void): () => void;
}

/** Feeds a worker from the node process. Returns a function that stops it. */
export function feedNodeState(channel: Channel, source: NodeStateSource): () => void {
  const send = (): void => channel.send("node.state", source.read());
  send();
  return source.onChange(send);
}

/** Follows the node's state in a worker. */
export function followNodeState(channel: Channel): NodeStateSource {
  let state: NodeState = { isRemoved: false, originMs: undefined };
  const listeners = new Set<() => void>();
  channel.on("node.state", (body) => {
    state = body as NodeState;
    for (const listener of [...listeners]) listener();
  });
  return {
    read: () => state,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
