/** Status of this replica and of the other members. Only a leader knows their progress. */

import type { Loss, ProgressStatus, RaftStatus } from "../../core/raft/index.ts";
import type { Member } from "../../core/state/index.ts";
import { idsOf } from "../members/membership.ts";
import type { ReplicaPeers } from "../members/peers.ts";
import type { LogStore } from "../storage/types.ts";
import { logAheadOf } from "../time/clock-watch.ts";
import type { ClusterStatus, MemberStatus } from "../types.ts";
import { ELECTION_TICKS, TICK_MS } from "./ticker.ts";

interface StatusSources {
  readonly raft: RaftStatus;
  readonly log: LogStore;
  readonly clusterId: string | undefined;
  readonly members: readonly Member[];
  readonly isRemoved: boolean;
  /** Latest time of the log, in milliseconds since 1970. */
  readonly logNow: number;
  /** Returns the ticks since this node last heard from the member; only valid on a leader. */
  silentTicks(id: string): number;
  /** Members that this node is connected to: the only knowledge of other members on a node that does not lead. */
  readonly connected: ReadonlySet<string>;
  readonly peers: Pick<ReplicaPeers, "clocks" | "rolledBack" | "safeIndexOf">;
  /** This node, which the cluster's rows may not contain yet. */
  readonly self: Member;
  readonly incarnation: number;
  readonly isDiskLow: boolean;
}

export function describeCluster(sources: StatusSources): ClusterStatus {
  const { raft, log, members, self } = sources;
  const { nodeId, storageId } = log.identity;
  const isLearner = raft.configuration.learners.includes(nodeId);
  const known = new Map(members.map((member) => [member.id, member]));
  return {
    nodeId,
    storageId,
    clusterId: sources.clusterId,
    incarnation: sources.incarnation,
    role: sources.isRemoved ? "removed" : roleOf(raft.role, isLearner),
    leaderId: raft.lead === undefined || sources.isRemoved ? undefined : String(raft.lead),
    term: raft.term,
    commit: raft.commit,
    applied: raft.applied,
    firstIndex: log.firstIndex(),
    lastIndex: raft.lastIndex,
    snapshotIndex: log.snapshotRecord?.index ?? 0,
    logBytes: log.byteLength,
    isDiskLow: sources.isDiskLow,
    isJoint: raft.configuration.votersOutgoing.length > 0,
    loss: lossOf(sources),
    time: timeOf(sources),
    members: idsOf(raft.configuration).map((id) =>
      describeMember(id, known.get(id) ?? (id === self.id ? self : undefined), sources),
    ),
  };
}

function timeOf({ peers: { clocks }, logNow }: StatusSources): ClusterStatus["time"] {
  return { originMs: clocks.originMs(), aheadMs: clocks.aheadOfMedian(), logAheadMs: logAheadOf(clocks, logNow) };
}

const RECOVERY_HINT =
  "First stop the nodes and copy the data directory of each. Then choose the node whose writes you want to keep (usually one " +
  "that was not restored from a copy), run 'gateway cluster recover' there, and let the others join with empty directories";

function lossOf({ raft, peers }: StatusSources): string | undefined {
  const { loss, configuration, id: self } = raft;
  if (loss !== undefined) {
    return (
      `the cluster has lost acknowledged writes: ${partiesOf(raft, loss)} hold different entries up to ${loss.index} of ` +
      `the log, since a majority was restarted with old data directories. ${RECOVERY_HINT}`
    );
  }
  const forgetful = configuration.voters.map(String).filter((id) => peers.rolledBack().has(id));
  if (forgetful.length === 0 || 2 * forgetful.length < configuration.voters.length) return undefined;
  return `a majority of the members lost writes that they had acknowledged (${forgetful.join(", ")}), and is refused by ${self}, which has it. ${RECOVERY_HINT}`;
}

/** Names both parties, since either may have lost entries that the other still has. */
function partiesOf({ id: self, lead }: RaftStatus, { heldBy }: Loss): string {
  const leader = lead === undefined ? "its leader" : lead === self ? "this leader" : `the leader ${lead}`;
  if (heldBy === self) return `this node and ${leader}`;
  return heldBy === undefined ? `${leader} and another member` : `${leader} and ${heldBy}`;
}

function roleOf(role: RaftStatus["role"], isLearner: boolean): ClusterStatus["role"] {
  if (role === "leader") return "leader";
  if (isLearner) return "learner";
  return role === "follower" ? "follower" : "candidate";
}

function describeMember(id: string, member: Member | undefined, sources: StatusSources): MemberStatus {
  const { raft } = sources;
  const { configuration } = raft;
  const voter = configuration.voters.includes(id) || configuration.votersOutgoing.includes(id);
  const isSelf = id === raft.id;
  const leads = raft.role === "leader";
  const progress = raft.progress.get(id);
  const applied = isSelf ? raft.applied : (progress?.match ?? sources.peers.safeIndexOf(id));
  const silentMs = leads && !isSelf ? sources.silentTicks(id) * TICK_MS : undefined;
  return {
    id,
    role: id === raft.lead ? "leader" : voter ? "follower" : "learner",
    voter,
    raftAddr: member?.raft_addr ?? "",
    forwardAddr: member?.forward_addr ?? "",
    state: isSelf
      ? "reachable"
      : sources.peers.rolledBack().has(id)
        ? "forgot"
        : leads
          ? progressState(progress, sources.silentTicks(id))
          : connectionState(id, sources),
    lastContactMs: isSelf ? 0 : silentMs,
    applied,
    lag: applied === undefined || !leads ? undefined : Math.max(0, raft.commit - applied),
    version: member?.version ?? "",
    clockOffsetMs: isSelf ? 0 : sources.peers.clocks.offsetOf(id),
  };
}

function connectionState(id: string, { connected, raft }: StatusSources): MemberStatus["state"] {
  return connected.has(id) || id === raft.lead ? "reachable" : "silent";
}

function progressState(progress: ProgressStatus | undefined, silentTicks: number): MemberStatus["state"] {
  if (progress?.state === "StateSnapshot") return "snapshot";
  return silentTicks < ELECTION_TICKS ? "reachable" : "silent";
}
