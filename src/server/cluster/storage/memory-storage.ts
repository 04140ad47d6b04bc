/**
 * Storage of a single node that keeps nothing: everything is lost with the process. The state machine keeps the state, and this
 * storage keeps its log and the position of its rows. Snapshots have no file; they only allow the log to be short.
 */

import { randomBytes } from "node:crypto";
import type { Configuration, Entry, HardState } from "../../core/raft/index.ts";
import type { Applied } from "../../core/state/index.ts";
import { configurationOf } from "./stored-configuration.ts";
import type { LogStore, SnapshotRecord, StateStore, Storage, StorageIdentity } from "./types.ts";

/** Size of an entry beyond its data. */
const ENTRY_OVERHEAD_BYTES = 64;

const EMPTY_CONFIGURATION: Configuration = {
  voters: [],
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
};

export function openMemoryStorage(nodeId: string, clusterId: string | undefined): Storage {
  const identity: StorageIdentity = {
    nodeId,
    storageId: randomBytes(16).toString("hex"),
    recoveryEpoch: 0,
    clusterId,
    hasJoined: false,
  };
  let position: StateStore["applied"] = { index: 0, term: 0, now: 0, digest: "" };
  const log = createMemoryLog(identity, () => position);
  const state: StateStore = {
    generation: 1,
    async *load() {
      // A node without a disk never finds earlier data.
    },
    get applied() {
      return position;
    },
    async write(_, applied, digest) {
      position = { ...applied, digest };
    },
    async writeSnapshot({ index, term, configuration }) {
      return recordAt({ ...position, index, term }, configuration);
    },
    close: async () => undefined,
  };
  return {
    path: "memory",
    warnings: [],
    log,
    state: () => state,
    build: rejectCall,
    adopt: rejectCall,
    reopenState: rejectCall,
    snapshotPath: () => "",
    removeOldSnapshots: async () => undefined,
    freeBytes: async () => Number.MAX_SAFE_INTEGER,
    removedAt: () => undefined,
    setRemovedAt: async () => undefined,
    close: async () => undefined,
  };
}

/** Rejects calls that concern other members or archives, which do not exist here. */
async function rejectCall(): Promise<never> {
  throw new Error("a node that keeps its state in memory takes none from elsewhere");
}

const recordAt = (
  { index, term, now, digest }: StateStore["applied"],
  configuration: Configuration,
): SnapshotRecord => ({
  ...{ index, term, configuration, now, digest },
  ...{ rows: 0, size: 0, sha256: "" },
});

function createMemoryLog(identity: StorageIdentity, applied: () => Applied & { readonly digest: string }): LogStore {
  let hardState: HardState = { term: 0, vote: undefined, commit: 0 };
  let record: SnapshotRecord | undefined;
  let base = { index: 0, term: 0 };
  let entries: Entry[] = [];
  let byteLength = 0;
  const lastIndex = (): number => base.index + entries.length;

  function drop(to: number): void {
    if (to <= base.index) return;
    const dropped = entries.slice(0, to - base.index);
    base = { index: to, term: dropped.at(-1)?.term ?? base.term };
    entries = entries.slice(dropped.length);
    for (const entry of dropped) byteLength -= sizeOf(entry);
  }

  const store: LogStore = {
    identity,
    get isBlank() {
      return record === undefined && lastIndex() === 0 && hardState.vote === undefined;
    },
    get byteLength() {
      return byteLength;
    },
    get snapshotRecord() {
      return record;
    },
    initialState: () => ({ hardState, configuration: configurationOf(store, applied().index) }),
    firstIndex: () => base.index + 1,
    lastIndex,
    term: (at) => (at === base.index ? base.term : entries[at - base.index - 1]?.term),
    entries(low, high, maxBytes) {
      const found: Entry[] = [];
      let bytes = 0;
      for (const entry of entries.slice(low - base.index - 1, high - base.index - 1)) {
        bytes += entry.data.length;
        if (found.length > 0 && bytes > maxBytes) break;
        found.push(entry);
      }
      return found;
    },
    snapshot: () => record ?? { index: 0, term: 0, configuration: EMPTY_CONFIGURATION },
    async bootstrap(configuration) {
      const { index, term } = applied();
      record = recordAt(applied(), configuration);
      base = { index, term };
      hardState = { term, vote: undefined, commit: index };
    },
    async append({ entries: added, hardState: next }) {
      const [first] = added;
      if (first !== undefined) {
        for (const replaced of entries.splice(first.index - base.index - 1)) byteLength -= sizeOf(replaced);
        for (const entry of added) {
          entries.push(entry);
          byteLength += sizeOf(entry);
        }
      }
      if (next !== undefined) hardState = next;
    },
    async recordSnapshot(newer, compactTo) {
      if (newer.index >= (record?.index ?? 0)) record = newer;
      drop(compactTo);
    },
    join: rejectCall,
    install: rejectCall,
    close: async () => undefined,
  };
  return store;
}

const sizeOf = ({ data }: Entry): number => data.length + ENTRY_OVERHEAD_BYTES;
