/** Plans a smaller membership: members can be dropped but not added, and this node must remain. */

import type { Configuration } from "../../core/raft/index.ts";
import { idsOf } from "../members/membership.ts";
import type { StorageFacts } from "./storage-facts.ts";

type RecoveryPlan =
  | { readonly kind: "change"; readonly configuration: Configuration; readonly dropped: readonly string[] }
  /** The cluster already has exactly these members. */
  | { readonly kind: "nothing"; readonly members: readonly string[] }
  | { readonly kind: "refused"; readonly reason: string };

type PlanFacts = Pick<StorageFacts, "path" | "nodeId" | "lastConfiguration" | "isBlank">;

export function planRecovery(facts: PlanFacts, keep: readonly string[]): RecoveryPlan {
  const { path, nodeId, lastConfiguration: before } = facts;
  if (facts.isBlank) return refused(`the data directory ${path} has never been part of a cluster`);
  const members = idsOf(before);
  if (!members.includes(nodeId)) return refused(`node ${nodeId} is not a member of the cluster it knows`);
  if (!keep.includes(nodeId)) return refused(`this is node ${nodeId}, which is not among the members to keep`);
  const unknown = keep.filter((id) => !members.includes(id));
  if (unknown.length > 0) {
    return refused(`not a member: ${unknown.join(", ")}; members are ${members.join(", ")}, and none can be added`);
  }
  const dropped = members.filter((id) => !keep.includes(id));
  const isJoint = before.votersOutgoing.length > 0;
  const isLearner = before.learners.includes(nodeId);
  if (dropped.length === 0 && !isJoint && !isLearner) return { kind: "nothing", members };
  return { kind: "change", configuration: reduceConfiguration(before, nodeId, keep), dropped };
}

/**
 * Returns the smaller configuration. Voters stay voters and learners stay learners, except that this node votes, since it is the
 * only one known to have the state.
 */
function reduceConfiguration(before: Configuration, nodeId: string, keep: readonly string[]): Configuration {
  const isLearner = (id: string) => id !== nodeId && (before.learners.includes(id) || before.learnersNext.includes(id));
  const kept = [...new Set(keep)].sort();
  return {
    voters: kept.filter((id) => !isLearner(id)),
    votersOutgoing: [],
    learners: kept.filter(isLearner),
    learnersNext: [],
    autoLeave: false,
  };
}

function refused(reason: string): RecoveryPlan {
  return { kind: "refused", reason };
}
