/**
 * Compares the log database with the guard file at the start. The batch number decides: a log that is older than the guard has
 * lost entries. A log that is newer was not yet recorded in the guard before a crash, and may have replaced entries that the
 * guard names. Rules: cluster reference, section 3.3.
 */

import type { HardState } from "../../core/raft/index.ts";
import { damaged, forgot } from "../storage-error.ts";
import { type GuardIdentity, type GuardReading, type GuardSlot, guardDigest } from "./guard-file.ts";
import { areBytesEqual } from "./load-log.ts";
import type { Tail } from "./log-records.ts";
import { voteText } from "./log-records.ts";

interface GuardedLog {
  /** Name of the data directory in messages. */
  readonly path: string;
  readonly identity: GuardIdentity & { readonly recoveryEpoch: number };
  readonly tail: Tail;
  readonly hardState: HardState;
}

/** Returns the serial of the valid slot, or 0 if the file has to be created. Throws a `StorageError`. */
export function checkGuard(reading: GuardReading, guarded: GuardedLog): number {
  const { path, identity, tail } = guarded;
  if (reading.kind !== "read") {
    // The guard is created before the first batch, so only a directory without batches may lack it.
    if (tail.sequence === 0) return 0;
    throw damaged(path, `its file raft-guard ${reading.kind === "missing" ? "is missing" : "cannot be read"}`);
  }
  const { slot } = reading;
  if (slot.storageId !== identity.storageId || slot.node !== guardDigest(identity.nodeId)) {
    throw damaged(path, "its file raft-guard belongs to another directory");
  }
  const lost = lostFact(slot, guarded);
  if (lost !== undefined) throw forgot(path, lost);
  return slot.serial;
}

function lostFact(slot: GuardSlot, { identity, tail, hardState }: GuardedLog): string | undefined {
  const { term, vote } = hardState;
  const { last } = tail;
  if (identity.recoveryEpoch < slot.epoch) return "a recovery of the membership is missing";
  if (term < slot.term) return `its term is ${term}, but term ${slot.term} had been reached`;
  const voteDigest = guardDigest(vote === undefined ? undefined : voteText(vote));
  if (term === slot.term && slot.vote !== guardDigest(undefined) && slot.vote !== voteDigest) {
    return `the vote of term ${term} is missing or another`;
  }
  if (tail.sequence > slot.sequence) return undefined;
  if (last.index < slot.lastIndex) {
    return `it ends with entry ${last.index}, and entry ${slot.lastIndex} of term ${slot.lastTerm} had been stored`;
  }
  if (tail.sequence < slot.sequence) return "its last writes are missing";
  const isSame =
    last.index === slot.lastIndex && last.term === slot.lastTerm && areBytesEqual(last.chain, slot.lastChain);
  return isSame && term === slot.term && voteDigest === slot.vote
    ? undefined
    : "it ends with other entries than were stored";
}
