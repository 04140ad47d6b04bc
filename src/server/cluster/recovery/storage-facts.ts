/** Facts on a stopped node's disk, for choosing the survivor of a cluster that lost its majority. */

import type { Configuration } from "../../core/raft/index.ts";
import { digestOf } from "../../core/state/index.ts";
import { configurationOf, type Storage } from "../storage/index.ts";
import { damaged } from "../storage-error.ts";

export interface StorageFacts {
  /** Absolute path. */
  readonly path: string;
  readonly nodeId: string;
  readonly storageId: string;
  readonly recoveryEpoch: number;
  readonly clusterId: string | undefined;
  readonly term: number;
  readonly vote: string | undefined;
  readonly commit: number;
  readonly applied: number;
  readonly firstIndex: number;
  readonly lastIndex: number;
  /** Term of the last entry. To find the most complete survivor, it is compared before the index. */
  readonly lastTerm: number;
  readonly snapshotIndex: number;
  /** Number of entries that no majority is known to have. A recovery counts them as committed. */
  readonly uncommitted: number;
  /** Configuration at the commit index. */
  readonly configuration: Configuration;
  /** Configuration at the end of the log. */
  readonly lastConfiguration: Configuration;
  readonly isBlank: boolean;
}

export type Row = readonly [key: string, value: string];

export function factsOf(path: string, { log, state }: Storage): StorageFacts {
  const { nodeId, storageId, recoveryEpoch, clusterId } = log.identity;
  const { hardState } = log.initialState();
  const lastIndex = log.lastIndex();
  return {
    path,
    nodeId,
    storageId,
    recoveryEpoch,
    clusterId,
    term: hardState.term,
    vote: hardState.vote === undefined ? undefined : String(hardState.vote),
    commit: hardState.commit,
    applied: state().applied.index,
    firstIndex: log.firstIndex(),
    lastIndex,
    lastTerm: log.term(lastIndex) ?? 0,
    snapshotIndex: log.snapshot().index,
    uncommitted: lastIndex - hardState.commit,
    configuration: configurationOf(log, hardState.commit),
    lastConfiguration: configurationOf(log, lastIndex),
    isBlank: log.isBlank,
  };
}

/** Reads all rows of the state. Rejects if they do not match their digest. */
export async function readState(path: string, storage: Storage): Promise<readonly Row[]> {
  const store = storage.state();
  const rows: Row[] = [];
  for await (const slice of store.load()) rows.push(...slice);
  if (digestOf(rows) !== store.applied.digest) throw damaged(path, "the rows of its state do not match their digest");
  return rows;
}
