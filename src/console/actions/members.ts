/** The members of the cluster and the node that is asked, as the last answers tell of them. */

import type { ClusterMemberRecord, NodeStatus } from "../../admin-api/index.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";

type Reads = Pick<Context, "data">;

export const membersOf = ({ data }: Reads): readonly ClusterMemberRecord[] => rowsOf(data, "cluster_members");

export const memberOf = (context: Reads, id: string): ClusterMemberRecord | undefined =>
  membersOf(context).find((member) => member.id === id);

/** Of the node asked. */
export const statusOf = ({ data }: Reads): NodeStatus | undefined => data.get({ id: "get_status" })?.value;

/** As the node asked knows it; undefined: it knows of none, or has not answered. */
export const leaderOf = (context: Reads): string | undefined => statusOf(context)?.leader ?? undefined;
