/**
 * Types of the consensus core. Messages, roles and progress states have the names of etcd's raft, so that logs, tools and
 * literature apply. The algorithm is Ongaro's dissertation with joint consensus, learners, pre-vote and check-quorum. Indexes,
 * terms and ticks are safe integers; index and term 0 mean "before the first".
 *
 * The core knows neither time nor disk nor network: time is `tick()`, randomness is passed in, storage is read through
 * `LogReader`, and all actions to take are in a `Ready`.
 */

/** A text in a running cluster, a number in scripted cases. One core sees one kind only. */
export type NodeId = string | number;

export type Role = "follower" | "pre-candidate" | "candidate" | "leader";

export type EntryKind = "normal" | "conf-change";

export interface Entry {
  readonly index: number;
  readonly term: number;
  readonly kind: EntryKind;
  /** Opaque for `normal`, empty in a new leader's first entry; an encoded `ConfChange` for `conf-change`. */
  readonly data: Uint8Array;
}

/**
 * Voters and learners; in effect once the entry that makes it is applied. If `votersOutgoing` is not empty the configuration is
 * joint: decisions need a majority of both lists. Lists are sorted and without duplicates.
 */
export interface Configuration {
  readonly voters: readonly NodeId[];
  readonly votersOutgoing: readonly NodeId[];
  readonly learners: readonly NodeId[];
  /** Voters of the outgoing list that become learners when the joint configuration is left. */
  readonly learnersNext: readonly NodeId[];
  /** The leader proposes to leave the joint configuration as soon as it is applied. */
  readonly autoLeave: boolean;
}

export interface ConfChange {
  /**
   * `auto`: simple if one change suffices, otherwise joint and left automatically. Empty `changes`: leave the joint
   * configuration.
   */
  readonly transition: "auto" | "joint-implicit" | "joint-explicit";
  readonly changes: readonly {
    readonly type: "add-node" | "add-learner" | "remove-node";
    readonly nodeId: NodeId;
  }[];
  /** Opaque to the core; applied with the change (addresses, storage identity). */
  readonly context: Uint8Array;
}

/** `vote`: `undefined` if no vote was cast in `term`. */
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

/** One shape for all types, as on the wire. Fields that a type does not use are 0, false, empty or `undefined`. */
export interface Message {
  readonly type: MessageType;
  readonly from: NodeId;
  readonly to: NodeId;
  /** 0 in MsgReadIndex and MsgReadIndexResp, which belong to no term. */
  readonly term: number;
  /** Term of the entry at `index`; in votes the last term of the candidate's log. */
  readonly logTerm: number;
  readonly index: number;
  readonly commit: number;
  readonly reject: boolean;
  /** Set in votes for a leadership transfer, which a leader lease does not stop. */
  readonly transfer: boolean;
  /** Set in a rejecting MsgAppResp: where the sender's log may agree with the leader's. */
  readonly hintIndex: number;
  readonly hintTerm: number;
  /** The round of a heartbeat, the caller's context of a read, or what the last entries of an append or its answer hold. */
  readonly context: Uint8Array | undefined;
  readonly entries: readonly Entry[];
  /** Set in MsgSnap. */
  readonly snapshot: SnapshotMeta | undefined;
}

export interface ReadState {
  /** The read may be served once this much is applied. */
  readonly index: number;
  readonly context: Uint8Array;
}

/** Names what becomes durable with an append, together with all earlier ones, and under which term it was handed out. */
export interface AppendAck {
  /** Index of the last entry handed out; 0 if none waits to become durable. */
  readonly index: number;
  /** Term of the entry at `index`. */
  readonly logTerm: number;
  /** The node's own when the append was handed out; entries of an earlier term may have been replaced since. */
  readonly term: number;
  /** Index of a snapshot that was handed out and is not installed yet; 0 without one. */
  readonly snapshotIndex: number;
}

/**
 * Everything to be done, in order of obligation. `ready()` hands each thing out once and may be called again before the
 * last append is durable; appends become durable in the order in which they were handed out.
 */
