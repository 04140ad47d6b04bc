/** List of the cluster members, as each node sees them. */

import { choice, flag, integer, nullable, object, text } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const clusterMembers = defineList({
  help: "Lists the cluster members, as the queried node sees them.",
  query: MEASURED_QUERY,
  row: object("A member of the cluster, as the queried node sees it.", {
    id: text("Node id."),
    role: choice("Role of the member in raft.", ["leader", "follower", "learner"]),
    voter: flag("True if the member has a vote and counts toward the quorum."),
    raft_addr: text("Address for raft traffic."),
    forward_addr: text("Address for requests that other nodes forward."),
    state: choice(
      "`reachable` or `silent`: judged by answers on the leader, and by connections on other nodes. `snapshot`: the member is receiving a snapshot. `forgot`: the member lost entries that it had acknowledged and is refused.",
      ["reachable", "silent", "snapshot", "forgot"],
    ),
    last_contact_ms: nullable(integer("Milliseconds since the last contact with the member.")),
    applied: nullable(integer("Last log index that is known to be on the member's disk.")),
    lag: nullable(integer("Number of log entries that the member is behind the leader's commit index.")),
    version: text("Version of the member's build."),
    clock_offset_ms: nullable(
      integer(
        "Milliseconds by which the member's clock is ahead of the queried node's clock; negative if it is behind. Null if it was not measured.",
      ),
    ),
    node: text("Node that reports the row."),
  }),
  identity: ["id"],
  get: {
    about: "cluster",
    aliases: ["members", "nodes", "peers", "cluster"],
    name: ["id"],
    columns: ["id", "role", "state", "voter", "applied", "lag", "last_contact_ms", "clock_offset_ms", "version"],
  },
});
