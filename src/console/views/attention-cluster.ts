/** Alerts about the cluster and its state: members, leader, configuration, audit chains. */

import {
  type AuditHeadRecord,
  type ClusterMemberRecord,
  type FileStatus,
  lacksDocument,
  type NodeStatus,
  notReadyReasons,
  type SourceRecord,
} from "../../admin-api/index.ts";
import { isReachable, type Quorum, quorumOf } from "../actions/cluster-quorum.ts";
import { count, plural } from "../format/numbers.ts";
import { rowsOf } from "../model/data.ts";
import type { AttentionItem, AttentionSource, Seen, Severity } from "./attention-item.ts";
import { contactText } from "./cluster-members.ts";

export const SILENT_MEMBERS: AttentionSource = {
  needs: [{ id: "list_cluster_members" }],
  items({ data }) {
    const members = rowsOf(data, "cluster_members");
    const quorum = quorumOf(members);
    const leader = members.find((member) => member.role === "leader" && isReachable(member))?.id;
    return members.filter(({ state }) => state === "silent").map((member) => silent(member, quorum, leader));
  },
};

export const FORGETFUL_MEMBERS: AttentionSource = {
  needs: [{ id: "list_cluster_members" }],
  items({ data }) {
    const members = rowsOf(data, "cluster_members");
    const { isMet } = quorumOf(members);
    return members.filter(({ state }) => state === "forgot").map((member) => forgetful(member, isMet));
  },
};

function forgetful(member: ClusterMemberRecord, isMet: boolean): AttentionItem {
  const { id } = member;
  const remedy = isMet
    ? "start it with an empty data directory that joins"
    : "NO QUORUM, NOTHING CAN BE WRITTEN: keep this node, see H";
  return {
    id: `forgot:${id}`,
    severity: "fail",
    weight: 1,
    what: "FORGOT",
    kind: "member",
    name: id,
    text: `restarted without entries that it had acknowledged, and is refused; ${remedy}`,
    target: { place: { view: "cluster" }, row: id },
    json: member,
  };
}

/** Silence in milliseconds; members that are silent for longer count as equally silent when alerts are sorted. */
const LONG_SILENCE_MS = 3_600_000;

/**
 * Describes the silence of a member, and what this node does not know of it. Only a leader measures how long a silence lasts; other
 * nodes see that they are not connected.
 */
function silenceOf(member: ClusterMemberRecord, leader: string | undefined): readonly [state: string, unknown: string] {
  const { last_contact_ms: ms } = member;
  // Rows of older nodes have no such column.
  const node = member.node || "this node";
  if (ms !== null) return [`silent ${contactText(ms)}`, ""];
  if (leader === node) return [`silent since before ${node} led`, ""];
  return [
    "silent",
    `; ${node} does not know for how long: only ${leader === undefined ? "a leader" : `the leader ${leader}`} measures it`,
  ];
}

function silent(
  member: ClusterMemberRecord,
  { voters, reachable, quorum, isMet }: Quorum,
  leader: string | undefined,
): AttentionItem {
  const { id, last_contact_ms: ms } = member;
  const [state, unknown] = silenceOf(member, leader);
  const left = `${reachable} of ${plural(voters, "voter")} reachable, quorum ${quorum}`;
  return {
    id: `member:${id}`,
    severity: "fail",
    degree: isMet ? 1 : 2,
    weight: isMet ? 0.4 + 0.4 * Math.min(1, (ms ?? LONG_SILENCE_MS) / LONG_SILENCE_MS) : 1,
    what: "MEMBER",
    kind: "member",
    name: id,
    text: `${state}; ${left}${isMet ? "" : ": NO QUORUM, NOTHING CAN BE WRITTEN"}${unknown}`,
    target: { place: { view: "cluster" }, row: id },
    json: member,
  };
}

/**
 * Minimum clock offset of an alert, in milliseconds; beyond it windows, suspensions and expiries differ noticeably between
 * nodes.
 */
const NOTABLE_OFFSET_MS = 1_000;

export const WRONG_CLOCKS: AttentionSource = {
  needs: [{ id: "list_cluster_members" }],
  items({ data }) {
    const members = rowsOf(data, "cluster_members");
    const offsets = members.flatMap(({ clock_offset_ms: ms }) => ms ?? []).sort((a, b) => a - b);
    // With an even number, takes the lower of the two middle values, as the cluster does.
    const median = offsets[Math.floor((offsets.length - 1) / 2)] ?? 0;
    return members.flatMap((member) => {
      const ahead = (member.clock_offset_ms ?? median) - median;
      return Math.abs(ahead) > NOTABLE_OFFSET_MS ? [wrongClock(member, ahead)] : [];
    });
  },
};

