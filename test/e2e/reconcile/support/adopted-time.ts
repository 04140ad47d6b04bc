import type { TestNode } from "../../config/support/nodes.ts";
import { eventually } from "../../support/wait.ts";

/** Milliseconds within which a node's worker processes learn its time. */
const WORKERS_MS = 600;

/** Waits until every node uses the new time: a node believes a step once another member confirms it. */
export async function timeIsAdopted(nodes: readonly TestNode[], limitMs: number): Promise<void> {
  for (const { id, client } of nodes) {
    let since = Number.POSITIVE_INFINITY;
    await eventually(
      `${id} goes by the time that was set`,
      async () => {
        const { time } = await client.call("get_status");
        const isAdopted = Math.abs(time?.ahead_ms ?? Number.NaN) < 5_000;
        since = isAdopted ? Math.min(since, performance.now()) : Number.POSITIVE_INFINITY;
        return performance.now() - since >= WORKERS_MS;
      },
      limitMs,
    );
  }
}
