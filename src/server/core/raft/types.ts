/**
 * Types of the consensus core. Messages, roles and progress states have the names of etcd's raft, so that its logs, tools and
 * literature apply. The algorithm is Ongaro's dissertation with joint consensus, learners, pre-vote and check-quorum. Indexes,
 * terms and ticks are safe integers; index and term 0 mean "before the first".
 *
 * The core uses no clock, disk or network: time is `tick()`, randomness is passed in, storage is read through `LogReader`, and
 * all actions to take are in a `Ready`.
 */

/** Identifier of a node: a text in a running cluster, a number in scripted cases. One core uses only one of the two. */
export type NodeId = string | number;

export type Role = "follower" | "pre-candidate" | "candidate" | "leader";

export type EntryKind = "normal" | "conf-change";

export interface Entry {
  readonly index: number;
  readonly term: number;
  readonly kind: EntryKind;
  /** Opaque for `normal`, and empty in a new leader's first entry; an encoded `ConfChange` for `conf-change`. */
  readonly data: Uint8Array;
}

/**
 * Voters and learners, in force once the entry that contains the change is applied. If `votersOutgoing` is not empty, the
 * configuration is joint: decisions need a majority of both lists. Lists are sorted and without duplicates.
 */
export interface Configuration {
  readonly voters: readonly NodeId[];
  readonly votersOutgoing: readonly NodeId[];
  readonly learners: readonly NodeId[];
  /** Voters of the outgoing list that become learners when the joint configuration is left. */
  readonly learnersNext: readonly NodeId[];
  /** True if the leader proposes to leave the joint configuration as soon as it is applied. */
  readonly autoLeave: boolean;
}

export interface ConfChange {
  /**
   * `auto`: simple if one change suffices, otherwise joint and left automatically. Empty `changes` leave the joint
   * configuration.
   */
  readonly transition: "auto" | "joint-implicit" | "joint-explicit";
  readonly changes: readonly {
    readonly type: "add-node" | "add-learner" | "remove-node";
    readonly nodeId: NodeId;
  }[];
  /** Data of the application (addresses, storage identity), applied with the change. */
  readonly context: Uint8Array;
}

/** Durable state of a node. `vote` is `undefined` if no vote was cast in `term`. */
export interface HardState {
  readonly term: number;
  readonly vote: NodeId | undefined;
  readonly commit: number;
}

export interface SoftState {
  readonly lead: NodeId | undefined;
  readonly role: Role;
}

/** Metadata of a snapshot. The state itself is transferred outside of the core. */
export interface SnapshotMeta {
  readonly index: number;
  readonly term: number;
  readonly configuration: Configuration;
}

export type MessageType =
  | "MsgApp"
  | "MsgAppResp"
  | "MsgVote"
  | "MsgVoteResp"
  | "MsgPreVote"
  | "MsgPreVoteResp"
  | "MsgHeartbeat"
  | "MsgHeartbeatResp"
  | "MsgSnap"
  | "MsgTimeoutNow"
  | "MsgReadIndex"
  | "MsgReadIndexResp";

/** Message of any type, as on the wire. Fields that a type does not use are 0, false, empty or `undefined`. */
export interface Message {
  readonly type: MessageType;
  readonly from: NodeId;
  readonly to: NodeId;
  /** Term of the sender; 0 in MsgReadIndex and MsgReadIndexResp, which belong to no term. */
  readonly term: number;
  /** Term of the entry at `index`; in vote requests the last term of the candidate's log. */
  readonly logTerm: number;
  readonly index: number;
  readonly commit: number;
  readonly reject: boolean;
  /** True in vote requests of a leadership transfer, which a leader lease does not block. */
  readonly transfer: boolean;
  /** Index up to which the sender's log may agree with the leader's; set in a rejecting MsgAppResp. */
  readonly hintIndex: number;
  readonly hintTerm: number;
  /** Round of a heartbeat, caller's context of a read, or digests of the last entries of an append or its answer. */
  readonly context: Uint8Array | undefined;
  readonly entries: readonly Entry[];
  /** Metadata of the snapshot; set in MsgSnap. */
  readonly snapshot: SnapshotMeta | undefined;
}

export interface ReadState {
  /** Index that must be applied before the read may be served. */
  readonly index: number;
  readonly context: Uint8Array;
}

/** Identifies an append: what becomes durable with it, including all earlier appends, and the term in which it was handed out. */
export interface AppendAck {
  /** Index of the last entry that was handed out; 0 if all are durable. */
  readonly index: number;
  /** Term of the entry at `index`. */
  readonly logTerm: number;
  /** Term of the node when the append was handed out; entries of an earlier term may have been replaced since. */
  readonly term: number;
  /** Index of a snapshot that was handed out and is not installed yet; 0 if there is none. */
  readonly snapshotIndex: number;
}

/**
 * All actions to take, in the order in which they must be taken. `ready()` returns each action once, and may be called again
 * before the last append is durable. Appends must become durable in the order in which they were handed out.
 */
export interface Ready {
  /** Volatile state; set if it changed. */
  readonly softState: SoftState | undefined;
  /** Durable state; set if it changed. A change of only `commit` needs no fsync. */
  readonly hardState: HardState | undefined;
  /** Entries to append: the entry at index i replaces everything at i and above. */
  readonly entries: readonly Entry[];
  /** Snapshot to install in place of the whole log; never together with entries. Its state was already received. */
  readonly snapshot: SnapshotMeta | undefined;
  /** Entries for the state machine; all of them are durable on this node. */
  readonly committedEntries: readonly Entry[];
  /** Messages that may be sent at once. */
  readonly messages: readonly Message[];
  /**
   * Messages that may be sent only after everything in this and all earlier appends is durable and `advanceAppend(ack)` was
   * called. Messages to this node itself are passed to `step`.
   */
  readonly messagesAfterAppend: readonly Message[];
  readonly readStates: readonly ReadState[];
  /** True if there are entries or a snapshot, or if term or vote changed. */
  readonly mustSync: boolean;
  readonly ack: AppendAck;
}

