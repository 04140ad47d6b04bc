/**
 * Further rules, each broken in one place, beyond the list in `mutants.ts` and chosen without regard to the checks:
 * terms, ballots, joint majorities, snapshots, leader handover, and late messages.
 */

import type { Mutant } from "./mutants.ts";

const RAFT = "src/server/core/raft";

export const FURTHER_MUTANTS: readonly Mutant[] = [
  {
    name: "answer-of-an-earlier-term-counted",
    file: `${RAFT}/step.ts`,
    find: "    answerEarlierTerm(core, message);\n    return;",
    replace: `    if (message.type === "MsgAppResp" && core.role === "leader") stepLeader(core, message);
    else answerEarlierTerm(core, message);
    return;`,
  },
  {
    name: "new-leader-forgets-a-pending-change",
    file: `${RAFT}/election.ts`,
    find: "  core.pendingConfIndex = lastIndex(core.log);\n",
    replace: "",
  },
  {
    name: "joint-election-by-the-incoming-majority",
    file: `${RAFT}/quorum.ts`,
    find: `  if (incoming === outgoing) return incoming;\n  return incoming === "lost" || outgoing === "lost" ? "lost" : "pending";`,
    replace: "  return outgoing === undefined ? outgoing : incoming;",
  },
  {
    name: "joint-election-by-the-outgoing-majority",
    file: `${RAFT}/quorum.ts`,
    find: `  if (incoming === outgoing) return incoming;\n  return incoming === "lost" || outgoing === "lost" ? "lost" : "pending";`,
    replace: "  return configuration.votersOutgoing.length === 0 ? incoming : outgoing;",
  },
  {
    name: "joint-commit-by-the-outgoing-majority",
    file: `${RAFT}/quorum.ts`,
    find: "return Math.min(majorityIndex(configuration.voters, indexOf), majorityIndex(configuration.votersOutgoing, indexOf));",
    replace: `const { voters, votersOutgoing } = configuration;
  return majorityIndex(votersOutgoing.length === 0 ? voters : votersOutgoing, indexOf);`,
  },
  {
    name: "snapshot-cuts-a-log-that-agrees",
    file: `${RAFT}/follower.ts`,
    find: "  if (hasEntry(log, snapshot.index, snapshot.term)) {",
    replace: "  if (hasEntry(log, snapshot.index, snapshot.term) && snapshot.index < 0) {",
  },
  {
    name: "commit-beyond-what-the-append-vouches-for",
    file: `${RAFT}/follower.ts`,
    find: "commitTo(log, Math.min(commit, agreed));",
    replace: "commitTo(log, commit);",
  },
  {
    name: "vote-forgotten-within-the-term",
    file: `${RAFT}/core.ts`,
    find: "  if (term !== core.term) {\n    core.term = term;\n    core.vote = undefined;\n  }",
    replace: "  core.term = term;\n  core.vote = undefined;",
  },
  {
    name: "half-of-the-votes-elects",
    file: `${RAFT}/quorum.ts`,
    find: "const quorum = Math.floor(voters.length / 2) + 1;\n  let granted = 0;",
    replace: "const quorum = Math.ceil(voters.length / 2);\n  let granted = 0;",
  },
  {
    name: "half-of-the-voters-commits",
    file: `${RAFT}/quorum.ts`,
    find: "const quorum = Math.floor(voters.length / 2) + 1;\n  let greatest = 0;",
    replace: "const quorum = Math.ceil(voters.length / 2);\n  let greatest = 0;",
  },
  {
    name: "heartbeat-answered-before-the-term-is-durable",
    file: `${RAFT}/core.ts`,
    find: `message.type === "MsgHeartbeatResp" ? core.durableTerm < core.term : waitsForAppend(message.type)`,
    replace: `message.type === "MsgHeartbeatResp" ? false : waitsForAppend(message.type)`,
  },
  {
    name: "append-acknowledged-after-it-was-replaced",
    file: `${RAFT}/unstable.ts`,
    find: "if (ack.term !== term || ack.index < unstable.offset || ack.index >= unstable.inProgress) return;",
    replace: "if (term < 0 || ack.index < unstable.offset) return;",
  },
  {
    name: "hand-over-bound-by-the-lease",
    file: `${RAFT}/election.ts`,
    find: `transfer: campaign === "transfer" };`,
    replace: "transfer: false };",
  },
  {
    name: "campaign-without-a-pre-vote",
    file: `${RAFT}/election.ts`,
    find: "  startCampaign(core, campaign);\n",
    replace: `  startCampaign(core, campaign === "transfer" ? campaign : "election");\n`,
  },
  {
    name: "refused-vote-counted",
    file: `${RAFT}/election.ts`,
    find: "core.votes.set(from, !reject);",
    replace: "core.votes.set(from, reject || !reject);",
  },
  {
    name: "votes-of-an-earlier-term-kept",
    file: `${RAFT}/core.ts`,
    find: "  core.votes.clear();\n  core.pendingConfIndex = 0;",
    replace: "  core.pendingConfIndex = 0;",
  },
  {
    name: "append-of-an-earlier-term-taken",
    file: `${RAFT}/step.ts`,
    find: "if (isOfTerm && message.term < core.term) {",
    replace: `if (isOfTerm && message.term < core.term && message.type !== "MsgApp") {`,
  },
  {
    name: "longest-log-is-newest",
    file: `${RAFT}/raft-log.ts`,
    find: "return term > ownTerm || (term === ownTerm && index >= lastIndex(log));",
    replace: "return term < 0 || ownTerm < 0 || index >= lastIndex(log);",
  },
  {
    name: "log-of-the-same-term-is-as-new",
    file: `${RAFT}/raft-log.ts`,
    find: "return term > ownTerm || (term === ownTerm && index >= lastIndex(log));",
    replace: "return index >= 0 && term >= ownTerm;",
  },
  {
    name: "configuration-of-a-snapshot-not-taken",
    file: `${RAFT}/ready.ts`,
    find: "    adoptConfiguration(core, core.restoring.configuration);\n",
    replace: "",
  },
  {
    name: "uncommitted-entries-handed-out",
    file: `${RAFT}/applying.ts`,
    find: "const end = Math.min(log.committed, durableIndex(log)) + 1;",
    replace: "const end = durableIndex(log) + 1;",
  },
  {
    name: "coming-learners-lost",
    file: `${RAFT}/configuration-change.ts`,
    find: "  for (const id of draft.learnersNext) draft.learners.add(id);\n",
    replace: "",
  },
  {
    name: "several-voters-changed-in-one-step",
    file: `${RAFT}/configuration-change.ts`,
    find: `return enterJoint(configuration, change.changes, change.transition !== "joint-explicit");`,
    replace: `const joint = enterJoint(configuration, change.changes, true);
    return joint.kind === "changed" ? leaveJoint(joint.configuration) : joint;`,
  },
  {
    name: "read-one-entry-behind",
    file: `${RAFT}/replication.ts`,
    find: "  addRead(core.reads, read, core.log.committed);\n  releaseReads(core);",
    replace: "  addRead(core.reads, read, core.log.committed - 1);\n  releaseReads(core);",
  },
  {
    name: "reads-outlive-the-office",
    file: `${RAFT}/core.ts`,
    find: "  clearReads(core.reads);\n",
    replace: "",
  },
  {
    name: "refusal-does-not-step-back",
    file: `${RAFT}/progress.ts`,
    find: "setNext(progress, Math.max(Math.min(refused, hint + 1), progress.match + 1));",
    replace: "setNext(progress, Math.max(progress.next, hint * 0));",
  },
  {
    name: "failed-snapshot-never-sent-again",
    file: `${RAFT}/leader.ts`,
    find: "  becomeProbe(progress);\n  progress.isPaused = true;\n",
    replace: "",
  },
  {
    name: "leader-not-heard",
    file: `${RAFT}/follower.ts`,
    find: "  core.electionElapsed = 0;\n  core.lead = from;",
    replace: "  core.lead = from;",
  },
  {
    name: "commit-learnt-for-another-log",
    file: `${RAFT}/election.ts`,
    find: "if (hasEntry(core.log, commit, logTerm)) commitTo(core.log, commit);",
    replace: "if (logTerm >= 0) commitTo(core.log, commit);",
  },
  {
    name: "late-append-acknowledges-the-whole-log",
    file: `${RAFT}/follower.ts`,
    find: "index: committed, context: contentsUpTo(log, committed)",
    replace: "index: lastIndex(log), context: contentsUpTo(log, committed)",
  },
  {
    name: "old-snapshot-acknowledges-the-whole-log",
    file: `${RAFT}/follower.ts`,
    find: "index: isTaken ? lastIndex(core.log) : core.log.committed",
    replace: "index: isTaken || !isTaken ? lastIndex(core.log) : 0",
  },
  {
    name: "append-acknowledges-the-whole-log",
    file: `${RAFT}/raft-log.ts`,
    find: "return index + entries.length;",
    replace: "return lastIndex(log);",
  },
  {
    name: "entries-not-synced",
    file: `${RAFT}/ready.ts`,
    find: "mustSync: entries.length > 0 || snapshot !== undefined",
    replace: "mustSync: snapshot !== undefined",
  },
  {
    name: "match-kept-over-terms",
    file: `${RAFT}/progress.ts`,
    find: "  progress.match = match;\n  progress.next = next;\n  progress.sentCommit = 0;",
    replace:
      "  progress.match = Math.max(progress.match, match);\n  progress.next = Math.max(progress.match + 1, next);\n  progress.sentCommit = 0;",
  },
];
