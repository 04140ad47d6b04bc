/**
 * State machine of this node: applies entries of the log, passes the changes to the disk and to the main thread, and is replaced
 * as a whole by a snapshot or a restore.
 */

import { createReadStream } from "node:fs";
import { runInSlices } from "../../../base/index.ts";
import type { Configuration, HardState, SnapshotMeta } from "../../core/raft/index.ts";
import {
  type ApplyOutcome,
  type CommandResult,
  type CommittedEntry,
  createStateDecoder,
  loadState,
  type Mutation,
  type State,
  type Steps,
} from "../../core/state/index.ts";
import { idsOf } from "../members/membership.ts";
import { isPublicRow } from "../state-view.ts";
import type { SnapshotRecord, StateStore, Storage } from "../storage/types.ts";
import type { DriverPorts } from "./driver-types.ts";
import type { StateWriter, WrittenPosition } from "./state-writer.ts";

/** Rows in one message to the main thread or one batch to the disk. */
const SLICE_ROWS = 2_000;

export type Row = readonly [key: string, value: string];

interface AppliedStateEvents {
  /** Called after applying. `now`: time at which the entry at `index` was decided. */
  onApplied(mutations: readonly Mutation[], index: number, now: number): void;
  onReplaced(slices: Iterable<readonly Row[]>, index: number, now: number): void;
  /** Called when the configuration changed, or the whole state was replaced. */
  onConfiguration(configuration: Configuration, index: number): void;
  /** Called when a restore replaced the rows; the log before it is no longer needed. */
  onRestored(): void;
  /** Called when an entry for which `apply` returned `preparing` can be applied. */
  onPrepared(): void;
  /** Called when the rows of this node differ from the leader's. */
  onDiverged(index: number): void;
  onFault(error: unknown): void;
}

export interface AppliedState {
  readonly state: State;
  readonly configuration: Configuration;
  readonly apply: DriverPorts["apply"];
  /** Replaces state and log by a received snapshot file. */
  install(record: SnapshotRecord, path: string, hardState: HardState): Promise<void>;
  /** Reports the whole state, for a new reader. */
  announce(): void;
  /** Reports applied changes now instead of at the end of this turn of the event loop. */
  flush(): void;
  /** Resolves true once `index` is applied, false after `ms`. */
  whenApplied(index: number, ms: number): Promise<boolean>;
}

interface AppliedStateOptions {
  readonly storage: Storage;
  readonly state: State;
  readonly configuration: Configuration;
  readonly writer: StateWriter;
  readonly events: AppliedStateEvents;
  /** Ends preparations. */
  readonly signal: AbortSignal;
}

/** Entry that is being prepared, and the function that applies it once it is prepared. */
interface Preparation {
  readonly index: number;
  commit: (() => ApplyOutcome) | undefined;
}

