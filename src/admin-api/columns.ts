/**
 * The columns of every list of the admin API, in this one file. A list answers rows of these columns, `query` has a
 * table of the same name and rows, and the console draws them. Values of type object or array are JSON text in SQL.
 */

import { choice, flag, integer, map, nullable, object, type TypeOf, text, time } from "./schema.ts";

export const SUSPENSION_KINDS = ["provider", "key", "profile", "model", "mcp", "a2a", "issuer"] as const;

const METADATA = {
  /** Leaves out what a JavaScript object would take for its prototype. */
  keyPattern: "^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}$",
  maxProperties: 64,
} as const;

export const metadata = map(
  "Texts of the operator's own, readable by access rules.",
  text("Value.", { pattern: "^[^\\u0000]*$", maxLength: 1024 }),
  METADATA,
);

export const TABLES = {
  keys: object("A virtual key.", {
    id: text("Public part of the key, 8 characters."),
    name: text("Unique name."),
    profile: nullable(text("Profile whose limits apply to the key; null: none.")),
    metadata,
    created_at: time("When it was minted."),
    expires_at: nullable(time("When it ceases to be accepted; null: never.")),
    last_used_at: nullable(time("Last use this node knows of, coarse; null: none.")),
    status: choice("Whether a request with the key is accepted.", ["active", "suspended", "expired"]),
  }),
  suspensions: object("Something an operator switched off.", {
    kind: choice("What is suspended.", SUSPENSION_KINDS),
    name: text("Its name."),
    reason: text("Why; shown to callers."),
    by: text("Principal who suspended it."),
    created_at: time("Since when."),
    until: nullable(time("When it ends by itself; null: when it is lifted.")),
    status: choice("`ended` once `until` has passed.", ["active", "ended"]),
  }),
  secrets: object("A sealed secret. Its value is never shown.", {
    name: text("As in `${secret:NAME}`."),
    version: integer("Counted up with each value."),
    updated_at: time("When the value was put."),
    kek: text("Id of the key that wraps the data key the value is sealed with."),
  }),
  sources: object("A configuration source.", {
    name: text("Name; `default` in a deployment configured by a file."),
    revision: integer("Counted up with each change; its ETag."),
    writer: choice("Who may change it: this API, or the deployment document of the node file.", ["api", "file"]),
    updated_at: time("When this revision was accepted."),
    by: text("Principal who wrote it."),
    state: choice("Whether this node serves it; `refused`: it cannot compile it and keeps what it served before.", [
      "running",
      "pending",
      "refused",
    ]),
    message: nullable(text("Why this node does not serve it.")),
  }),
  cluster_members: object("A member of the cluster, as the node asked sees it.", {
    id: text("Node id."),
    role: choice("Its part in the cluster.", ["leader", "follower", "learner"]),
    voter: flag("Whether it counts towards a quorum."),
    raft_addr: text("Where it takes part in consensus."),
    forward_addr: text("Where it takes forwarded requests."),
    state: choice("Contact with it: a leader goes by its answers, another by its connections.", [
      "reachable",
      "silent",
      "snapshot",
    ]),
    last_contact_ms: nullable(integer("Milliseconds since it was last heard of.")),
    applied: nullable(integer("Last log index known to be on its disk.")),
    lag: nullable(integer("Entries behind the leader's commit.")),
    version: text("Version of its build."),
  }),
} as const;

export type TableName = keyof typeof TABLES;
export type RowOf<T extends TableName> = TypeOf<(typeof TABLES)[T]>;

export type KeyRecord = RowOf<"keys">;
export type SuspensionRecord = RowOf<"suspensions">;
export type SecretRecord = RowOf<"secrets">;
export type SourceRecord = RowOf<"sources">;
export type ClusterMemberRecord = RowOf<"cluster_members">;
export type SuspensionKind = (typeof SUSPENSION_KINDS)[number];
