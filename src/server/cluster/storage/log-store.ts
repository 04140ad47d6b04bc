/**
 * Log on disk: entries, hard state, snapshot record. Reads return only what is durable, since memory changes after a write has
 * ended. `append` is refused while another one runs; other calls wait for each other.
 *
 * Misuse by this process throws a plain `Error`: it is a bug, and nothing has been written. Source: cluster reference, sections
 * 2.9 and 3.2 to 3.4.
 */

import type { Configuration, Entry, HardState } from "../../core/raft/index.ts";
import { damaged } from "../storage-error.ts";
import type { Database, Operation } from "./database.ts";
import type { GuardFile } from "./guard-file.ts";
import type { LogIndex } from "./log-index.ts";
import {
  BadRecord,
  chainAfter,
  decodeEntry,
  encodeEntry,
  entryBytes,
  entryKey,
  origin,
  type Position,
  type StoredEntry,
} from "./log-records.ts";
import { createLogWriter, type LogFacts } from "./log-writer.ts";
import { configurationOf } from "./stored-configuration.ts";
import type { LogStore, LogWrite, SnapshotRecord, StateStore, StorageIdentity } from "./types.ts";

/** Number of keys that one batch of a compaction deletes. Everything behind a batch waits for it. */
const COMPACTION_SLICE = 4096;

interface LogStoreOptions {
  /** Name of the data directory in messages. */
  readonly path: string;
  readonly identity: StorageIdentity;
  readonly database: Database;
  readonly guard: GuardFile;
  readonly facts: LogFacts;
  readonly index: LogIndex;
  /** Returns the position of the state. */
  applied(): StateStore["applied"];
  /** Makes the state's rows durable. Only entries before that position are dropped. */
  flushState(): Promise<void>;
}

export interface OpenLogStore extends LogStore {
  readonly generation: number;
  /** Switches to the generation in one synced batch. */
  adopt(generation: number): Promise<void>;
  /** Does the same as `install` and raises the recovery epoch, in one synced batch. */
  recover(change: Recovered): Promise<void>;
}

interface Recovered {
  readonly record: SnapshotRecord;
  readonly hardState: HardState;
  readonly generation: number;
  readonly epoch: number;
}

