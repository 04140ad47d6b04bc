/** Interfaces of a running replica: to its thread, and to the network. */

import type { Log } from "../../base/index.ts";
import type { Message } from "../core/raft/index.ts";
import type { CommandResult, Member, Mutation, State } from "../core/state/index.ts";
import type { Row } from "./consensus/applied-state.ts";
import type { Peers } from "./members/peers.ts";
import type { Network } from "./network.ts";
import type { SavedSnapshot } from "./raft-worker-protocol.ts";
import type { Requests } from "./requests/cluster-requests.ts";
import type { SnapshotRecord, Storage } from "./storage/index.ts";
import type { ClusterOptions, ClusterStatus } from "./types.ts";

export interface ReplicaEvents {
  /** Called after each applied batch. `now`: log time at `index`. */
  onApplied(mutations: readonly Mutation[], index: number, now: number): void;
  onReplaced(slices: Iterable<readonly Row[]>, index: number, now: number): void;
  onStatus(status: ClusterStatus): void;
  /** Called with the seconds of each durable write of the log. */
  onTiming(fsyncSeconds: readonly number[]): void;
  /** Answers another member's query for this node's measurements; `undefined` if there is no answer. */
  onQuestion(question: unknown, timeoutMs: number): Promise<Uint8Array | undefined>;
  /** Called when the replica cannot continue. */
  onFault(error: unknown): void;
  readonly log: Log;
}

export interface ReplicaParts {
  readonly options: ClusterOptions;
  readonly clusterId: string | undefined;
  readonly storage: Storage;
  readonly network: Network;
  readonly state: State;
  /** This node as described to its peers. */
  readonly self: Member;
  /** Facts about members that are not in the rows, by id: from an admission, or from the members' own reports. Modified here. */
  readonly reportedMembers: Map<string, Member>;
  readonly events: ReplicaEvents;
}

export interface Replica {
  /** Writes a command. `waitsForApply`: whether to wait until its effect is readable on this node. */
  write(command: Uint8Array, timeoutMs: number, waitsForApply?: boolean): Promise<CommandResult>;
  readBarrier(timeoutMs: number): Promise<void>;
  prune(keep: readonly string[], timeoutMs: number): Promise<void>;
  remove(id: string, timeoutMs: number): Promise<void>;
  transfer(to: string | undefined, timeoutMs: number): Promise<string>;
  saveSnapshot(isStaleAllowed: boolean): Promise<SavedSnapshot>;
  /** Returns what the member has measured; `undefined` without an answer. `question`: JSON. */
  askMember(id: string, question: unknown, timeoutMs: number): Promise<Uint8Array | undefined>;
  /** Reports everything applied so far. */
  flush(): void;
  /** Runs `run` and then sends everything that it requested to the log and the peers together. */
  batch(run: () => void): void;
  handOver(): Promise<void>;
  /** Stops the replica. The opener closes storage and network. */
  stop(): Promise<void>;

  /** The network uses this field and those below. */
  readonly requests: Requests;
  readonly peers: Peers;
  onMessage(message: Message): void;
  onSnapshot(message: Message, record: SnapshotRecord): void;
  onRemoved(index: number): void;
  reportUnreachable(id: string): void;
}
