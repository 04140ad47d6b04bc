/**
 * Public interface of the consensus core, and the passing of time.
 *
 * Source: dissertation, with pre-vote and check-quorum always on; cluster reference, section 2.
 */

import { putIntoForce } from "./apply-configuration.ts";
import { becomeFollower, type Core, createCore, isPromotable, redrawElectionTimeout, send } from "./core.ts";
import { campaignIfAllowed } from "./election.ts";
import { propose, proposeChange, reportSnapshot, reportUnreachable, startTransfer } from "./leader.ts";
import { progressStatus } from "./progress.ts";
import { lastIndex } from "./raft-log.ts";
import { hasReady, takeAppendAck, takeApplyAck, takeReady } from "./ready.ts";
import { abortTransfer, broadcastHeartbeat, checkQuorum, receiveRead } from "./replication.ts";
import { step } from "./step.ts";
import type { Raft, RaftOptions, RaftStatus } from "./types.ts";

/** Creates a raft node. Throws if the options or the stored state are inconsistent. */
export function createRaft(options: RaftOptions): Raft {
  const core = createCore(options);
  return {
    step: (message) => step(core, message),
    tick: () => (core.role === "leader" ? tickLeader(core) : tickOther(core)),
    propose: (data) => propose(core, "normal", data),
    proposeConf: (change) => proposeChange(core, change),
    readIndex: (context) => readIndex(core, context),
    transferLeader: (to) => startTransfer(core, to),
    campaign: () => campaignIfAllowed(core, "pre-election"),
    reportUnreachable: (id) => reportUnreachable(core, id),
    reportSnapshot: (id, isInstalled) => reportSnapshot(core, id, isInstalled),
    applyConfChange: (change) => {
      putIntoForce(core, change);
      return core.configuration;
    },
    hasReady: () => hasReady(core),
    ready: () => takeReady(core),
    advanceAppend: (ack) => takeAppendAck(core, ack),
    advanceApply: (index) => takeApplyAck(core, index),
    setReluctant: (isReluctant) => {
      core.isReluctant = isReluctant;
    },
    setRandomizedElectionTimeout: (ticks) => {
      core.randomizedElectionTimeout = ticks;
    },
    status: () => statusOf(core),
  };
}

/** Number of election timeouts that a reluctant node leaves to the others. If no other node can lead, it campaigns after that. */
const RELUCTANCE = 10;

function tickOther(core: Core): void {
  core.electionElapsed += 1;
  const timeout = core.randomizedElectionTimeout * (core.isReluctant ? RELUCTANCE : 1);
  if (core.electionElapsed < timeout || !isPromotable(core)) return;
  core.electionElapsed = 0;
  // Candidates whose timeouts coincided must not collide again in the next round.
  redrawElectionTimeout(core);
  campaignIfAllowed(core, "pre-election");
}

function tickLeader(core: Core): void {
  core.heartbeatElapsed += 1;
  core.electionElapsed += 1;
  if (core.electionElapsed >= core.options.electionTicks) {
    core.electionElapsed = 0;
    if (!checkQuorum(core)) {
      becomeFollower(core, core.term, undefined);
      return;
    }
    if (core.leadTransferee !== undefined) abortTransfer(core);
  }
  if (core.heartbeatElapsed >= core.options.heartbeatTicks) {
    core.heartbeatElapsed = 0;
    broadcastHeartbeat(core);
  }
}

function readIndex(core: Core, context: Uint8Array): void {
  if (core.role === "leader") receiveRead(core, { from: core.id, context });
  else if (core.lead !== undefined) send(core, { type: "MsgReadIndex", to: core.lead, term: 0, context });
}

function statusOf(core: Core): RaftStatus {
  const members = core.role === "leader" ? [...core.progress] : [];
  return {
    id: core.id,
    term: core.term,
    vote: core.vote,
    commit: core.log.committed,
    applied: core.applying.applied,
    lastIndex: lastIndex(core.log),
    role: core.role,
    lead: core.lead,
    leadTransferee: core.leadTransferee,
    configuration: core.configuration,
    loss: core.loss,
    progress: new Map(members.map(([id, progress]) => [id, progressStatus(progress)])),
  };
}