export interface Ready {
  /** Set if it changed. Volatile. */
  readonly softState: SoftState | undefined;
  /** Set if it changed. A change of only `commit` needs no fsync. */
  readonly hardState: HardState | undefined;
  /** Entries to append: the entry at index i replaces everything at i and above. */
  readonly entries: readonly Entry[];
  /** Snapshot to install in place of the whole log; never together with entries. The state has been received already. */
  readonly snapshot: SnapshotMeta | undefined;
  /** Entries for the state machine; all of them are durable here. */
  readonly committedEntries: readonly Entry[];
  /** Messages that may leave at once. */
  readonly messages: readonly Message[];
  /**
   * Messages that may leave only after everything in this and all earlier appends is durable and `advanceAppend(ack)` was
   * called. Those to this node itself are passed to `step`.
   */
  readonly messagesAfterAppend: readonly Message[];
  readonly readStates: readonly ReadState[];
  /** Entries or a snapshot are present, or term or vote changed. */
  readonly mustSync: boolean;
  readonly ack: AppendAck;
}

/** The durable log as the core reads it; the core remembers what it handed out and is not durable yet. Synchronous. */
export interface LogReader {
  initialState(): { readonly hardState: HardState; readonly configuration: Configuration };
  /** Index after the snapshot's, or of the oldest entry kept. */
  firstIndex(): number;
  /** `firstIndex() - 1` when the log is empty. */
  lastIndex(): number;
  /** Returns `undefined` for compacted entries and beyond the end; known for `firstIndex() - 1`. */
  term(index: number): number | undefined;
  /** Entries in [low, high), at least one, cut when their data would pass `maxBytes`; all of them are in the log. */
  entries(low: number, high: number, maxBytes: number): readonly Entry[];
  /** The newest snapshot that can be sent to a follower. */
  snapshot(): SnapshotMeta;
}

export interface RaftOptions {
  readonly id: NodeId;
  readonly log: LogReader;
  /** Applied by the state machine before this start; not before the log begins. */
  readonly applied: number;
  readonly electionTicks: number;
  readonly heartbeatTicks: number;
  readonly maxMessageBytes: number;
  readonly maxInflightMessages: number;
  readonly maxInflightBytes: number;
  readonly maxUncommittedBytes: number;
  readonly maxUncommittedEntries: number;
  /** Bytes handed to the state machine and not yet acknowledged. */
  readonly maxApplyingBytes: number;
  /** Uniform in [0, 1), from a seeded generator. */
  random(): number;
}

export type ProposeOutcome =
  /** No guarantee: a later leader may replace the entry. */
  | { readonly kind: "appended"; readonly index: number; readonly term: number }
  | { readonly kind: "not-leader"; readonly lead: NodeId | undefined }
  /** `busy`: too much is uncommitted. `transferring`: leadership is being handed over. */
  | { readonly kind: "refused"; readonly reason: "busy" | "transferring" }
  /** Only for configuration changes: one is pending, or the leader has not committed an entry of its term yet. */
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
 * Entry that is committed, or has other contents under the same index and term, and is missing in the leader's log. This is
 * impossible while every disk keeps what was synced: a majority has lost it and has decided otherwise since.
 */
export interface Loss {
  readonly index: number;
  /** Node that has the entry; `undefined` if the leader reports it. */
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
  /** Progress of every member, including this node; empty unless it leads. */
  readonly progress: ReadonlyMap<NodeId, ProgressStatus>;
}

/** The core. Methods never throw on what a peer sends; they throw on misuse by this process, which is a bug. */
export interface Raft {
  /** Takes one message, from a peer or from this node's own `messagesAfterAppend`. */
  step(message: Message): void;
  tick(): void;
  propose(data: Uint8Array): ProposeOutcome;
  proposeConf(change: ConfChange): ProposeOutcome;
  /** Answers through `readStates`, or never: ask again under a fresh context. A follower asks its leader. */
  readIndex(context: Uint8Array): void;
  transferLeader(to: NodeId): void;
  /** Starts an election at once, pre-vote first. */
  campaign(): void;
  reportUnreachable(id: NodeId): void;
  reportSnapshot(id: NodeId, isInstalled: boolean): void;
  /** Call when a `conf-change` entry is applied, before `advanceApply`, even if it changes nothing. */
  applyConfChange(change: ConfChange): Configuration;
  hasReady(): boolean;
  ready(): Ready;
  /** Appends up to and with the one of `ack` are durable. */
  advanceAppend(ack: AppendAck): void;
  /** Committed entries up to `index` are applied, or a snapshot at `index` is. */
  advanceApply(index: number): void;
  /** Makes this node leave elections to the others, and campaign only if nobody else leads for long. */
  setReluctant(isReluctant: boolean): void;
  /** Sets the timeout in ticks, for scripted tests. */
  setRandomizedElectionTimeout(ticks: number): void;
  status(): RaftStatus;
}
