/**
 * Puts a configuration into force when the entry that contains the change is applied.
 *
 * Source: dissertation, 4.2.2 and 4.3; cluster reference, 2.6.
 */

import { applyChange, isVoter } from "./configuration-change.ts";
import { adoptConfiguration, type Core } from "./core.ts";
import { abortTransfer, advanceCommit, appendEntry, releaseReads } from "./replication.ts";
import type { ConfChange } from "./types.ts";

/** Applies the change. Throws if it cannot be made: every leader checks before it proposes, so the log is damaged. */
export function putIntoForce(core: Core, change: ConfChange): void {
  const outcome = applyChange(core.configuration, change);
  if (outcome.kind === "refused")
    throw new Error(`raft: a committed configuration change is refused: ${outcome.reason}`);
  adoptConfiguration(core, outcome.configuration);
  if (core.role !== "leader") return;
  if (!isVoter(core.configuration, core.id)) {
    // This leader was removed or made a learner. It continues to lead, without counting itself, until an entry after the change
    // is committed: the append of that entry tells the others that the change is committed. Otherwise they might need the vote
    // of a node that can no longer give it.
    core.stepsDownAt ??= appendEntry(core, "normal", new Uint8Array(0)).index;
  }
  // New members must be probed at once, and a smaller quorum may commit more or confirm more reads.
  core.isBroadcastDue = true;
  advanceCommit(core);
  releaseReads(core);
  if (core.leadTransferee !== undefined && !isVoter(core.configuration, core.leadTransferee)) abortTransfer(core);
}
