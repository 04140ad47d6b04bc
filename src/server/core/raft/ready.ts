/**
 * Creates a `Ready`, the actions to take, and takes acknowledgements of finished ones.
 *
 * Source: cluster reference, sections 2.1 and 2.2.
 */

import { acknowledgeApply, handOutCommitted, hasEntriesToApply } from "./applying.ts";
import { adoptConfiguration, type Core } from "./core.ts";
import { sizeOf } from "./raft-log.ts";
import { flush, leaveJointIfDue } from "./replication.ts";
import type { AppendAck, HardState, Ready, SoftState } from "./types.ts";
import {
  acknowledgeAppend,
  ackOf,
  handOutEntries,
  handOutSnapshot,
  hasEntriesToHandOut,
  hasSnapshotToHandOut,
} from "./unstable.ts";

export function hasReady(core: Core): boolean {
  return (
    core.messages.length > 0 ||
    core.messagesAfterAppend.length > 0 ||
    core.readStates.length > 0 ||
    core.isBroadcastDue ||
    core.reads.isRoundDue ||
    hasEntriesToHandOut(core.log.unstable) ||
    hasSnapshotToHandOut(core.log.unstable) ||
    hasEntriesToApply(core.applying, core.log) ||
    changedSoftState(core) !== undefined ||
    changedHardState(core) !== undefined
  );
}

export function takeReady(core: Core): Ready {
  flush(core);
  const { unstable } = core.log;
  const softState = changedSoftState(core);
  const hardState = changedHardState(core);
  const { term, vote } = core.hardState;
  const isBallotNew = hardState !== undefined && (hardState.term !== term || hardState.vote !== vote);
  const snapshot = handOutSnapshot(unstable);
  const entries = snapshot === undefined ? handOutEntries(unstable) : [];
  const areEntriesHeld = hasEntriesToHandOut(unstable);
  const committedEntries = handOutCommitted(core.applying, core.log);
  const ready: Ready = {
    softState,
    hardState,
    entries,
    snapshot,
    committedEntries,
    messages: core.messages,
    // Entries after a snapshot are in the next `Ready`, together with the messages about them.
    messagesAfterAppend: areEntriesHeld ? [] : core.messagesAfterAppend,
    readStates: core.readStates,
    mustSync: entries.length > 0 || snapshot !== undefined || isBallotNew,
    ack: ackOf(unstable, core.term),
  };
  core.messages = [];
  core.readStates = [];
  if (!areEntriesHeld) core.messagesAfterAppend = [];
  if (softState !== undefined) core.softState = softState;
  if (hardState !== undefined) core.hardState = hardState;
  core.uncommittedBytes = Math.max(0, core.uncommittedBytes - sizeOf(committedEntries));
  return ready;
}

function changedSoftState({ lead, role, softState }: Core): SoftState | undefined {
  return lead === softState.lead && role === softState.role ? undefined : { lead, role };
}

function changedHardState({ term, vote, log, hardState }: Core): HardState | undefined {
  const commit = log.committed;
  const isSame = term === hardState.term && vote === hardState.vote && commit === hardState.commit;
  return isSame ? undefined : { term, vote, commit };
}

export function takeAppendAck(core: Core, ack: AppendAck): void {
  core.durableTerm = Math.max(core.durableTerm, ack.term);
  acknowledgeAppend(core.log.unstable, ack, core.term);
}

export function takeApplyAck(core: Core, index: number): void {
  if (index > core.applying.handedOut) throw new RangeError(`raft: index ${index} was not handed out to be applied`);
  acknowledgeApply(core.applying, index);
  if (core.restoring !== undefined && index >= core.restoring.index) {
    adoptConfiguration(core, core.restoring.configuration);
    core.restoring = undefined;
  }
  leaveJointIfDue(core);
}
