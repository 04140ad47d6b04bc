/**
 * A request right after the start of a node may need what its cluster is about to settle: the level that the leader raises,
 * without which a write of a new kind is refused, and the number of this start, without which budgets do not work. A node
 * serves once both are known. It never waits for members of older builds. Source: cluster reference, 6.3 and 7.2.
 */
import type { Cluster, StateView } from "../../cluster/index.ts";
import { isLevelRising } from "../../core/state/index.ts";
import { startsOf } from "../governance/usage-reports.ts";

/**
 * Maximum wait for an election and the start number, in milliseconds. A cluster without a leader settles nothing, and its nodes
 * serve what they have.
 */
const START_LIMIT_MS = 3_000;
/** Maximum wait for an existing leader to raise the level, in milliseconds. */
const LEVEL_LIMIT_MS = 1_000;

/** Resolves once the cluster knows of this start, or after three seconds, and then of the level, or after one; never rejects. */
export async function waitForFeatureLevel(cluster: Pick<Cluster, "view" | "status" | "onStatus">): Promise<void> {
  const { view, status, onStatus } = cluster;
  const { incarnation, onIncarnation } = startsOf(cluster);
  const isKnown = (): boolean => incarnation() > 0 && status().leaderId !== undefined;
  await until(isKnown, START_LIMIT_MS, (look) => [onIncarnation(look), onStatus(look)]);
  await until(
    () => !isLevelRising(view as StateView),
    LEVEL_LIMIT_MS,
    (look) => ["member/", "feat/"].map((prefix) => view.watch(prefix, look)),
  );
}

function until(
  isSo: () => boolean,
  limitMs: number,
  watch: (look: () => void) => readonly (() => void)[],
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(limit);
      for (const unwatch of watches) unwatch();
      resolve();
    };
    const limit = setTimeout(end, limitMs);
    const watches = watch(() => {
      if (isSo()) end();
    });
    if (isSo()) end();
  });
}
