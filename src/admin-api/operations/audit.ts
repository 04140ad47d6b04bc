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
import { answers, NO_BODY, NOTHING, type Operation } from "../operation.ts";

/** Maximum number of records that a node remembers: half for changes and the cluster, half for requests. */
export const KEPT_RECORDS = 2_000;

export const auditRecord = object("A record as it was signed; design decisions, section 4.", {
  audit: integer("Version of the form.", { minimum: 1, maximum: 1 }),
  node: text("Node that wrote it."),
  kid: text("RFC 7638 thumbprint of the key that signed it."),
  seq: integer("Its number in the chain, from 0."),
  prev: text("Hash of the record before, base64url."),
  ts: time("When it was made."),
  event: text("What it tells of."),
  controls: list("Controls of the rule that decided.", text("Control.")),
  data: map("Facts of the event; which ones follows from `event`.", anything("Value.")),
  hash: text("SHA-256 of the record, base64url."),
  sig: text("Ed25519 signature, base64url: of the hash, or with `proof` of the root of a group of records."),
  proof: optional(text("Where a record is in a group that shares one signature: `size.index.path`.")),
});

export const auditOperations = {
  list_audit_records: {
    method: "GET",
    path: "/audit/recent",
    group: "read",
    resource: { kind: "Audit", name: "records" },
    help: "Lists the last audit records of this node, newest last: those of requests, and apart from them all others.",
    params: NOTHING,
    query: object("Which, and how many.", {
      limit: optional(integer("At most so many; 100 when left out.", { minimum: 1, maximum: KEPT_RECORDS })),
      ...EVERY_NODE,
      event: optional(choice("Only those that tell of this.", AUDIT_EVENTS)),
    }),
    body: NO_BODY,
    answer: answers(object("Records.", { items: list("Newest last.", auditRecord), ...ANSWERED_BY })),
    codes: [],
  },
} as const satisfies Record<string, Operation>;

export type AuditRecord = TypeOf<typeof auditRecord>;
