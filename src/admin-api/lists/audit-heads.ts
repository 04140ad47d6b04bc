/** List of the newest witnessed record of each audit chain. */

import { integer, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const auditHeads = defineList({
  help: "Lists the newest record of each audit chain that the cluster has stored as a witness.",
  query: LIST_QUERY,
  row: object("The newest record of an audit chain that a node reported to the cluster.", {
    node: text("Node that writes the audit chain."),
    kid: text("RFC 7638 thumbprint of the key that signs the chain."),
    seq: integer("Sequence number of the record in its chain, from 0."),
    hash: text("SHA-256 digest of the record, in base64url."),
    witnessed_at: time("Time at which the cluster stored the record."),
    conflicts: integer(
      "How often the node reported a record that contradicts an earlier one. If it is above 0, the trail may have been changed: check it with `gateway audit verify`.",
    ),
  }),
  identity: ["node", "kid"],
  get: {
    about: "cluster",
    aliases: ["audit"],
    name: ["node"],
    columns: ["node", "kid", "seq", "witnessed_at", "conflicts"],
  },
});
