/** Log in memory, for scripted cases, simulations and tests. Appended entries are durable at once. */

import { EMPTY_CONFIGURATION } from "./configuration-change.ts";
import type { Configuration, Entry, HardState, LogReader, SnapshotMeta } from "./types.ts";

export interface MemoryLog extends LogReader {
  /** Appends entries; the entry at index i replaces everything at i and above. Throws if this would leave a gap. */
  append(entries: readonly Entry[]): void;
  setHardState(hardState: HardState): void;
  /** Sets the configuration as of the applied index, which `initialState` returns at the next start. */
  setConfiguration(configuration: Configuration): void;
  /** Replaces the whole log. */
  installSnapshot(snapshot: SnapshotMeta): void;
  /** Creates the snapshot that is sent from now on. */
  createSnapshot(index: number, of: Configuration): void;
  /** Removes entries up to and including `index`. */
  compact(index: number): void;
}

interface MemoryLogOptions {
  /** Snapshot before the first entry; by default index 0 without members. */
  readonly snapshot?: SnapshotMeta;
}

export function createMemoryLog(options: MemoryLogOptions = {}): MemoryLog {
  let snapshot: SnapshotMeta = options.snapshot ?? { index: 0, term: 0, configuration: EMPTY_CONFIGURATION };
  let hardState: HardState = { term: snapshot.term, vote: undefined, commit: snapshot.index };
  let configuration = snapshot.configuration;
  /** Index and term directly before the first entry. */
  let before = { index: snapshot.index, term: snapshot.term };
  let entries: Entry[] = [];

  const lastIndex = () => before.index + entries.length;
  const term = (index: number) => (index === before.index ? before.term : entries[index - before.index - 1]?.term);

  return {
    initialState: () => ({ hardState, configuration }),
    firstIndex: () => before.index + 1,
    lastIndex,
    term,
    entries(low, high, maxBytes) {
      if (low <= before.index || high > lastIndex() + 1 || low >= high) {
        throw new RangeError(`log: no entries in [${low}, ${high}) of [${before.index + 1}, ${lastIndex() + 1})`);
      }
      const from = low - before.index - 1;
      const to = high - before.index - 1;
      let end = from;
      for (let bytes = 0; end < to; end += 1) {
        bytes += entries[end]!.data.byteLength;
        if (end > from && bytes > maxBytes) break;
      }
      return entries.slice(from, end);
    },
    snapshot: () => snapshot,
    append(added) {
      const first = added[0];
      if (first === undefined) return;
      if (first.index <= before.index || first.index > lastIndex() + 1) {
        throw new RangeError(`log: entry ${first.index} does not follow ${lastIndex()}`);
      }
      entries = [...entries.slice(0, first.index - before.index - 1), ...added];
    },
    setHardState(state) {
      hardState = state;
    },
    setConfiguration(applied) {
      configuration = applied;
    },
    installSnapshot(installed) {
      snapshot = installed;
      configuration = installed.configuration;
      before = { index: installed.index, term: installed.term };
      entries = [];
    },
    createSnapshot(index, of) {
      const at = term(index);
      if (at === undefined) throw new RangeError(`log: no entry ${index} to make a snapshot of`);
      snapshot = { index, term: at, configuration: of };
    },
    compact(index) {
      const at = term(index);
      if (at === undefined || index > snapshot.index) throw new RangeError(`log: ${index} cannot be compacted`);
      entries = entries.slice(index - before.index);
      before = { index, term: at };
    },
  };
}
