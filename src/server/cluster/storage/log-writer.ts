/**
 * Writes all changes of the log database: a synced batch with the new bounds of the log under the next sequence number, then the
 * guard file (`guard-file.ts` describes their order). Memory changes only after the batch is durable.
 */

import type { HardState } from "../../core/raft/index.ts";
import type { Database, Operation } from "./database.ts";
import type { GuardFile } from "./guard-file.ts";
import { GENERATION_KEY, HARD_STATE_KEY, SNAPSHOT_KEY, TAIL_KEY } from "./load-log.ts";
import {
  encodeGeneration,
  encodeHardState,
  encodeSnapshotRecord,
  encodeTail,
  type Position,
  type Tail,
  voteText,
} from "./log-records.ts";
import type { SnapshotRecord } from "./types.ts";

/** All facts of the log database except the entries. */
export interface LogFacts {
  readonly tail: Tail;
  readonly hardState: HardState;
  readonly snapshot: SnapshotRecord | undefined;
  readonly generation: number;
  readonly epoch: number;
}

/** Changes to write. Absent fields keep their values. */
interface LogChange {
  readonly base?: Position;
  readonly last?: Position;
  readonly hardState?: HardState;
  readonly snapshot?: SnapshotRecord;
  readonly generation?: number;
  /** Recovery epoch. Only a recovery raises it, with its record in `operations`. */
  readonly epoch?: number;
  /** Database operations: writes and deletions of entries, and of other records. */
  readonly operations: readonly Operation[];
  /** Called when the batch is durable, together with the change of `facts`. */
  readonly onWritten?: () => void;
}

interface LogWriter {
  readonly facts: LogFacts;
  /**
   * Writes a change. Call it within `database.exclusive`. A batch of entries alone is acknowledged before the guard is durable.
   */
  commit(change: LogChange, isEntriesAlone: boolean): Promise<void>;
  /** Stores only the commit index. It is not synced, and the guard does not contain it. */
  writeCommitIndex(hardState: HardState): Promise<void>;
  /**
   * Drops entries from the front. The guard does not contain this, but it is synced: LevelDB's log files can become durable out
   * of order, and then the new bounds could exist without the deletions.
   */
  drop(base: Position, operations: readonly Operation[], onWritten: () => void): Promise<void>;
  /** Resolves once the guard file has caught up. */
  settle(): Promise<void>;
}

export function createLogWriter(database: Database, guard: GuardFile, initial: LogFacts): LogWriter {
  let facts = initial;
  /** Resolves once all writes of the guard file so far have ended. If it rejects, the database's handle has failed too. */
  let guarded: Promise<void> = Promise.resolve();
  let scheduledGuard: NodeJS.Immediate | undefined;
  let isGuarding = false;
  let isOutdated = false;

  async function writeFacts(): Promise<void> {
    const { tail, hardState, snapshot, epoch } = facts;
    await guard
      .write({
        sequence: tail.sequence,
        epoch,
        term: hardState.term,
        vote: hardState.vote === undefined ? undefined : voteText(hardState.vote),
        lastIndex: tail.last.index,
        lastTerm: tail.last.term,
        lastChain: tail.last.chain,
        snapshotIndex: snapshot?.index ?? 0,
      })
      .catch((cause) => {
        throw database.fail(cause);
      });
  }

  /** Writes the current facts once the previous write has ended. */
  function guardNow(): Promise<void> {
    clearImmediate(scheduledGuard);
    scheduledGuard = undefined;
    guarded = guarded.then(writeFacts);
    guarded.catch(() => undefined);
    return guarded;
  }

  /**
   * Writes the guard soon. Following batches do not wait for it: one write runs at a time, with the facts that are durable when
   * it begins.
   */
  function guardSoon(): void {
    if (isGuarding) isOutdated = true;
    else scheduledGuard ??= setImmediate(guardUntilCurrent);
  }

  async function guardUntilCurrent(): Promise<void> {
    isGuarding = true;
    do {
      isOutdated = false;
      await guardNow().catch(() => undefined);
    } while (isOutdated);
    isGuarding = false;
  }

  return {
    get facts() {
      return facts;
    },
    async commit(change, isEntriesAlone) {
      const { base = facts.tail.base, last = facts.tail.last, operations } = change;
      const tail = { sequence: facts.tail.sequence + 1, base, last };
      const batch: Operation[] = [...operations, { type: "put", key: TAIL_KEY, value: encodeTail(tail) }];
      if (change.hardState !== undefined) batch.push(put(HARD_STATE_KEY, encodeHardState(change.hardState)));
      if (change.snapshot !== undefined) batch.push(put(SNAPSHOT_KEY, encodeSnapshotRecord(change.snapshot)));
      if (change.generation !== undefined) batch.push(put(GENERATION_KEY, encodeGeneration(change.generation)));
      await database.write(batch, true);
      facts = {
        tail,
        hardState: change.hardState ?? facts.hardState,
        snapshot: change.snapshot ?? facts.snapshot,
        generation: change.generation ?? facts.generation,
        epoch: change.epoch ?? facts.epoch,
      };
      change.onWritten?.();
      if (isEntriesAlone) guardSoon();
      else await guardNow();
    },
    async writeCommitIndex(hardState) {
      await database.write([put(HARD_STATE_KEY, encodeHardState(hardState))], false);
      facts = { ...facts, hardState };
    },
    async drop(base, operations, onWritten) {
      const tail = { ...facts.tail, base };
      await database.write([...operations, put(TAIL_KEY, encodeTail(tail))], true);
      facts = { ...facts, tail };
      onWritten();
    },
    settle() {
      const isBehind = isGuarding || scheduledGuard !== undefined;
      isOutdated = false;
      return isBehind ? guardNow() : guarded;
    },
  };
}

function put(key: Uint8Array, value: Uint8Array): Operation {
  return { type: "put", key, value };
}
