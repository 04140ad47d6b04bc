/** The audit trail: heads that the cluster has stored, and this node's last records. */

import type { AuditHeadRecord, AuditRecord } from "../../../admin-api/index.ts";
import type { StateView } from "../../cluster/index.ts";
import { type HeadRow, headConflictKey, readHead, readHeadConflict } from "../../core/state/index.ts";
import { gather, sortByTime } from "../gather-nodes.ts";
import { type Handlers, rfc3339 } from "../handler-types.ts";
import { fixedRows, type ListSource, tablesVersion } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { TABLE_PREFIX } from "../state-prefixes.ts";

const DEFAULT_LIMIT = 100;

export function auditHeadList({ cluster: { view } }: Ports): ListSource<AuditHeadRecord> {
  return { ...tablesVersion(view, TABLE_PREFIX.heads), take: () => fixedRows(headRecords(view)) };
}

/** Returns all rows at once: a node has at most 64 chains and a cluster few nodes, so this does not block the thread. */
function headRecords(view: StateView): readonly AuditHeadRecord[] {
  const heads: HeadRow[] = [];
  for (const [key, value] of view.scan(TABLE_PREFIX.heads)) if (!key.endsWith("/conflict")) heads.push(readHead(value));
  return heads.map(({ node, kid, seq, hash, at }) => {
    const conflict = view.get(headConflictKey(node));
    const conflicts = conflict === undefined ? 0 : readHeadConflict(conflict).count;
    return { node, kid, seq, hash, witnessed_at: rfc3339(at), conflicts };
  });
}

export const auditHandlers: Pick<Handlers, "list_audit_records"> = {
  async list_audit_records({ query: { limit = DEFAULT_LIMIT, event, nodes }, signal }, { audit, cluster }) {
    const localRecords = audit.recent(limit, event);
    if (nodes === undefined) return { value: { items: localRecords } };
    const { items, ...others } = await gather(cluster, { kind: "records", limit, event }, localRecords, signal);
    const records = sortByTime(items as unknown as readonly AuditRecord[], "ts");
    return { value: { items: records.slice(-limit), ...others } };
  },
};