export function createLogStore(options: LogStoreOptions): OpenLogStore {
  const { path, identity, database, guard, index } = options;
  const writer = createLogWriter(database, guard, options.facts);
  const { exclusive } = database;
  let { hasJoined } = identity;
  let isAppending = false;
  let background: Promise<void> = Promise.resolve();
  let closing: Promise<void> | undefined;

  function read(at: number): StoredEntry {
    const bytes = database.level.getSync(entryKey(at));
    try {
      if (bytes === undefined) throw new BadRecord(`entry ${at} is missing`);
      const stored = decodeEntry(bytes, at);
      if (stored.entry.term !== index.term(at)) throw new BadRecord(`entry ${at} is not the one that was written`);
      return stored;
    } catch (cause) {
      throw database.fail(damaged(path, cause instanceof BadRecord ? cause.message : "an entry cannot be read", cause));
    }
  }

  function positionAt(at: number): Position {
    const { base, last } = writer.facts.tail;
    if (at === last.index) return last;
    if (at === base.index) return base;
    const { entry, chain } = read(at);
    return { index: at, term: entry.term, chain };
  }

  function deletions(from: number, to: number): Operation[] {
    const operations: Operation[] = [];
    for (let at = from; at <= to; at++) operations.push({ type: "del", key: entryKey(at) });
    return operations;
  }

  async function append({ entries, hardState, sync }: LogWrite): Promise<void> {
    const { facts } = writer;
    const changesVote =
      hardState !== undefined && (hardState.term !== facts.hardState.term || hardState.vote !== facts.hardState.vote);
    refuseMisuse(facts, entries, hardState ?? facts.hardState);
    if (!sync) {
      if (entries.length > 0 || changesVote) throw new Error("entries, terms and votes are to be synced");
      if (hardState !== undefined) await writer.writeCommitIndex(hardState);
      return;
    }
    const first = entries[0];
    let last = first === undefined ? facts.tail.last : positionAt(first.index - 1);
    const operations: Operation[] = [];
    for (const entry of entries) {
      last = { index: entry.index, term: entry.term, chain: chainAfter(last.chain, entry) };
      operations.push({ type: "put", key: entryKey(entry.index), value: encodeEntry(entry, last.chain) });
    }
    operations.push(...deletions(last.index + 1, facts.tail.last.index));
    const onWritten = () => {
      for (const entry of entries) index.append(entry, entryBytes(entry));
    };
    await writer.commit(
      { last, operations, onWritten, ...(hardState === undefined ? {} : { hardState }) },
      !changesVote,
    );
  }

  /** Replaces the whole log by a snapshot. */
  async function replace(
    record: SnapshotRecord,
    change: Omit<Recovered, "record" | "epoch"> & { readonly epoch?: number },
    operations: readonly Operation[] = [],
  ): Promise<void> {
    const { tail } = writer.facts;
    if (change.hardState.term < writer.facts.hardState.term) throw new Error("the term would decrease");
    if (change.hardState.commit < record.index) throw new Error("the snapshot is beyond the commit index given");
    const base = origin(record.index, record.term);
    await writer.commit(
      {
        ...change,
        base,
        last: base,
        snapshot: record,
        operations: [...deletions(tail.base.index + 1, tail.last.index), ...operations],
        onWritten: () => index.reset(record.index),
      },
      false,
    );
  }

  /** Compacts in slices, so that appends can run in between; each slice leaves a complete log. */
  async function compact(to: number): Promise<void> {
    const from = index.baseIndex;
    if (to <= from) return;
    await options.flushState();
    for (let done = from; done < to; ) {
      done = await exclusive(async () => {
        const next = Math.min(index.baseIndex + COMPACTION_SLICE, to);
        if (next <= index.baseIndex) return to;
        await writer.drop(positionAt(next), deletions(index.baseIndex + 1, next), () => index.compact(next));
        return next;
      });
    }
    // A failed compaction also makes the next write fail, which reports it.
    background = background
      .then(() => database.level.compactRange(entryKey(from), entryKey(to)))
      .catch(() => undefined);
  }

  const store: OpenLogStore = {
    get identity() {
      return { ...identity, hasJoined, recoveryEpoch: writer.facts.epoch };
    },
    get isBlank() {
      const { hardState, snapshot, tail } = writer.facts;
      return snapshot === undefined && tail.last.index === 0 && hardState.vote === undefined;
    },
    get byteLength() {
      return index.byteLength;
    },
    get snapshotRecord() {
      return writer.facts.snapshot;
    },
    get generation() {
      return writer.facts.generation;
    },
    initialState: () => ({
      hardState: writer.facts.hardState,
      configuration: configurationOf(store, options.applied().index),
    }),
    firstIndex: () => index.baseIndex + 1,
    lastIndex: () => index.lastIndex,
    term: (at) => (at === index.baseIndex ? writer.facts.tail.base.term : index.term(at)),
    entries(low, high, maxBytes) {
      if (low <= index.baseIndex || low >= high || high > index.lastIndex + 1) {
        throw new RangeError(`entries [${low}, ${high}) are not in the log`);
      }
      const found: Entry[] = [];
      for (let at = low, bytes = 0; at < high; at++) {
        bytes += index.dataLength(at);
        if (at > low && bytes > maxBytes) break;
        found.push(index.cached(at) ?? read(at).entry);
      }
      return found;
    },
    snapshot: () => writer.facts.snapshot ?? { index: 0, term: 0, configuration: EMPTY_CONFIGURATION },

    append(write) {
      if (isAppending) throw new Error("an append is under way");
      isAppending = true;
      return exclusive(() => append(write)).finally(() => {
        isAppending = false;
      });
    },
    bootstrap: (configuration) =>
      exclusive(async () => {
        if (!store.isBlank) throw new Error("the log is not blank");
        const { index: at, term, now, digest } = options.applied();
        if (at !== 1 || term !== 1) throw new Error("the state does not hold the first rows yet");
        // The rows must be durable first, because the log cannot restore rows that a power failure destroys.
        await options.flushState();
        const { hardState, generation } = writer.facts;
        await replace(
          { index: at, term, configuration, now, rows: 0, digest, size: 0, sha256: "" },
          { hardState: { term: Math.max(term, hardState.term), vote: undefined, commit: at }, generation },
          hasJoined ? [joinedRecord(false)] : [],
        );
        hasJoined = false;
      }),
    async recordSnapshot(record, compactTo) {
      await exclusive(async () => {
        const { hardState, snapshot } = writer.facts;
        // A received snapshot was installed while this one was being written.
        if (record.index < (snapshot?.index ?? 0)) return;
        if (record.term !== store.term(record.index)) throw new Error("the snapshot is not of this log");
        if (compactTo > record.index) throw new Error("entries that no snapshot holds are kept");
        const commit = Math.max(hardState.commit, record.index);
        await writer.commit({ snapshot: record, hardState: { ...hardState, commit }, operations: [] }, false);
      });
      await compact(compactTo);
    },
    install: (record, hardState, generation) =>
      exclusive(async () => {
        if (record.index < writer.facts.hardState.commit) throw new Error("the snapshot is older than the log");
        await replace(record, { hardState, generation });
      }),
    join: (stated) =>
      exclusive(async () => {
        if (!store.isBlank) throw new Error("the epoch of a log is its own");
        const epoch = Math.max(stated, writer.facts.epoch);
        await writer.commit({ epoch, operations: [epochRecord(epoch), joinedRecord(true)] }, false);
        hasJoined = true;
      }),
    adopt: (generation) => exclusive(() => writer.commit({ generation, operations: [] }, false)),
    recover: ({ record, ...change }) => exclusive(() => replace(record, change, [epochRecord(change.epoch)])),
    close() {
      closing ??= close();
      return closing;
    },
  };

  /** Closes both handles in any case, and reports the first failure. */
  async function close(): Promise<void> {
    const settled = exclusive(() => writer.settle());
    const outcomes = await Promise.allSettled([settled, writer.settle(), background]);
    outcomes.push(...(await Promise.allSettled([guard.close(), database.close()])));
    for (const outcome of outcomes) if (outcome.status === "rejected") throw database.fail(outcome.reason);
  }

  return store;
}

