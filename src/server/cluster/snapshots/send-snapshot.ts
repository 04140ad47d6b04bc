/**
 * Sends the newest snapshot to a member whose log ends before this one begins.
 *
 * In two cases a new snapshot is made instead of sending one, and the next MsgSnap names it: the snapshot of the first
 * configuration has no file, and a snapshot older than the member's addition may contain an earlier member with the same id,
 * which the receiver would take for itself.
 */

import type { Log } from "../../../base/index.ts";
import type { Message } from "../../core/raft/index.ts";
import type { Network } from "../network.ts";
import type { Storage } from "../storage/index.ts";
import type { SnapshotSchedule } from "./snapshot-schedule.ts";

interface SnapshotSenderOptions {
  readonly storage: Storage;
  readonly network: Network;
  readonly snapshots: SnapshotSchedule;
  /** Returns the index from which a snapshot knows the current member of this id. */
  minSnapshotIndex(id: string): number;
  report(to: string, isInstalled: boolean): void;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Returns a function that carries out a MsgSnap and never rejects. */
export function createSnapshotSender(options: SnapshotSenderOptions): (message: Message) => Promise<void> {
  const { storage, network, snapshots, log, signal } = options;
  return async (message) => {
    const to = String(message.to);
    const record = storage.log.snapshotRecord;
    const isUsable = record !== undefined && record.size > 0 && record.index >= options.minSnapshotIndex(to);
    const isRequested = isUsable && record.index === message.snapshot?.index;
    try {
      if (isRequested) {
        await network.sendSnapshot(message, record, storage.snapshotPath(record), signal);
        log.info("a snapshot was sent", { to, index: record.index, bytes: record.size });
      } else if (!isUsable) {
        await snapshots.make();
      }
    } catch (error) {
      if (!signal.aborted) log.warn("a snapshot was not sent", { to, error });
      options.report(to, false);
      return;
    }
    options.report(to, isRequested);
  };
}
