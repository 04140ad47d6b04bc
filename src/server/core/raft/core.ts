/**
 * The state of one node and the steps every role takes: sending, changing term, becoming follower.
 *
 * Source: dissertation, chapter 3; cluster reference, section 2. The state is one mutable object that only this folder
 * sees. Invariant: `term` never falls.
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
  /** Taken and not applied yet: like an entry's, its configuration is in force when it is applied. */
  restoring: SnapshotMeta | undefined;
  /** Progress of every member, including this node. Kept in all roles, meaningful while leading. */
  readonly progress: Map<NodeId, Progress>;
  /** Created once, since every acknowledgement uses it. */
  readonly matchOf: (id: NodeId) => number;
  /** Votes of the current campaign. */
  readonly votes: Map<NodeId, boolean>;

  /** Ticks. A leader uses `electionElapsed` for its quorum checks. */
  electionElapsed: number;
  heartbeatElapsed: number;
  randomizedElectionTimeout: number;
  /** Leaves leading to others for as long as one of them may. */
  isReluctant: boolean;

  leadTransferee: NodeId | undefined;
  /** Set on a leader that lost its vote: it steps down once this entry is committed. */
  stepsDownAt: number | undefined;
  /** No configuration change may be proposed until this index is applied. */
  pendingConfIndex: number;
  /** Bytes of entries that this leader appended and has not handed out for applying. */
  uncommittedBytes: number;
  /** Entries or a commit index wait to be sent; gathered, so that many proposals leave in one message. */
  isBroadcastDue: boolean;

  /** Loss of entries that this node detected or its leader reported. */
  loss: Loss | undefined;

  /** The term that is known to be on disk. */
  durableTerm: number;
  messages: Message[];
  messagesAfterAppend: Message[];
  readStates: ReadState[];
  /** State as last handed out. */
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
  // The commit index is written without fsync, but whatever was applied or is in a snapshot was certainly committed.
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

/** Sends a message of this node and term, unless the fields say otherwise. */
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

/** Runs at every change of role, except to pre-candidate, which changes nothing that others rely on. */
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

/** Uniform in [electionTicks, 2 * electionTicks), so that two nodes seldom campaign at once, and not again together. */
export function redrawElectionTimeout(core: Core): void {
  const { electionTicks, random } = core.options;
  core.randomizedElectionTimeout = electionTicks + Math.floor(random() * electionTicks);
}

/** Makes the progress of every member, and only of members. */
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
    // Probes with the last entry, not the next one: there is always something to send, so the probe leaves at once.
    const progress = createProgress(Math.max(lastIndex(core.log), 1), learners.has(id), core.options);
    // A check of the quorum must not depose the leader before the new member had the time to answer.
    progress.recentActive = true;
    core.progress.set(id, progress);
  }
}

/** Whether this node may campaign: it votes, and its log is whole. */
export function isPromotable(core: Core): boolean {
  return isVoter(core.configuration, core.id) && core.restoring === undefined;
}
