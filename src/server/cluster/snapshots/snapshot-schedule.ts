/** Decides when to make a snapshot, and which part of the log to drop afterwards. Source: cluster reference, section 2.9. */

import type { Member } from "../../core/state/index.ts";
import { ClusterError } from "../cluster-error.ts";
import type { StateWriter } from "../consensus/state-writer.ts";
import type { SavedSnapshot } from "../raft-worker-protocol.ts";
import type { SnapshotRecord, Storage } from "../storage/types.ts";
import type { ArchiveMeta } from "./archive.ts";

/** Number of applied entries after which a snapshot is made. */
const EVERY_ENTRIES = 8_192;
/**
 * Size of the log at which a snapshot is made early. After a larger snapshot the log must have its size: each snapshot contains the
 * whole state, so that a fixed distance would write a state that grows, such as an uploaded archive, over and over.
 */
const EVERY_BYTES = 64 * 1024 * 1024;

/** Number of entries kept before a snapshot, so that a member that was away shortly needs no snapshot. */
const TRAILING_ENTRIES = 10_240;

/** Maximum number of entries kept for a member; one further behind gets a snapshot. */
const MAX_KEPT_FOR_MEMBER = 100_000;

interface SnapshotPorts {
  readonly storage: Storage;
  readonly writer: StateWriter;
  /** Returns the lowest index that a reachable member has; the highest number if there is none. */
  lowestMatch(): number;
  /** Returns whether a received file waits to be installed, while no record names it yet. */
  isInstalling(): boolean;
  /** Called after entries were removed from the beginning of the log. */
  onCompacted(): void;
  onFault(error: unknown): void;
  readonly signal: AbortSignal;
}

export interface SnapshotSchedule {
  /** Begins a snapshot if one is due. Cheap to call. */
  makeIfDue(): void;
  /** Makes a snapshot of everything applied until now. `dropsWholeLog`: keeps no part of the log before it. */
  make(options?: { readonly dropsWholeLog: boolean }): Promise<SnapshotRecord>;
}

export function createSnapshotSchedule(ports: SnapshotPorts): SnapshotSchedule {
  const { storage, writer, signal } = ports;
  let running: Promise<SnapshotRecord> | undefined;

  const produce = async (dropsWholeLog: boolean): Promise<SnapshotRecord> => {
    await writer.flush();
    let writing: Promise<SnapshotRecord> | undefined;
    await writer.runExclusive(async (store) => {
      const { applied, configuration } = writer.position();
      const last = storage.log.snapshotRecord;
      if (last !== undefined && last.size > 0 && last.index === applied.index) {
        writing = Promise.resolve(last);
        return;
      }
      if (applied.index === 0) throw new ClusterError("no_leader", "this node has no state yet");
      // `writeSnapshot` takes the rows of this moment before it returns.
      writing = store.writeSnapshot({ index: applied.index, term: applied.term, configuration }, signal);
      writing.catch(() => undefined);
    });
    if (writing === undefined) throw new Error("no snapshot was begun");
    const record = await writing;
    const { log } = storage;
    const isLarge = dropsWholeLog || log.byteLength >= EVERY_BYTES;
    const keepAfter = isLarge ? record.index : record.index - TRAILING_ENTRIES;
    const neededByMembers = Math.max(ports.lowestMatch(), record.index - MAX_KEPT_FOR_MEMBER);
    const compactTo = dropsWholeLog ? record.index : Math.max(0, Math.min(keepAfter, neededByMembers));
    await log.recordSnapshot(record, compactTo);
    ports.onCompacted();
    if (!ports.isInstalling()) await storage.removeOldSnapshots();
    return record;
  };

  const begin = (dropsWholeLog: boolean): Promise<SnapshotRecord> => {
    const begun = produce(dropsWholeLog).finally(() => {
      running = undefined;
    });
    running = begun;
    return begun;
  };

  return {
    makeIfDue() {
      if (running !== undefined || signal.aborted) return;
      const { snapshotRecord: last, byteLength } = storage.log;
      const since = writer.position().applied.index - (last?.index ?? 0);
      const isLarge = byteLength >= Math.max(EVERY_BYTES, last?.size ?? 0);
      if (since < EVERY_ENTRIES && !(isLarge && since > 0)) return;
      begin(false).catch((error: unknown) => {
        if (!signal.aborted) ports.onFault(error);
      });
    },
    async make({ dropsWholeLog } = { dropsWholeLog: false }) {
      // A snapshot that is already running may have begun too early for the caller.
      while (running !== undefined) await running.catch(() => undefined);
      return await begin(dropsWholeLog);
    },
  };
}

export function notLeaderError(lead: string | number | undefined): ClusterError {
  return new ClusterError(
    "conflict",
    `this node does not lead: ask ${lead ?? "the leader"}, or take a snapshot of this node with \`stale\`, which may lack the newest writes`,
  );
}

export function savedSnapshot(record: SnapshotRecord, path: string, facts: SnapshotFacts): SavedSnapshot {
  const { index, term, size, sha256 } = record;
  return { info: { index, term, size }, path, sha256, meta: describeSnapshot(record, facts) };
}

interface SnapshotFacts {
  readonly members: readonly Member[];
  readonly featureLevel: number;
  readonly clusterId: string | undefined;
  readonly version: string;
  readonly node: string;
  readonly isLeader: boolean;
}

/** Returns `meta.json` of the archive, without its creation time. */
export function describeSnapshot(record: SnapshotRecord, facts: SnapshotFacts): Omit<ArchiveMeta, "created_at"> {
  const { voters, learners } = record.configuration;
  return {
    format: 1,
    id: `${record.term}-${record.index}-${record.now}`,
    index: record.index,
    term: record.term,
    configuration: {
      voters: facts.members.filter(({ id }) => voters.includes(id)),
      learners: facts.members.filter(({ id }) => learners.includes(id)),
    },
    feature_level: facts.featureLevel,
    cluster_id: facts.clusterId ?? null,
    gateway_version: facts.version,
    node: facts.node,
    leader: facts.isLeader,
    size: record.size,
    digest: record.digest,
    rows: record.rows,
  };
}