export function createAppliedState(options: AppliedStateOptions): AppliedState {
  const { storage, writer, events, signal } = options;
  let { state, configuration } = options;
  let unreported: Mutation[] = [];
  let isFlushScheduled = false;
  const waiting = new Set<{ readonly index: number; readonly done: (isApplied: boolean) => void }>();
  let preparation: Preparation | undefined;

  const flush = (): void => {
    if (!isFlushScheduled) return;
    isFlushScheduled = false;
    const mutations = unreported;
    unreported = [];
    events.onApplied(mutations, state.applied.index, state.decidedAt);
  };

  const queueChanges = (mutations: readonly Mutation[]): void => {
    for (const mutation of mutations) if (isPublicRow(mutation.key)) unreported.push(mutation);
    if (isFlushScheduled) return;
    isFlushScheduled = true;
    setImmediate(flush);
  };

  const settleWaiting = (): void => {
    for (const waiter of waiting) {
      if (waiter.index > state.applied.index) continue;
      waiting.delete(waiter);
      waiter.done(true);
    }
  };

  /** Returns `undefined` while the entry is being prepared. */
  const applyOrPrepare = (entry: CommittedEntry): ApplyOutcome | undefined => {
    if (preparation?.index === entry.index) {
      const outcome = preparation.commit?.();
      if (outcome !== undefined) preparation = undefined;
      return outcome;
    }
    const outcome = state.applyOrPrepare(entry);
    if ("result" in outcome) return outcome;
    const started: Preparation = { index: entry.index, commit: undefined };
    preparation = started;
    runInSlices(prepare(started, outcome), () => signal.aborted);
    return undefined;
  };

  function* prepare(started: Preparation, steps: Steps<() => ApplyOutcome>): Steps<void> {
    try {
      started.commit = yield* steps;
      events.onPrepared();
    } catch (error) {
      events.onFault(error);
    }
  }

  const position = (): WrittenPosition => ({ applied: state.applied, digest: state.digest, configuration });

  const announce = (rows: Iterable<Row> = state.scan("")): void => {
    unreported = [];
    isFlushScheduled = false;
    events.onReplaced(slicesOf(rows, isPublicRow), state.applied.index, state.decidedAt);
  };

  /** Writes the rows in memory as a new generation on the disk. */
  const writeGeneration = async (
    rows: Iterable<Row>,
    position: WrittenPosition,
  ): Promise<{ store: StateStore; position: WrittenPosition }> => {
    const build = await storage.build();
    for (const slice of slicesOf(rows, () => true)) await build.add(slice);
    await build.finish(position.applied, position.digest);
    await storage.adopt(build.generation);
    return { store: await storage.reopenState(), position: position };
  };

  return {
    get state() {
      return state;
    },
    get configuration() {
      return configuration;
    },
    apply(entry, change) {
      const committed = { index: entry.index, term: entry.term, data: entry.data };
      if (change !== undefined) configuration = change.configuration;
      const outcome =
        change === undefined
          ? applyOrPrepare(committed)
          : state.applyConfiguration({ ...committed, data: EMPTY }, change.change.context, idsOf(configuration));
      if (outcome === undefined) return "preparing";
      if (outcome.replacement !== undefined) {
        const at = position();
        const rows = [...outcome.replacement];
        for (const { key, value } of outcome.mutations) if (value !== undefined) rows.push([key, value]);
        writer.replace(() => writeGeneration(rows, at)).then(events.onRestored, events.onFault);
        announce(rows);
        events.onConfiguration(configuration, entry.index);
      } else {
        writer.add(outcome.mutations, position());
        queueChanges(outcome.mutations);
        if (change !== undefined) events.onConfiguration(configuration, entry.index);
      }
      if (reportsDivergence(outcome.result)) events.onDiverged(entry.index);
      if (waiting.size > 0) settleWaiting();
      return outcome.result;
    },
    async install(record, path, hardState) {
      await writer.replace(async () => {
        const build = await storage.build();
        const rows: Row[] = [];
        const decoder = createStateDecoder();
        for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
          const decoded = decoder.push(chunk);
          rows.push(...decoded);
          await build.add(decoded);
        }
        decoder.end();
        const applied = { index: record.index, term: record.term, now: record.now };
        await build.finish(applied, record.digest);
        await storage.log.install(record, hardState, build.generation);
        const store = await storage.reopenState();
        state = loadState({ applied, rows });
        configuration = record.configuration;
        return { store, position: position() };
      });
      announce();
      events.onConfiguration(configuration, record.index);
      settleWaiting();
    },
    announce: () => announce(),
    flush,
    whenApplied(index, ms) {
      if (state.applied.index >= index) return Promise.resolve(true);
      return new Promise((resolve) => {
        const waiter = {
          index,
          done: (isApplied: boolean) => {
            clearTimeout(timer);
            waiting.delete(waiter);
            resolve(isApplied);
          },
        };
        const timer = setTimeout(() => waiter.done(false), ms);
        waiting.add(waiter);
      });
    },
  };
}

const EMPTY = new Uint8Array(0);

function* slicesOf(rows: Iterable<Row>, isIncluded: (key: string) => boolean): Iterable<readonly Row[]> {
  let slice: Row[] = [];
  for (const row of rows) {
    if (!isIncluded(row[0])) continue;
    slice.push(row);
    if (slice.length < SLICE_ROWS) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}

/** Returns whether `state.check` found rows that differ from the leader's. */
function reportsDivergence(result: CommandResult | undefined): boolean {
  if (result?.kind !== "ok" || typeof result.value !== "object" || result.value === null) return false;
  return "equal" in result.value && result.value.equal === false;
}

/** Returns the key of a snapshot in maps of received and sent files. */
export function snapshotKeyOf({ term, index }: Pick<SnapshotMeta, "term" | "index">): string {
  return `${term}-${index}`;
}

export function divergedError(index: number): Error {
  return new Error(
    `the state of this node differs from that of its leader at index ${index}: move its data directory away and join again`,
  );
}
