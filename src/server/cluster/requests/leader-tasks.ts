/**
 * Periodic proposals of a leader: comparing all replicas' rows, and raising the feature level once all members support it.
 * Source: cluster reference, 6.2 and 6.3.
 */

import type { Member } from "../../core/state/index.ts";

/** Interval of comparisons, in ticks of 50 ms. */
const CHECK_EVERY_TICKS = 1_200;
/** Interval between two attempts to raise the feature level. */
const LEVEL_EVERY_TICKS = 20;
const CHECK_EVERY_ENTRIES = 1_000;

interface LeaderTaskPorts {
  leads(): boolean;
  applied(): number;
  digest(): string;
  members(): readonly Member[];
  featureLevel(): number;
  /** Proposes a command, as best effort; never rejects. */
  propose(t: string, p: unknown): Promise<void>;
}

/** Returns a function to call at every tick. */
export function createLeaderTasks(ports: LeaderTaskPorts): () => void {
  let ticks = 0;
  let checkedAt = 0;
  let raisedAt = -LEVEL_EVERY_TICKS;
  let isProposing = false;

  const propose = (t: string, p: unknown): void => {
    isProposing = true;
    void ports.propose(t, p).finally(() => {
      isProposing = false;
    });
  };

  return () => {
    ticks += 1;
    if (isProposing || !ports.leads()) return;
    const applied = ports.applied();
    const since = applied - checkedAt;
    if (since >= CHECK_EVERY_ENTRIES || (since > 1 && ticks % CHECK_EVERY_TICKS === 0)) {
      checkedAt = applied;
      propose("state.check", { index: applied, digest: ports.digest() });
      return;
    }
    if (ticks - raisedAt < LEVEL_EVERY_TICKS) return;
    const members = ports.members();
    const allowed = Math.min(...members.map(({ feature }) => feature[1]));
    if (members.length === 0 || allowed <= ports.featureLevel()) return;
    raisedAt = ticks;
    propose("feat.set", { level: allowed });
  };
}
