/**
 * State of one node, and the steps that all roles share: sending, changing the term, becoming a follower.
 *
 * Source: dissertation, chapter 3; cluster reference, section 2. The state is one mutable object that is private to this folder.
 * Invariant: `term` never decreases.
 */

import { type Applying, createApplying } from "./applying.ts";
import { isVoter, membersOf } from "./configuration-change.ts";
import { createProgress, type Progress, resetProgress } from "./progress.ts";
import { createLog, durableIndex, lastIndex, type RaftLog } from "./raft-log.ts";
import { type MessageFields, makeMessage, waitsForAppend } from "./raft-messages.ts";
import { clearReads, createReadOnly, type ReadOnly } from "./read-only.ts";
import type {
  Configuration,
  HardState,
  Loss,
  Message,
  NodeId,
  RaftOptions,
  ReadState,
  Role,
  SnapshotMeta,
  SoftState,
} from "./types.ts";

export interface Core {
  readonly options: RaftOptions;
  readonly id: NodeId;
  readonly log: RaftLog;
  readonly applying: Applying;
  readonly reads: ReadOnly;

  term: number;
  vote: NodeId | undefined;
  role: Role;
  lead: NodeId | undefined;
  configuration: Configuration;
  /** Snapshot that was received and is not applied yet. Its configuration takes effect when it is applied, as with an entry. */
  restoring: SnapshotMeta | undefined;
  /** Progress of every member, including this node. Kept in all roles, but only meaningful while leading. */
  readonly progress: Map<NodeId, Progress>;
  /** Returns the acknowledged index of a member. Created once, since every acknowledgement calls it. */
  readonly matchOf: (id: NodeId) => number;
  /** Answers to the current campaign, by voter. */
  readonly votes: Map<NodeId, boolean>;

  /** Elapsed time in ticks. A leader uses `electionElapsed` for its quorum checks. */
  electionElapsed: number;
  heartbeatElapsed: number;
  randomizedElectionTimeout: number;
  /** True if the node leaves leadership to others as long as one of them can lead. */
  isReluctant: boolean;

  leadTransferee: NodeId | undefined;
  /** Index of the entry after whose commit a leader that lost its vote steps down. */
  stepsDownAt: number | undefined;
  /** Index up to which entries must be applied before a configuration change may be proposed. */
  pendingConfIndex: number;
  /** Bytes of entries that this leader appended and that were not delivered for applying. */
  uncommittedBytes: number;
  /** True if entries or a commit index wait to be sent; they are collected, so that many proposals share one message. */
  isBroadcastDue: boolean;

  /** Lost entries that this node detected or its leader reported. */
  loss: Loss | undefined;

  /** Term that is known to be on disk. */
  durableTerm: number;
  messages: Message[];
  messagesAfterAppend: Message[];
  readStates: ReadState[];
  /** Soft and hard state in the last `Ready`. */
  softState: SoftState;
  hardState: HardState;
}

export function createCore(options: RaftOptions): Core {
  checkOptions(options);
  const { hardState, configuration } = options.log.initialState();
  const { applied } = options;
  if (applied < options.log.firstIndex() - 1) {
    throw new RangeError(`raft: applied is ${applied}, but the log begins at ${options.log.firstIndex()}`);
  }
  // The commit index is written without fsync, but whatever was applied or is in a snapshot is certainly committed.
  const commit = Math.max(hardState.commit, applied);
  if (commit > options.log.lastIndex()) {
    throw new RangeError(`raft: commit index ${commit} is beyond the last index ${options.log.lastIndex()}`);
  }
  const progress = new Map<NodeId, Progress>();
  const core: Core = {
    options,
    id: options.id,
    log: createLog(options.log, commit),
    applying: createApplying(applied, options.maxApplyingBytes),
    reads: createReadOnly(),
    term: hardState.term,
    vote: hardState.vote,
    role: "follower",
    lead: undefined,
    configuration,
    restoring: undefined,
    progress,
    matchOf: (id) => progress.get(id)?.match ?? 0,
    votes: new Map(),
    electionElapsed: 0,
    heartbeatElapsed: 0,
    randomizedElectionTimeout: options.electionTicks,
    isReluctant: false,
    leadTransferee: undefined,
    stepsDownAt: undefined,
    pendingConfIndex: 0,
    uncommittedBytes: 0,
    isBroadcastDue: false,
    loss: undefined,
    durableTerm: hardState.term,
    messages: [],
    messagesAfterAppend: [],
    readStates: [],
    softState: { lead: undefined, role: "follower" },
    hardState,
  };
  adoptConfiguration(core, configuration);
  becomeFollower(core, core.term, undefined);
  return core;
}