/** Reader of the durable log. The core itself keeps what it handed out and is not durable yet. Synchronous. */
export interface LogReader {
  initialState(): { readonly hardState: HardState; readonly configuration: Configuration };
  /** Returns the index after the snapshot's, or of the oldest stored entry. */
  firstIndex(): number;
  /** Returns the last index; `firstIndex() - 1` if the log is empty. */
  lastIndex(): number;
  /** Returns the term of an entry, also for `firstIndex() - 1`. Returns `undefined` for compacted entries and beyond the end. */
  term(index: number): number | undefined;
  /** Returns the entries in [low, high), which are all in the log: at least one, and as many as fit into `maxBytes` of data. */
  entries(low: number, high: number, maxBytes: number): readonly Entry[];
  /** Returns the newest snapshot that can be sent to a follower. */
  snapshot(): SnapshotMeta;
}

export interface RaftOptions {
  readonly id: NodeId;
  readonly log: LogReader;
  /** Index that the state machine applied before this start; not before the beginning of the log. */
  readonly applied: number;
  readonly electionTicks: number;
  readonly heartbeatTicks: number;
  readonly maxMessageBytes: number;
  readonly maxInflightMessages: number;
  readonly maxInflightBytes: number;
  readonly maxUncommittedBytes: number;
  readonly maxUncommittedEntries: number;
  /** Maximum bytes that were delivered to the state machine and are not acknowledged. */
  readonly maxApplyingBytes: number;
  /** Returns a number that is uniform in [0, 1), from a seeded generator. */
  random(): number;
}

export type ProposeOutcome =
  /** The entry is not guaranteed to commit: a later leader may replace it. */
  | { readonly kind: "appended"; readonly index: number; readonly term: number }
  | { readonly kind: "not-leader"; readonly lead: NodeId | undefined }
  /** `busy`: too much is uncommitted. `transferring`: leadership is being transferred. */
  | { readonly kind: "refused"; readonly reason: "busy" | "transferring" }
  /** Refusals of configuration changes only: one is pending, or the leader has not committed an entry of its term yet. */
  | { readonly kind: "refused"; readonly reason: "change-pending" | "not-established" | "not-joint" | "invalid" };

export type ProgressState = "StateProbe" | "StateReplicate" | "StateSnapshot";

export interface ProgressStatus {
  readonly match: number;
  readonly next: number;
  readonly state: ProgressState;
  readonly recentActive: boolean;
  readonly isLearner: boolean;
  readonly pendingSnapshot: number;
  readonly inflightMessages: number;
  readonly paused: boolean;
}

/**
 * Entry that is committed here, or has other contents under the same index and term, and that the leader's log does not have.
 * This is impossible while every disk keeps what was synced: a majority has lost it and has decided otherwise since.
 */
export interface Loss {
  readonly index: number;
  /** Node that has the entry; `undefined` if the leader reported the loss. */
  readonly heldBy: NodeId | undefined;
}

export interface RaftStatus {
  readonly id: NodeId;
  readonly term: number;
  readonly vote: NodeId | undefined;
  readonly commit: number;
  readonly applied: number;
  readonly lastIndex: number;
  readonly role: Role;
  readonly lead: NodeId | undefined;
  readonly leadTransferee: NodeId | undefined;
  readonly configuration: Configuration;
  readonly loss: Loss | undefined;
  /** Progress of every member, including this node; empty unless this node leads. */
  readonly progress: ReadonlyMap<NodeId, ProgressStatus>;
}

/** Consensus core. Methods never throw on what a peer sends; they throw on misuse by this process, which is a bug. */
export interface Raft {
  /** Handles one message, from a peer or from this node's own `messagesAfterAppend`. */
  step(message: Message): void;
  tick(): void;
  propose(data: Uint8Array): ProposeOutcome;
  proposeConf(change: ConfChange): ProposeOutcome;
  /** Requests a read. It is answered in `readStates`, or never: then repeat it with a new context. A follower asks its leader. */
  readIndex(context: Uint8Array): void;
  transferLeader(to: NodeId): void;
  /** Starts an election at once, with a pre-vote. */
  campaign(): void;
  reportUnreachable(id: NodeId): void;
  reportSnapshot(id: NodeId, isInstalled: boolean): void;
  /**
   * Applies a `conf-change` entry and returns the new configuration. Call it before `advanceApply`, even if the change has no
   * effect.
   */
  applyConfChange(change: ConfChange): Configuration;
  hasReady(): boolean;
  ready(): Ready;
  /** Notes that all appends up to and including that of `ack` are durable. */
  advanceAppend(ack: AppendAck): void;
  /** Notes that committed entries up to `index`, or a snapshot at `index`, are applied. */
  advanceApply(index: number): void;
  /** Makes this node leave elections to the others, and campaign only if no other leads for a long time. */
  setReluctant(isReluctant: boolean): void;
  /** Sets the timeout in ticks, for scripted tests. */
  setRandomizedElectionTimeout(ticks: number): void;
  status(): RaftStatus;
}
