/** List of the cluster members, as each node sees them. */

import { choice, flag, integer, nullable, object, text } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const clusterMembers = defineList({
  help: "Lists the members as the node asked sees them.",
  query: MEASURED_QUERY,
  row: object("A member of the cluster, as the node asked sees it.", {
    id: text("Node id."),
    role: choice("Its part in the cluster.", ["leader", "follower", "learner"]),
    voter: flag("Whether it counts towards a quorum."),
    raft_addr: text("Where it takes part in consensus."),
    forward_addr: text("Where it takes forwarded requests."),
    state: choice("Contact with it: a leader goes by its answers, another by its connections; `forgot`: refused.", [
      "reachable",
      "silent",
      "snapshot",
      "forgot",
    ]),
    last_contact_ms: nullable(integer("Milliseconds since it was last heard of.")),
    applied: nullable(integer("Last log index known to be on its disk.")),
    lag: nullable(integer("Entries behind the leader's commit.")),
    version: text("Version of its build."),
    clock_offset_ms: nullable(
      integer(
        "Milliseconds by which its clock is ahead of that of the node asked, negative behind; null: not measured.",
      ),
    ),
    node: text("Node that sees it so."),
  }),
  identity: ["id"],
  get: {
    about: "cluster",
    aliases: ["members", "nodes", "peers", "cluster"],
    name: ["id"],
    columns: ["id", "role", "state", "voter", "applied", "lag", "last_contact_ms", "clock_offset_ms", "version"],
  },
});