function checkOptions(options: RaftOptions): void {
  const { electionTicks, heartbeatTicks } = options;
  if (!(heartbeatTicks >= 1 && electionTicks > heartbeatTicks)) {
    throw new RangeError("raft: an election timeout is longer than a heartbeat, which takes at least one tick");
  }
  const bounds = [
    options.maxMessageBytes,
    options.maxInflightMessages,
    options.maxInflightBytes,
    options.maxUncommittedBytes,
    options.maxUncommittedEntries,
    options.maxApplyingBytes,
  ];
  if (!bounds.every((bound) => bound >= 1)) throw new RangeError("raft: every bound is at least 1");
}

/** Sends a message. Sender and term are this node and its current term unless `fields` overrides them. */
export function send(core: Core, fields: MessageFields & { readonly term?: number }): void {
  const message = makeMessage({ from: core.id, term: core.term, ...fields });
  const rests = message.type === "MsgHeartbeatResp" ? core.durableTerm < core.term : waitsForAppend(message.type);
  if (rests) core.messagesAfterAppend.push(message);
  else core.messages.push(message);
}

export function becomeFollower(core: Core, term: number, lead: NodeId | undefined): void {
  reset(core, term);
  core.role = "follower";
  core.lead = lead;
}

/** Resets state at every change of role, except to pre-candidate, which changes nothing that others rely on. */
export function reset(core: Core, term: number): void {
  if (term !== core.term) {
    core.term = term;
    core.vote = undefined;
  }
  core.lead = undefined;
  core.electionElapsed = 0;
  core.heartbeatElapsed = 0;
  redrawElectionTimeout(core);
  core.leadTransferee = undefined;
  core.stepsDownAt = undefined;
  core.votes.clear();
  core.pendingConfIndex = 0;
  core.uncommittedBytes = 0;
  core.isBroadcastDue = false;
  clearReads(core.reads);
  for (const [id, progress] of core.progress) {
    resetProgress(progress, id === core.id ? durableIndex(core.log) : 0, lastIndex(core.log) + 1);
  }
}

/**
 * Draws a timeout, uniform in [electionTicks, 2 * electionTicks), so that two nodes rarely campaign at once, or twice in a row.
 */
export function redrawElectionTimeout(core: Core): void {
  const { electionTicks, random } = core.options;
  core.randomizedElectionTimeout = electionTicks + Math.floor(random() * electionTicks);
}

/** Sets the configuration, and creates the progress of every member and only of members. */
export function adoptConfiguration(core: Core, configuration: Configuration): void {
  core.configuration = configuration;
  const members = new Set(membersOf(configuration));
  for (const id of core.progress.keys()) if (!members.has(id)) core.progress.delete(id);
  const { heldBy } = core.loss ?? {};
  if (heldBy !== undefined && heldBy !== core.id && !members.has(heldBy)) core.loss = undefined;
  const learners = new Set(configuration.learners);
  for (const id of members) {
    const known = core.progress.get(id);
    if (known !== undefined) {
      known.isLearner = learners.has(id);
      continue;
    }
    // Probing starts with the last entry, not the next one: then there is always an entry to send, so the probe leaves at once.
    const progress = createProgress(Math.max(lastIndex(core.log), 1), learners.has(id), core.options);
    // A quorum check must not depose the leader before the new member had time to answer.
    progress.recentActive = true;
    core.progress.set(id, progress);
  }
}

/** Returns whether this node may campaign: it votes, and its log is complete. */
export function isPromotable(core: Core): boolean {
  return isVoter(core.configuration, core.id) && core.restoring === undefined;
}
