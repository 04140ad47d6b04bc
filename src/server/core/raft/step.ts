/**
 * Entry point of every message: decides by sender and term whether it is handled.
 *
 * Source: cluster reference, 2.3 rules 7 to 10 and 16. A node that is not a member is heard only where necessary: a member that
 * this node does not know yet may ask for its vote, and a new member hears from its leader before it knows it.
 */

import { stepCandidate } from "./candidate.ts";
import { becomeFollower, type Core, send } from "./core.ts";
import { answerVote, learnCommit, refuseVote } from "./election.ts";
import { stepFollower } from "./follower.ts";
import { stepLeader } from "./leader.ts";
import { isWellFormed } from "./raft-messages.ts";
import type { Message } from "./types.ts";

export function step(core: Core, message: Message): void {
  if (message.to !== core.id || !isWellFormed(message) || !isHeard(core, message)) return;
  if (message.reject && (message.type === "MsgVoteResp" || message.type === "MsgPreVoteResp"))
    learnCommit(core, message);
  const isOfTerm = message.type !== "MsgReadIndex" && message.type !== "MsgReadIndexResp";
  if (isOfTerm && message.term < core.term) {
    answerEarlierTerm(core, message);
    return;
  }
  if (isOfTerm && message.term > core.term && !enterTerm(core, message)) return;
  if (message.type === "MsgVote" || message.type === "MsgPreVote") {
    answerVote(core, message);
    return;
  }
  switch (core.role) {
    case "leader":
      stepLeader(core, message);
      return;
    case "candidate":
    case "pre-candidate":
      stepCandidate(core, message);
      return;
    case "follower":
      stepFollower(core, message);
      return;
    default:
      core.role satisfies never;
  }
}

function isHeard(core: Core, { type, from }: Message): boolean {
  if (from === core.id || core.progress.has(from)) return true;
  switch (type) {
    case "MsgVote":
    case "MsgVoteResp":
    case "MsgPreVote":
    case "MsgPreVoteResp":
    case "MsgApp":
    case "MsgHeartbeat":
    case "MsgSnap":
    case "MsgTimeoutNow":
      return true;
    case "MsgReadIndexResp":
      return from === core.lead;
    case "MsgAppResp":
    case "MsgHeartbeatResp":
    case "MsgReadIndex":
      return false;
    default:
      return type satisfies never;
  }
}

/** Answers a message of an earlier term if silence would leave the sender stuck in its term; otherwise drops it. */
function answerEarlierTerm(core: Core, { type, from }: Message): void {
  if (type === "MsgApp" || type === "MsgHeartbeat") send(core, { type: "MsgAppResp", to: from });
  else if (type === "MsgPreVote") refuseVote(core, "MsgPreVoteResp", from);
}

/** Handles the term of a message of a later term. Returns false if the message must be ignored. */
function enterTerm(core: Core, { type, from, term, reject, transfer }: Message): boolean {
  switch (type) {
    case "MsgVote":
    case "MsgPreVote": {
      const isLeaderHeard = core.lead !== undefined && core.electionElapsed < core.options.electionTicks;
      if (isLeaderHeard && !transfer) return false;
      if (type === "MsgVote") becomeFollower(core, term, undefined);
      return true;
    }
    case "MsgPreVoteResp":
      // A grant has the requested term, which no node has reached; a refusal has the voter's own.
      if (reject) becomeFollower(core, term, undefined);
      return true;
    case "MsgApp":
    case "MsgHeartbeat":
    case "MsgSnap":
      becomeFollower(core, term, from);
      return true;
    default:
      becomeFollower(core, term, undefined);
      return true;
  }
}
