/**
 * What is written right after a node has started may need the level that its leader is about to raise: a node calls
 * itself ready once that is done. It never waits for members of older builds. Source: cluster reference, 6.3.
 */

import type { StateView } from "../cluster/index.ts";
import { isLevelRising } from "../core/state/index.ts";

/** A cluster without a leader raises nothing, and serves what it has. */
const LIMIT_MS = 1_000;

/** Resolves once the level is what all members speak, or after a second; never rejects. */
export function whenLevelStands(view: StateView): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (isLevelRising(view)) return;
      clearTimeout(limit);
      for (const end of watches) end();
      resolve();
    };
    const watches = ["member/", "feat/"].map((prefix) => view.watch(prefix, look));
    const limit = setTimeout(() => {
      for (const end of watches) end();
      resolve();
    }, LIMIT_MS);
    look();
  });
}
