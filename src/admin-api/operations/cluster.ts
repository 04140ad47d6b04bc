/** Operations on the cluster: its members, its leader, and the archive of its state. */

import { flag, integer, list, object, optional, text } from "../../base/index.ts";
import { answers, EMPTY, jsonBody, NO_BODY, NOTHING, type Operation, WRITE_CODES } from "../operation-definition.ts";

const nodeId = text("Node id.", { pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$" });

/** Content type of a snapshot archive, in both directions. */
export const ARCHIVE_TYPE = "application/gzip";

export const clusterOperations = {
  delete_cluster_member: {
    method: "DELETE",
    path: "/cluster_members/{id}",
    group: "dangerous",
    resource: { kind: "Member", param: "id" },
    help: "Removes a member from the cluster, which cannot rejoin before its process restarts.",
    params: object("Path parameters.", { id: nodeId }),
    query: NOTHING,
    body: NO_BODY,
    answer: EMPTY,
    codes: ["not_found", ...WRITE_CODES],
  },
  prune_cluster: {
    method: "POST",
    path: "/cluster/prune",
    group: "dangerous",
    resource: { kind: "Cluster", name: "cluster" },
    help: "Removes all members that are not listed.",
    params: NOTHING,
    query: NOTHING,
    body: jsonBody(
      object("Members that remain.", {
        keep: list("Ids of the nodes to keep.", nodeId, { minItems: 1, maxItems: 64, uniqueItems: true }),
      }),
    ),
    answer: answers(
      object("Remaining and removed members.", {
        members: list("Ids of the remaining nodes.", text("Node id.")),
        removed: list("Ids of the removed nodes.", text("Node id.")),
      }),
    ),
    records: ["members", "removed"],
    codes: WRITE_CODES,
  },
  transfer_leader: {
    method: "POST",
    path: "/cluster/leader",
    group: "write",
    resource: { kind: "Cluster", name: "cluster" },
    help: "Transfers leadership to the named node, or to the most up-to-date voter if none is named.",
    params: NOTHING,
    query: NOTHING,
    body: jsonBody(object("Node that becomes the leader.", { to: optional(nodeId) })),
    answer: answers(object("The new leader.", { leader: text("Node id.") })),
    records: ["leader"],
    codes: WRITE_CODES,
  },
  /**
   * Belongs to the group `write`, because it makes the leader take a snapshot, and the answer contains every key and sealed
   * secret.
   */
  save_snapshot: {
    method: "GET",
    path: "/snapshot",
    group: "write",
    resource: { kind: "Cluster", name: "snapshot" },
    help: "Returns an archive of the whole replicated state, in which secrets stay sealed.",
    params: NOTHING,
    query: object("Query parameters.", {
      stale: optional(
        flag("Take the snapshot on this node even if it is not the leader. It may lack the newest writes."),
      ),
    }),
    body: NO_BODY,
    answer: { kind: "stream", contentType: ARCHIVE_TYPE },
    codes: ["conflict", "no_leader", "busy", "audit_unavailable"],
  },
  restore_snapshot: {
    method: "POST",
    path: "/snapshot",
    group: "dangerous",
    resource: { kind: "Cluster", name: "snapshot" },
    help: "Replaces the whole replicated state with that of an archive, on every node.",
    params: NOTHING,
    query: object("Query parameters.", {
      without_secrets: optional(
        flag(
          "Restore everything except sealed secrets and certificates, for example into a cluster with another secret, and list what was left out.",
        ),
      ),
    }),
    body: { kind: "stream", contentType: ARCHIVE_TYPE },
    answer: answers(
      object("What was restored.", {
        index: integer("Raft log index of the archive."),
        term: integer("Raft term of the archive."),
        size: integer("Size of the state in bytes."),
        secrets_left_out: optional(
          list("With `without_secrets`: names of the secrets to set again.", text("Name of a secret.")),
        ),
        certificates_left_out: optional(
          list("With `without_secrets`: certificates that the gateway orders again.", text("Id of a certificate.")),
        ),
      }),
    ),
    records: ["index", "term", "secrets_left_out"],
    codes: ["refused", ...WRITE_CODES],
  },
} as const satisfies Record<string, Operation>;
