/** Interface of the network between replicas. */

import type { Log } from "../../../base/index.ts";
import type { Message } from "../../core/raft/index.ts";
import type { Identity, Peer } from "../identity/index.ts";
import type { SnapshotRecord } from "../storage/types.ts";
import type { Hello, ListenerStats, SelfDescription, Timing } from "../wire/index.ts";
import type { PulsePorts } from "./pulse.ts";

export interface TransportOptions {
  /** Address to listen on. */
  readonly listen: string;
  readonly identity: Identity;
  /** Facts about this node, which are read again at each hello, so that getters may return new values. */
  readonly self: SelfDescription;
  /**
   * Returns a refusal code that depends on the members and their storages (`not_a_member`, `storage_changed`), or
   * `undefined`. Called at each hello, and by `setPeers` for every open connection, so it must not call `setPeers` itself
   * each time.
   */
  refusalCodeFor(hello: Hello, peer: Peer): string | undefined;
  /** Like `refusalCodeFor`, but called once for each new connection for messages. */
  rollbackCodeFor(hello: Hello): string | undefined;
  /** See `RivalsOptions`. */
  decidesRivalry(nodeId: string): boolean;
  /** Called when a peer refuses this node, with a code. */
  onRefused(code: string, peerId: string): void;
  /** Called when this node refuses a peer, with a code. */
  onRefusing(code: string, peerId: string): void;
  readonly pulse: PulsePorts;
  /** Called for a message from the peer that it names, to this node. Never a MsgSnap. */
  onMessage(message: Message): void;
  /** Called when messages to the peer were dropped: its queue was full, or its connection broke or could not be made. */
  onUnreachable(peerId: string): void;
  /** Called when a leader reports that this node was removed by the entry at `index`. */
  onRemoved(index: number, from: string): void;
  /** Returns the final path of a snapshot. It is received beside this path, as `snap-<term>-<index>.recv`. */
  snapshotPath(meta: { readonly index: number; readonly term: number }): string;
  /** Returns whether there is room for `size` bytes. */
  mayReceive(size: number): boolean | Promise<boolean>;
  /** Called when the file is complete, checked, durable and under its final name. `message`: the MsgSnap to pass to consensus. */
  onSnapshotReceived(message: Message, record: SnapshotRecord): void;
  readonly log: Log;
  readonly timing?: Timing;
}

/** Connection on which this node sends to a peer. */
export interface PeerConnection {
  readonly id: string;
  readonly state: "connecting" | "up" | "down";
  /** Reason why the connection is or was last down; `undefined` once it is up. */
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

export interface Transport {
  /** Bound address as `host:port`. */
  readonly address: string;
  /** Sends a message. It may be dropped: silently for an unknown peer, otherwise with `onUnreachable`. Throws for a MsgSnap. */
  send(message: Message): void;
  /** Sets the peers, without this node. A peer that is no longer included is disconnected after what was sent to it has left. */
  setPeers(peers: ReadonlyMap<string, { readonly raftAddr: string }>): void;
  /**
   * Sends a snapshot. Resolves when the peer has stored the file durably. Rejects with a `SnapshotRefused`, a `DialError`, the
   * error of the link, or the signal's reason; the same call again continues where the peer stopped.
   */
  sendSnapshot(to: string, message: Message, record: SnapshotRecord, path: string, signal: AbortSignal): Promise<void>;
  /**
   * Tells a peer that it is no longer a member from `index` on, without an answer. Call it before `setPeers` without the peer.
   */
  sendRemoved(to: string, index: number): void;
  connections(): readonly PeerConnection[];
  stats(): ListenerStats;
  close(): Promise<void>;
}
