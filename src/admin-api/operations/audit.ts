/** Operations about the audit trail: heads that the cluster has stored, and the last records of the queried node. */

import {
  AUDIT_EVENTS,
  anything,
  choice,
  integer,
  list,
  map,
  object,
  optional,
  type TypeOf,
  text,
  time,
} from "../../base/index.ts";
import { ANSWERED_BY, EVERY_NODE } from "../every-node.ts";
import { answers, NO_BODY, NOTHING, type Operation } from "../operation-definition.ts";

/** Maximum number of records that a node remembers: half for changes and the cluster, half for requests. */
export const KEPT_RECORDS = 2_000;

export const auditRecord = object("An audit record, as it was signed.", {
  audit: integer("Version of the record format.", { minimum: 1, maximum: 1 }),
  node: text("Node that wrote the record."),
  kid: text("RFC 7638 thumbprint of the key that signed the record."),
  seq: integer("Sequence number of the record in its chain, from 0."),
  prev: text("Hash of the previous record, in base64url."),
  ts: time("Time of the record."),
  event: text("Event that is recorded."),
  controls: list("Controls that the deciding rule cites.", text("Control.")),
  data: map("Facts about the event. The members depend on `event`.", anything("Value.")),
  hash: text("SHA-256 digest of the record, in base64url."),
  sig: text("Ed25519 signature in base64url: of the hash, or, with `proof`, of the root hash of a group of records."),
  proof: optional(text("Position of the record in a group that shares one signature: `size.index.path`.")),
});

export const auditOperations = {
  list_audit_records: {
    method: "GET",
    path: "/audit/recent",
    group: "read",
    resource: { kind: "Audit", name: "records" },
    help: "Lists the last audit records of this node, newest last, with separate limits for records of requests and all others.",
    params: NOTHING,
    query: object("Query parameters.", {
      limit: optional(integer("Maximum number of records. The default is 100.", { minimum: 1, maximum: KEPT_RECORDS })),
      ...EVERY_NODE,
      event: optional(choice("Only records of this event.", AUDIT_EVENTS)),
    }),
    body: NO_BODY,
    answer: answers(object("Records.", { items: list("Records, newest last.", auditRecord), ...ANSWERED_BY })),
    codes: [],
  },
} as const satisfies Record<string, Operation>;

export type AuditRecord = TypeOf<typeof auditRecord>;