function wrongClock(member: ClusterMemberRecord, ahead: number): AttentionItem {
  return {
    id: `clock:${member.id}`,
    severity: "warn",
    weight: 0.9,
    // Order of magnitude, since the offset fluctuates.
    degree: Math.floor(Math.log10(Math.abs(ahead))),
    what: "CLOCK",
    kind: "member",
    name: member.id,
    text: `its clock is ${contactText(Math.abs(ahead))} ${ahead > 0 ? "ahead of" : "behind"} the others: check the time synchronization of its machine`,
    target: { place: { view: "cluster" }, row: member.id },
    json: member,
  };
}

/**
 * Alert that the log's time is ahead of the members' clocks: the clock of a former leader was ahead, or clocks were set
 * back.
 */
export const LOG_AHEAD: AttentionSource = {
  needs: [{ id: "get_status" }],
  items(context) {
    const node = status(context);
    const ms = node?.time?.log_ahead_ms ?? 0;
    if (node === undefined || ms === 0) return [];
    const until = `the time of the log is ${contactText(ms)} ahead of the members' clocks`;
    return [
      {
        ...nodeAlert(node, { id: "log:ahead", what: "TIME", kind: "cluster", view: "cluster", text: "" }),
        severity: "warn",
        weight: 0.9,
        degree: Math.floor(Math.log10(ms)),
        text: `${until}: until the clocks reach it, budgets and suspensions use the clocks; check the time synchronization`,
      },
    ];
  },
};

const status = ({ data }: Seen): NodeStatus | undefined => data.get({ id: "get_status" })?.value;

/** Alert about the disk of the queried node. A node hands leadership over first, so writes are refused if no other can lead. */
export const DISK_LOW: AttentionSource = {
  needs: [{ id: "get_status" }],
  items(context) {
    const node = status(context);
    if (node?.disk_low !== true) return [];
    const effect = node.role === "leader" ? "changes are refused" : "it cannot lead";
    const text = `the disk of its data directory is nearly full, so ${effect}: free space on it, or enlarge it`;
    return [nodeAlert(node, { id: "node:disk", what: "DISK", kind: "node", view: "cluster", text })];
  },
};

export const NO_LEADER: AttentionSource = {
  needs: [{ id: "get_status" }],
  items(context) {
    const node = status(context);
    if (node === undefined || node.leader !== null || node.role === "removed") return [];
    return [
      nodeAlert(node, {
        id: "leader:none",
        what: "LEADER",
        kind: "cluster",
        view: "cluster",
        text: "has no leader: changes are refused until there is one; traffic is served",
      }),
    ];
  },
};

/** Alert about a removed node. It replaces the alerts that such a node is not ready and knows no leader. */
export const NODE_REMOVED: AttentionSource = {
  needs: [{ id: "get_status" }],
  items(context) {
    const node = status(context);
    if (node === undefined || node.role !== "removed") return [];
    return [
      nodeAlert(node, {
        id: "node:removed",
        what: "REMOVED",
        kind: "node",
        view: "cluster",
        text: "was removed from its cluster and serves no requests: stop it, or start it again with cluster.join in its node file",
      }),
    ];
  },
};

export const NODE_NOT_READY: AttentionSource = {
  needs: [{ id: "get_status" }],
  items(context) {
    const node = status(context);
    if (node === undefined || node.ready || node.role === "removed") return [];
    const text = `not ready: ${notReadyReasons(node).join("; ") || "no reason given"}`;
    return [
      nodeAlert(node, {
        id: "node:ready",
        what: "NODE",
        kind: "node",
        view: lacksDocument(node) ? "config" : "cluster",
        text,
        degree: node.reasons.length,
      }),
    ];
  },
};

/** Number of ends in 15 minutes from which on the alert is a failure, as in the Prometheus alert `GatewayWorkersEnd`. */
const REPEATED_ENDS = 3;

/**
 * Alert about worker processes that do not serve yet or ended recently. The requests of a process that ends are lost, even if
 * another one has replaced it.
 */
export const WORKERS_MISSING: AttentionSource = {
  needs: [{ id: "get_status" }],
  items(context) {
    const node = status(context);
    if (node?.workers === undefined || !node.ready) return [];
    const { wanted, serving, restarts, recent_ends: ends = 0, last_end_by: by } = node.workers;
    if (serving >= wanted && ends === 0) return [];
    const serve = `${serving} of ${plural(wanted, "worker process", "worker processes")} serve`;
    const isStarting = restarts === 0 && by === null;
    const last = by === null ? "" : `; last exit: ${by}`;
    const text = isStarting
      ? `${serve}; the others are starting`
      : serving < wanted
        ? `${serve}, ${plural(restarts, "restart")}${last}`
        : `${plural(ends, "worker process", "worker processes")} ended in the last 15m and ${ends === 1 ? "was" : "were"} replaced; requests were lost${last}`;
    const item = nodeAlert(node, {
      id: "node:workers",
      what: "WORKERS",
      kind: "node",
      view: "cluster",
      text,
      degree: Math.max(wanted - serving, ends),
    });
    const isFailing = serving < wanted ? !isStarting : ends >= REPEATED_ENDS;
    return [isFailing ? item : { ...item, severity: "warn" }];
  },
};

