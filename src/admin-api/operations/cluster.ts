/** Operations on the cluster: its members, its leader, and the archive of its state. */

import { flag, integer, list, object, optional, text } from "../../base/index.ts";
import { answers, EMPTY, jsonBody, NO_BODY, NOTHING, type Operation, WRITE_CODES } from "../operation.ts";

const nodeId = text("Node id.", { pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$" });

/** Content type of a snapshot archive, in both directions. */
export const ARCHIVE_TYPE = "application/gzip";

export const clusterOperations = {
  delete_cluster_member: {
    method: "DELETE",
    path: "/cluster_members/{id}",
    group: "dangerous",
    resource: { kind: "Member", param: "id" },
    help: "Removes a member, which does not come back until its process restarts.",
    params: object("Which member.", { id: nodeId }),
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
    help: "Makes the members exactly those listed; the others are removed.",
    params: NOTHING,
    query: NOTHING,
    body: jsonBody(
      object("Who remains.", {
        keep: list("Node ids.", nodeId, { minItems: 1, maxItems: 64, uniqueItems: true }),
      }),
    ),
    answer: answers(
      object("Who remains, and who was a member until now.", {
        members: list("Node ids.", text("Node id.")),
        removed: list("Node ids.", text("Node id.")),
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
    help: "Hands leadership over, to the most advanced voter unless one is named.",
    params: NOTHING,
    query: NOTHING,
    body: jsonBody(object("Node to hand leadership to.", { to: optional(nodeId) })),
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
    help: "Answers an archive of the whole state, its secrets sealed.",
    params: NOTHING,
    query: object("Node that takes the snapshot.", {
      stale: optional(flag("Also from a node that does not lead, which may lack the newest writes.")),
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
    help: "Replaces the whole state by that of an archive, on every node.",
    params: NOTHING,
    query: object("How.", {
      without_secrets: optional(
        flag("Restore all but what is sealed, such as into a cluster of another secret, and list what was left out."),
      ),
    }),
    body: { kind: "stream", contentType: ARCHIVE_TYPE },
    answer: answers(
      object("What was restored.", {
        index: integer("Log index the archive was taken at."),
        term: integer("Its term."),
        size: integer("Bytes of state."),
        secrets_left_out: optional(
          list("With `without_secrets`: names of the sealed secrets to seal again.", text("Name of a secret.")),
        ),
        certificates_left_out: optional(
          list("With `without_secrets`: certificates that are ordered again.", text("Id of a certificate.")),
        ),
      }),
    ),
    records: ["index", "term", "secrets_left_out"],
    codes: ["refused", ...WRITE_CODES],
  },
} as const satisfies Record<string, Operation>;
