/** Reports where a change is in force: its raft index, and the nodes that have applied it. */

import { AdminError } from "../../admin-api/index.ts";
import { escapeControls, pause } from "../../base/index.ts";
import type { GatewayConnection } from "./with-gateway.ts";

/**
 * Time to wait for followers, in milliseconds. A follower usually applies within a heartbeat; slower ones are named in
 * the result.
 */
const SETTLE_MS = 3_000;
const STEP_MS = 100;

/** Returns one sentence. If the caller may not read the members, it mentions only the node that was asked. */
export async function appliedText({ client }: GatewayConnection, signal: AbortSignal): Promise<string> {
  try {
    const { node, applied_index: index } = await client.call("get_status", {}, { signal });
    const deadline = performance.now() + SETTLE_MS;
    for (;;) {
      const { items } = await client.call("list_cluster_members", { query: { nodes: "all" } }, { signal });
      const members = [...new Set(items.map(({ id }) => id))];
      const applied = new Set(items.filter((row) => (row.applied ?? -1) >= index).map(({ id }) => id)).add(node);
      const behind = members.filter((id) => !applied.has(id));
      if (behind.length === 0) return `In force on ${nodesText(members.length)} at raft index ${index}.`;
      if (performance.now() > deadline) {
        return `In force on ${applied.size} of ${members.length} nodes at raft index ${index}. Not confirmed yet: ${behind.map(escapeControls).join(", ")}; they apply it once they are reachable.`;
      }
      await pause(STEP_MS, signal);
    }
  } catch (error) {
    if (!(error instanceof AdminError) || signal.aborted) throw error;
    return "In force on the node that was asked; the other nodes could not be read.";
  }
}

const nodesText = (count: number): string => (count === 1 ? "the only node" : `all ${count} nodes`);
