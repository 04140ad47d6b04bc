/** Says which nodes apply a change, for the effect lines of dialogs. */

import { escapeControls } from "../../base/index.ts";
import { plural } from "../format/numbers.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { isReachable } from "./cluster-quorum.ts";

/** Maximum number of silent nodes that are named. */
const MAX_NAMED = 2;

/**
 * Returns `all 3 nodes`; `2 of 3 nodes (n3 follows once it is reachable)` if some are silent, since a change is replicated to them
 * later; `all nodes` if the operator may not read how many there are.
 */
export function applyingNodes(data: Data): string {
  const members = rowsOf(data, "cluster_members");
  const silent = members.filter((member) => !isReachable(member)).map(({ id }) => escapeControls(id));
  const all = members.length;
  if (all === 0) return "all nodes";
  if (silent.length === 0) return all === 1 ? "the only node" : `all ${plural(all, "node")}`;
  const named = silent.length <= MAX_NAMED ? silent.join(" and ") : `${silent.length} others`;
  const follows = silent.length === 1 ? "follows once it is" : "follow once they are";
  return `${all - silent.length} of ${plural(all, "node")} (${named} ${follows} reachable)`;
}

export const onNodes = (data: Data): string => `on ${applyingNodes(data)}`;
