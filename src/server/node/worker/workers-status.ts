import type { NodeStatus } from "../../admin/index.ts";
import type { WorkersStatus } from "../../workers/index.ts";

/**
 * Returns the state of the workers for status requests. `ownProcess`: for a node that serves from its own process or has not begun to,
 * the number of workers to serve and whether it serves.
 */
export function workersStatusOf(
  status: WorkersStatus | undefined,
  ownProcess: { readonly wanted: number; readonly isServing: boolean },
): NonNullable<NodeStatus["workers"]> {
  if (status === undefined) {
    const serving = ownProcess.isServing ? 1 : 0;
    return { wanted: ownProcess.wanted, serving, restarts: 0, recent_ends: 0, last_end_at: null, last_end_by: null };
  }
  const { wanted, serving, restarts, recentEnds, lastEnd } = status;
  return {
    wanted,
    serving,
    restarts,
    recent_ends: recentEnds,
    last_end_at: lastEnd === undefined ? null : new Date(lastEnd.at).toISOString(),
    last_end_by: lastEnd?.by ?? null,
  };
}
