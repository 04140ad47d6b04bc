/**
 * Campaigns and votes.
 *
 * Source: dissertation, 3.4, 3.6.1, 9.6 (pre-vote) and 6.2 (leases against disturbance); cluster reference, 2.3. A
 * candidate's vote for itself is a message to itself: like every vote it counts once it is durable.
 */

import { isVoter, membersOf } from "./configuration-change.ts";
import { becomeFollower, type Core, isPromotable, reset, send } from "./core.ts";
import { becomeReplicate } from "./progress.ts";
import { quorumVote } from "./quorum.ts";
import { commitTo, entriesBetween, hasEntry, isUpToDate, lastIndex, lastTerm, termAt } from "./raft-log.ts";
import { appendEntry } from "./replication.ts";
import type { Message, NodeId } from "./types.ts";

type Campaign = "pre-election" | "election" | "transfer";

/** Starts an election, if this node may. */
export function campaignIfAllowed(core: Core, campaign: "pre-election" | "transfer"): void {
  if (core.role === "leader" || !isPromotable(core) || hasUnappliedChange(core)) return;
  startCampaign(core, campaign);
}

/** Returns whether a committed change is not applied. Such a node does not know whose votes it needs. */
function hasUnappliedChange({ applying, log, options }: Core): boolean {
  let low = applying.applied + 1;
  while (low <= log.committed) {
    const entries = entriesBetween(log, low, log.committed + 1, options.maxMessageBytes);
    if (entries.some(({ kind }) => kind === "conf-change")) return true;
    low += entries.length;
  }
  return false;
}

function startCampaign(core: Core, campaign: Campaign): void {
  const isPreVote = campaign === "pre-election";
  if (isPreVote) {
    // Neither term nor vote changes: the others are only asked whether they would vote for this node.
    core.role = "pre-candidate";
    core.lead = undefined;
    core.votes.clear();
  } else {
    reset(core, core.term + 1);
    core.role = "candidate";
    core.vote = core.id;
  }
  const term = isPreVote ? core.term + 1 : core.term;
  const ballot = { term, index: lastIndex(core.log), logTerm: lastTerm(core.log), transfer: campaign === "transfer" };
  for (const to of membersOf(core.configuration)) {
    if (!isVoter(core.configuration, to)) continue;
    if (to === core.id) send(core, { type: isPreVote ? "MsgPreVoteResp" : "MsgVoteResp", to, term });
    else send(core, { type: isPreVote ? "MsgPreVote" : "MsgVote", to, ...ballot });
  }
}

/** Answers a MsgVote or MsgPreVote of this term or, for a pre-vote, of a later one. */
export function answerVote(core: Core, message: Message): void {
  const { from, term, index, logTerm } = message;
  const isPreVote = message.type === "MsgPreVote";
  const mayVote =
    core.vote === from || (core.vote === undefined && core.lead === undefined) || (isPreVote && term > core.term);
  const type = isPreVote ? "MsgPreVoteResp" : "MsgVoteResp";
  if (!mayVote || !isUpToDate(core.log, index, logTerm)) {
    refuseVote(core, type, from);
    return;
  }
  // A pre-vote is granted in the requested term, which this node has not reached.
  send(core, { type, to: from, term });
  if (isPreVote) return;
  core.vote = from;
  core.electionElapsed = 0;
}

/**
 * Refuses a vote and sends this node's commit index. A member that was left behind can learn from it that a configuration
 * change is in force, after which it no longer needs the vote of the refusing node. Without this, two members whose leader was
 * removed could block forever if one missed the change (as in TiKV's raft).
 */
export function refuseVote(core: Core, type: "MsgVoteResp" | "MsgPreVoteResp", to: NodeId): void {
  const { committed } = core.log;
  send(core, { type, to, reject: true, commit: committed, logTerm: termAt(core.log, committed) ?? 0 });
}

/** Takes over a commit index: an entry that is committed on any node is committed here too, if this log has the same entry. */
export function learnCommit(core: Core, { commit, logTerm }: Message): void {
  if (hasEntry(core.log, commit, logTerm)) commitTo(core.log, commit);
}

/** Counts an answer to the current campaign. */
export function countVote(core: Core, { type, from, term, reject }: Message): void {
  const isPreVote = core.role === "pre-candidate";
  if (type !== (isPreVote ? "MsgPreVoteResp" : "MsgVoteResp")) return;
  // A late grant of an earlier pre-vote has this term, not the next one.
  if (isPreVote && !reject && term !== core.term + 1) return;
  // Only the first answer of a voter counts.
  if (!core.votes.has(from)) core.votes.set(from, !reject);
  switch (quorumVote(core.configuration, (id) => core.votes.get(id))) {
    case "pending":
      return;
    case "lost":
      becomeFollower(core, core.term, undefined);
      return;
    case "won":
      if (isPreVote) startCampaign(core, "election");
      else becomeLeader(core);
  }
}

function becomeLeader(core: Core): void {
  reset(core, core.term);
  core.role = "leader";
  core.lead = core.id;
  const own = core.progress.get(core.id);
  if (own !== undefined) {
    becomeReplicate(own);
    own.next = lastIndex(core.log) + 1;
    own.recentActive = true;
  }
  // Any configuration change in the log may still be committed, so none is proposed before all of it is applied.
  core.pendingConfIndex = lastIndex(core.log);
  appendEntry(core, "normal", new Uint8Array(0));
}
