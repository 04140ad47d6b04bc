/** Members, leadership, and the archive of the state. */

import { ARCHIVE_TYPE, type ClusterMemberRecord } from "../../../admin-api/index.ts";
import type { MemberStatus } from "../../cluster/index.ts";
import { type Handlers, NO_CONTENT } from "../handler-types.ts";
import { fixedRows, type ListSource } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { refusal } from "../refusal.ts";

/** Returns the list of members. It changes at most once a second, because rows contain measurements of this node. */
export function memberList({ cluster }: Ports): ListSource<ClusterMemberRecord> {
  let version = 0;
  return {
    version: () => version,
    watch: (onChange) =>
      cluster.onStatus(() => {
        version += 1;
        onChange();
      }),
    take() {
      const { nodeId, members } = cluster.status();
      return fixedRows(members.map((member) => memberRecord(member, nodeId)));
    },
  };
}

function memberRecord(member: MemberStatus, node: string): ClusterMemberRecord {
  const { id, role, voter, state, version } = member;
  return {
    id,
    role,
    voter,
    raft_addr: member.raftAddr,
    forward_addr: member.forwardAddr,
    state,
    last_contact_ms: member.lastContactMs ?? null,
    applied: member.applied ?? null,
    lag: member.lag ?? null,
    version,
    clock_offset_ms: member.clockOffsetMs ?? null,
    node,
  };
}

/** Throws `code`, with the unknown ids, unless all ids are members: `not_found` for a path, `invalid` for a body. */
function requireMembers({ cluster }: Ports, ids: readonly string[], code: "not_found" | "invalid"): void {
  const known = new Set(cluster.status().members.map(({ id }) => id));
  const unknown = ids.filter((id) => !known.has(id));
  if (unknown.length > 0) throw refusal(code, `Not a member of the cluster: ${unknown.join(", ")}.`, { unknown });
}

export const clusterHandlers: Pick<
  Handlers,
  "delete_cluster_member" | "prune_cluster" | "transfer_leader" | "save_snapshot" | "restore_snapshot"
> = {
  async delete_cluster_member({ params, write }, ports) {
    requireMembers(ports, [params.id], "not_found");
    await ports.cluster.remove(params.id, write);
    return NO_CONTENT;
  },
  async prune_cluster({ body, write }, ports) {
    requireMembers(ports, body.keep, "invalid");
    const before = ports.cluster.status().members.map(({ id }) => id);
    await ports.cluster.prune(body.keep, write);
    // The answer contains the requested members, because this node may not have applied the change yet.
    const members = body.keep.toSorted();
    return { value: { members, removed: before.filter((id) => !members.includes(id)) } };
  },
  async transfer_leader({ body, write }, ports) {
    if (body.to !== undefined) requireMembers(ports, [body.to], "invalid");
    return { value: { leader: await ports.cluster.transferLeader(body.to, write) } };
  },
  async save_snapshot({ query, signal }, { cluster }) {
    const { info, archive } = await cluster.saveSnapshot({ stale: query.stale ?? false, signal });
    return {
      value: archive,
      headers: {
        "content-type": ARCHIVE_TYPE,
        "content-disposition": `attachment; filename="snapshot-${info.term}-${info.index}.tar.gz"`,
        "x-gateway-index": String(info.index),
        "x-gateway-term": String(info.term),
      },
    };
  },
  async restore_snapshot({ body, query, write }, { cluster }) {
    const withoutSecrets = query.without_secrets ?? false;
    const { index, term, size, leftOut } = await cluster.restore(body, { ...write, withoutSecrets });
    const names = leftOut && {
      secrets_left_out: leftOut.secrets,
      certificates_left_out: leftOut.certificates,
    };
    return { value: { index, term, size, ...names } };
  },
};
