/** Reports to the service manager while a node serves: its status in one line, and that its state machine is alive. */

import type { Cluster, ClusterStatus } from "../cluster/index.ts";
import type { Readiness } from "../telemetry/index.ts";
import type { ConfigNode } from "./config-node-types.ts";

export function serviceManagerReports(
  observed: { readiness(): Readiness },
  cluster: Pick<Cluster, "status" | "ping">,
): Pick<ConfigNode, "status" | "alive"> {
  return {
    status: () => statusLine(observed.readiness(), cluster.status()),
    alive: (signal) => cluster.ping(signal),
  };
}

export function statusLine(
  { ready, reasons }: Readiness,
  { nodeId, role, leaderId, members }: Pick<ClusterStatus, "nodeId" | "role" | "leaderId" | "members">,
): string {
  const serving = ready ? "Serving" : `Not serving (${reasons.join("; ")})`;
  if (role === "removed") return `${serving}; ${nodeId} was removed from its cluster`;
  if (role !== "leader") {
    const leader = leaderId === undefined ? "no leader is known" : `the leader is ${leaderId}`;
    return `${serving}; ${nodeId} is a ${role}, ${leader}`;
  }
  return members.length === 1
    ? `${serving}; ${nodeId} is the only member`
    : `${serving}; ${nodeId} leads ${members.length} members`;
}