export const CONFIGURATION_REFUSED: AttentionSource = {
  needs: [{ id: "get_status" }],
  items(context) {
    const node = status(context);
    if (node === undefined || !isRefused(node)) return [];
    const text = `${node.configuration.message ?? "refused, no reason given"}; still serves the previous configuration`;
    return [nodeAlert(node, { id: "node:configuration", what: "CONFIG", kind: "node", view: "config", text })];
  },
};

const isRefused = ({ configuration }: NodeStatus): boolean => configuration.state === "refused";

interface NodeAlert {
  readonly id: string;
  readonly what: string;
  readonly kind: string;
  readonly view: string;
  readonly text: string;
  readonly degree?: number;
}

const nodeAlert = (node: NodeStatus, { id, what, kind, view, text, degree = 1 }: NodeAlert): AttentionItem => ({
  id,
  severity: "fail",
  weight: 1,
  degree,
  what,
  kind,
  name: node.node,
  text,
  target: { place: { view } },
  json: node,
});

/**
 * Severity of each state of the file. `no_file` is normal on every node except the one with the file, and wherever the API is the
 * writer.
 */
const FILE_SEVERITY: Readonly<Record<FileStatus["state"], Severity | undefined>> = {
  in_sync: undefined,
  no_file: undefined,
  no_version: "warn",
  behind: "warn",
  diverged: "warn",
  refused: "fail",
};

export const FILE_STATUS: AttentionSource = {
  needs: [{ id: "get_config" }],
  items(context) {
    const config = context.data.get({ id: "get_config" })?.value;
    const node = status(context);
    if (config === undefined) return [];
    const { state, message, remedy } = config.file_status;
    const severity = FILE_SEVERITY[state];
    // A file that this node refused already has an alert.
    if (severity === undefined || (state === "refused" && node !== undefined && isRefused(node))) return [];
    const item: AttentionItem = {
      id: "config:file",
      severity,
      weight: 0.6,
      what: "FILE",
      kind: "config",
      name: state,
      text: remedy === "" ? message : `${message}. To do: ${remedy}`,
      target: { place: { view: "config" } },
      json: config,
    };
    return [item];
  },
};

export const SOURCES: AttentionSource = {
  needs: [{ id: "list_sources" }],
  items: ({ data }) => rowsOf(data, "sources").flatMap((row) => (row.state === "running" ? [] : [sourceItem(row)])),
};

function sourceItem(row: SourceRecord): AttentionItem {
  const isRefusedHere = row.state === "refused";
  const text = isRefusedHere
    ? `revision ${row.revision} is refused here`
    : `revision ${row.revision} is not in force yet`;
  return {
    id: `source:${row.name}`,
    severity: isRefusedHere ? "fail" : "warn",
    weight: 0.5,
    // A later revision counts as a worse alert.
    degree: row.revision,
    what: "SOURCE",
    kind: "source",
    name: row.name,
    text: row.message === null ? text : `${row.message}; ${text}`,
    target: { place: { view: "config" }, row: row.name },
    json: row,
  };
}

/** One alert per node whose chains have conflicts. */
export const AUDIT_CONFLICTS: AttentionSource = {
  needs: [{ id: "list_audit_heads" }],
  items({ data }) {
    const headsByNode = new Map<string, AuditHeadRecord[]>();
    for (const head of rowsOf(data, "audit_heads")) {
      const heads = head.conflicts > 0 ? headsByNode.get(head.node) : undefined;
      if (heads !== undefined) heads.push(head);
      else if (head.conflicts > 0) headsByNode.set(head.node, [head]);
    }
    return [...headsByNode.values()].flatMap((heads) => {
      const [newest, before] = [...heads].sort((a, b) => Date.parse(b.witnessed_at) - Date.parse(a.witnessed_at));
      return newest === undefined ? [] : [conflictItem(newest, before, heads)];
    });
  },
};

function conflictItem(
  { node, kid, seq, conflicts }: AuditHeadRecord,
  before: AuditHeadRecord | undefined,
  heads: readonly AuditHeadRecord[],
): AttentionItem {
  const showed = `reported audit records that contradict its chain ${plural(conflicts, "time")}`;
  return {
    id: `audit:${node}`,
    severity: "fail",
    weight: 0.7,
    degree: heads.reduce((sum, head) => sum + head.conflicts, 0),
    what: "AUDIT",
    kind: "chain",
    name: node,
    text:
      before === undefined
        ? `${showed}: verify its exported trail`
        : `${showed}: one ended at ${count(before.seq)}, another is at ${count(seq)}. This is expected if the node was replaced under its id; otherwise verify its exported trail`,
    target: { place: { view: "audit-heads" }, row: `${node}/${kid}` },
    json: heads,
  };
}