function epochRecord(epoch: number): Operation {
  return { type: "put", key: Buffer.from("m/epoch"), value: Buffer.from(String(epoch)) };
}

function joinedRecord(hasJoined: boolean): Operation {
  return { type: "put", key: Buffer.from("m/joined"), value: Buffer.from(hasJoined ? "1" : "0") };
}

const EMPTY_CONFIGURATION: Configuration = {
  voters: [],
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
};

function refuseMisuse({ tail, hardState: before }: LogFacts, entries: readonly Entry[], hardState: HardState): void {
  if (hardState.term < before.term || hardState.commit < before.commit) {
    throw new Error("the term or the commit index would decrease");
  }
  if (hardState.term === before.term && before.vote !== undefined && hardState.vote !== before.vote) {
    throw new Error("the vote would change within its term");
  }
  const first = entries[0];
  if (first !== undefined && (first.index <= before.commit || first.index > tail.last.index + 1)) {
    throw new Error(`entry ${first.index} does not follow the log, or replaces a committed one`);
  }
  for (const [at, entry] of entries.entries()) {
    if (entry.index !== (first?.index ?? 0) + at) throw new Error("the entries are not contiguous");
    if (entry.term > hardState.term) throw new Error(`entry ${entry.index} is of a term that was not stored`);
  }
  const last = entries.at(-1)?.index ?? tail.last.index;
  if (hardState.commit > last) throw new Error("the commit index is beyond the log");
}
