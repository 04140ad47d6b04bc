/** Members of the cluster and the connected node, from the last answers. */

import type { ClusterMemberRecord, NodeStatus } from "../../admin-api/index.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";

type Reads = Pick<Context, "data">;

export const membersOf = ({ data }: Reads): readonly ClusterMemberRecord[] => rowsOf(data, "cluster_members");

export const memberOf = (context: Reads, id: string): ClusterMemberRecord | undefined =>
  membersOf(context).find((member) => member.id === id);

/** Returns the status of the connected node. */
export const statusOf = ({ data }: Reads): NodeStatus | undefined => data.get({ id: "get_status" })?.value;

/** Returns the leader that the connected node knows; `undefined` if it knows of none or has not answered. */
export const leaderOf = (context: Reads): string | undefined => statusOf(context)?.leader ?? undefined;
