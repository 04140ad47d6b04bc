/** List of the newest witnessed record of each audit chain. */

import { integer, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const auditHeads = defineList({
  help: "Lists the newest record that the cluster has witnessed of each audit chain.",
  query: LIST_QUERY,
  row: object("The newest record of an audit chain that was shown to the cluster.", {
    node: text("Node that writes the chain."),
    kid: text("RFC 7638 thumbprint of the key that signs it."),
    seq: integer("Number of the record in its chain, from 0."),
    hash: text("SHA-256 of the record, base64url."),
    witnessed_at: time("When the cluster saw it."),
    conflicts: integer("Times that the node showed what cannot be one chain with what it had shown; above 0: look."),
  }),
  identity: ["node", "kid"],
  get: {
    about: "cluster",
    aliases: ["audit"],
    name: ["node"],
    columns: ["node", "kid", "seq", "witnessed_at", "conflicts"],
  },
});
