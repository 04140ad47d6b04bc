/**
 * Writes applied mutations to the state's disk, one batch at a time, later than the state machine in memory.
 *
 * The rows on disk may lag: after a crash the log is replayed from their position. A batch must never be incomplete, so the
 * position marker is part of it.
 */

import { createSemaphore } from "../../../base/index.ts";
import type { Configuration } from "../../core/raft/index.ts";
import type { Applied, Mutation } from "../../core/state/index.ts";
import type { StateStore } from "../storage/types.ts";

/** Maximum bytes of waiting mutations before applying pauses (cluster reference, 2.5). */
const MAX_PENDING_BYTES = 16 * 1024 * 1024;

/**
 * Time and size up to which applied changes are combined into one write. Rows that change repeatedly are then written once, and
 * disk and threads are left to the log, which writers wait for.
 */
const GATHER_MS = 20;
const GATHER_BYTES = 1024 * 1024;

/** Position of the state after a batch. */
export interface WrittenPosition {
  readonly applied: Applied;
  readonly digest: string;
  readonly configuration: Configuration;
}

export interface StateWriter {
  /** Returns whether more may be applied: false if the disk is too far behind, until `onDrained` is called. */
  mayApply(): boolean;
  add(mutations: readonly Mutation[], position: WrittenPosition): void;
  /** Returns the position of the rows on disk. */
  position(): WrittenPosition;
  /** Runs `work` with the store while no write is in flight and none begins; changes applied meanwhile wait. */
  runExclusive(work: (store: StateStore) => Promise<void>): Promise<void>;
  /**
   * Handles the replacement of all rows in memory: drops pending changes, and `work` returns the store of the new rows and its
   * position. Changes applied meanwhile wait for it.
   */
  replace(work: () => Promise<{ readonly store: StateStore; readonly position: WrittenPosition }>): Promise<void>;
  /** Waits until all pending changes are written. */
  flush(): Promise<void>;
}

interface StateWriterOptions {
  readonly store: StateStore;
  readonly position: WrittenPosition;
  readonly onDrained: () => void;
  /** Called when a write failed; nothing is written any more. */
  readonly onFault: (error: unknown) => void;
}

export function createStateWriter(options: StateWriterOptions): StateWriter {
  let { store, position } = options;
  let pending = new Map<string, Mutation>();
  let pendingBytes = 0;
  let pendingPosition: WrittenPosition | undefined;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let holders = 0;
  let hasFailed = false;
  const mutex = createSemaphore({ permits: 1 });

  const write = async (next: WrittenPosition): Promise<void> => {
    const batch = [...pending.values()];
    const wasFull = pendingBytes >= MAX_PENDING_BYTES;
    drop();
    await store.write(batch, next.applied, next.digest);
    position = next;
    if (wasFull) options.onDrained();
  };

  const start = (): void => {
    if (running !== undefined || holders > 0 || pendingPosition === undefined) return;
    if (pendingBytes >= GATHER_BYTES) begin();
    else timer ??= setTimeout(begin, GATHER_MS);
  };

  const begin = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (running !== undefined || holders > 0 || hasFailed || pendingPosition === undefined) return;
    running = write(pendingPosition)
      .catch((error: unknown) => {
        hasFailed = true;
        options.onFault(error);
      })
      .finally(() => {
        running = undefined;
        start();
      });
  };

  const drop = (): void => {
    pending = new Map();
    pendingBytes = 0;
    pendingPosition = undefined;
  };

  /** Runs `work` after the current write and after earlier calls. No write begins until it has ended. */
  const hold = (work: () => Promise<void>): Promise<void> => {
    holders += 1;
    return mutex.run(async () => {
      try {
        await running;
        await work();
      } finally {
        holders -= 1;
        start();
      }
    });
  };

  return {
    mayApply: () => pendingBytes < MAX_PENDING_BYTES,
    add(mutations, next) {
      for (const mutation of mutations) {
        pending.set(mutation.key, mutation);
        pendingBytes += mutation.key.length + (mutation.value?.length ?? 0);
      }
      pendingPosition = next;
      start();
    },
    position: () => position,
    runExclusive: (work) => hold(() => work(store)),
    replace(work) {
      drop();
      return hold(async () => {
        ({ store, position } = await work());
      });
    },
    async flush() {
      await running;
      begin();
      await running;
    },
  };
}
