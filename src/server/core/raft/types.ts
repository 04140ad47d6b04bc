/**
 * The words of the consensus core. Names of messages, roles and progress states are those of etcd's raft, so that logs,
 * tools and literature apply; the algorithm is Ongaro's dissertation with joint consensus, learners, pre-vote and
 * check-quorum. Indexes, terms and ticks are safe integers; index and term 0 mean "before the first".
 *
 * Nothing here knows of time, disk or network: time is `tick()`, randomness is given, storage is read through
 * `LogReader`, and everything to be done stands in a `Ready`.
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
 * Who votes and who listens; effective when the entry that makes it is applied. With `votersOutgoing` not empty it is
 * joint: a decision needs a majority of both lists. Lists are sorted and free of duplicates.
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
  /** `auto`: simple where one change suffices, else joint and left by itself. Empty `changes`: leave the joint one. */
  readonly transition: "auto" | "joint-implicit" | "joint-explicit";
  readonly changes: readonly {
    readonly type: "add-node" | "add-learner" | "remove-node";
    readonly nodeId: NodeId;
  }[];
  /** Not looked at by the core; applied with the change (addresses, storage identity). */
  readonly context: Uint8Array;
}

/** `vote`: undefined when no vote was cast in `term`. */
export interface HardState {
  readonly term: number;
  readonly vote: NodeId | undefined;
  readonly commit: number;
}

export interface SoftState {
  readonly lead: NodeId | undefined;
  readonly role: Role;
}

/** What a snapshot stands for. The state itself travels outside of the core. */
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

/** One shape for all types, as on the wire; a field that a type does not use is 0, false, empty or undefined. */
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
  /** In votes: the campaign of a leadership transfer, which a lease does not stop. */
  readonly transfer: boolean;
  /** In a rejecting MsgAppResp: where the sender's log may agree with the leader's. */
  readonly hintIndex: number;
  readonly hintTerm: number;
  /** The round of a heartbeat, the caller's context of a read, or what the last entries of an append or its answer hold. */
  readonly context: Uint8Array | undefined;
  readonly entries: readonly Entry[];
  /** In MsgSnap. */
  readonly snapshot: SnapshotMeta | undefined;
}

export interface ReadState {
  /** The read may be served once this much is applied. */
  readonly index: number;
  readonly context: Uint8Array;
}

/** Names what becomes durable with an append, together with all earlier ones, and under which term it was handed out. */
export interface AppendAck {
  /** Of the last entry handed out so far; 0 when none waits to become durable. */
  readonly index: number;
  /** Of the entry at `index`. */
  readonly logTerm: number;
  /** The node's own when the append was handed out; entries of an earlier term may have been replaced since. */
  readonly term: number;
  /** Of the snapshot handed out and not installed yet; 0 when there is none. */
  readonly snapshotIndex: number;
}

/**
 * Everything to be done, in order of obligation. `ready()` hands each thing out once and may be called again before the
 * last append is durable; appends become durable in the order in which they were handed out.
 */
export interface Ready {
  /** When changed. Volatile. */
  readonly softState: SoftState | undefined;
  /** When changed. A change of `commit` alone needs no fsync. */
  readonly hardState: HardState | undefined;
  /** To append: the entry at index i replaces everything at i and above. */
  readonly entries: readonly Entry[];
  /** To install in place of the whole log; never together with entries. The state has been received already. */
  readonly snapshot: SnapshotMeta | undefined;
  /** For the state machine; all of them durable here. */
  readonly committedEntries: readonly Entry[];
  /** May leave at once. */
  readonly messages: readonly Message[];
  /**
   * May leave only after everything of this and all earlier appends is durable and `advanceAppend(ack)` was called;
   * those to this node itself are given to `step`.
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
  /** Undefined when compacted away or beyond the end; known for `firstIndex() - 1`. */
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
  /** Not a promise: a later leader may replace the entry. */
  | { readonly kind: "appended"; readonly index: number; readonly term: number }
  | { readonly kind: "not-leader"; readonly lead: NodeId | undefined }
  /** `busy`: too much is uncommitted. `transferring`: leadership is being handed over. */
  | { readonly kind: "refused"; readonly reason: "busy" | "transferring" }
  /** Of a configuration change only: one is pending, or the leader has not committed an entry of its term yet. */
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
 * An entry that is committed, or holds something else under the same index and term, and is not in the leader's log. That cannot be while every disk keeps
 * what was synced to it: a majority has forgotten it, and has decided otherwise since.
 */
export interface Loss {
  readonly index: number;
  /** Who has it; undefined where the leader tells of it. */
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
  /** Of every member, this node included; empty unless it leads. */
  readonly progress: ReadonlyMap<NodeId, ProgressStatus>;
}

/** The core. Methods never throw on what a peer sends; they throw on misuse by this process, which is a bug. */
export interface Raft {
  /** One message, from a peer or from this node's own `messagesAfterAppend`. */
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
  /** To be called when a `conf-change` entry is applied, before `advanceApply`. An entry that changes nothing is too. */
  applyConfChange(change: ConfChange): Configuration;
  hasReady(): boolean;
  ready(): Ready;
  /** Appends up to and with the one of `ack` are durable. */
  advanceAppend(ack: AppendAck): void;
  /** Committed entries up to `index` are applied, or a snapshot at `index` is. */
  advanceApply(index: number): void;
  /** Whether this node leaves elections to the others, and campaigns only where for long nobody else leads. */
  setReluctant(isReluctant: boolean): void;
  /** In ticks; for scripted cases. */
  setRandomizedElectionTimeout(ticks: number): void;
  status(): RaftStatus;
}
