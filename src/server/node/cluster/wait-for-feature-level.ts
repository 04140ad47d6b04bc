/**
 * Waits until a starting node can serve all requests. They may need two facts that the cluster is about to decide: the feature
 * level, without which a write of a new kind is refused, and the number of this start, without which budgets do not work. The
 * wait never depends on members of older builds. Source: cluster reference, 6.3 and 7.2.
 */
import type { Cluster, StateView } from "../../cluster/index.ts";
import { isLevelRising } from "../../core/state/index.ts";
import { incarnationPorts } from "../governance/usage-reports.ts";

/**
 * Maximum wait for an election and the start number, in milliseconds. After it the node starts anyway, since a node serves its
 * stored configuration even while the cluster has no leader.
 */
const START_LIMIT_MS = 3_000;
/** Maximum wait for an existing leader to raise the level, in milliseconds. */
const LEVEL_LIMIT_MS = 1_000;

/**
 * Resolves once the cluster knows this start (at most three seconds), then once it has raised the level (at most one). Never
 * rejects.
 */
export async function waitForFeatureLevel(cluster: Pick<Cluster, "view" | "status" | "onStatus">): Promise<void> {
  const { view, status, onStatus } = cluster;
  const { incarnation, onIncarnation } = incarnationPorts(cluster);
  const isKnown = (): boolean => incarnation() > 0 && status().leaderId !== undefined;
  await waitUntil(isKnown, START_LIMIT_MS, (look) => [onIncarnation(look), onStatus(look)]);
  await waitUntil(
    () => !isLevelRising(view as StateView),
    LEVEL_LIMIT_MS,
    (look) => ["member/", "feat/"].map((prefix) => view.watch(prefix, look)),
  );
}

function waitUntil(
  isMet: () => boolean,
  timeoutMs: number,
  watch: (check: () => void) => readonly (() => void)[],
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(limit);
      for (const unwatch of watches) unwatch();
      resolve();
    };
    const limit = setTimeout(end, timeoutMs);
    const watches = watch(() => {
      if (isMet()) end();
    });
    if (isMet()) end();
  });
}
