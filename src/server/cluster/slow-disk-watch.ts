/**
 * Watches how long durable writes of the log take. The budgets and keys of the whole cluster wait for the disk of the leader, so
 * a leader with a slow disk hands leadership over.
 */

import type { Log } from "../../base/index.ts";

interface SlowDiskWatch {
  /** Records a durable write of the log. */
  recordWrite(seconds: number): void;
  /** Reports a slow disk, and hands leadership over if this node leads. Call it every second. */
  check(): void;
}

export interface SlowDiskOptions {
  readonly log: Log;
  /** Returns the time of a monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly isLeader: () => boolean;
  /** Hands leadership over to another member, if this node leads and one can be reached. */
  readonly handOver: () => Promise<void>;
}

/** Duration from which a durable write is slow: a request waits a quarter of a second for a budget, and a tenth is usual. */
const SLOW_SECONDS = 0.5;
/** Number and total duration of consecutive slow writes that show that the disk is slow, and not just one write. */
const SLOW_WRITES = 3;
const SLOW_TOTAL_SECONDS = 5;
/** Minimum interval between two reports. If the disks of all members are slow, leadership must not move all the time. */
const REPORT_INTERVAL_MS = 300_000;

export function createSlowDiskWatch({ log, now, isLeader, handOver }: SlowDiskOptions): SlowDiskWatch {
  let slowWrites = 0;
  let slowSeconds = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;
  return {
    recordWrite(seconds) {
      const isSlow = seconds >= SLOW_SECONDS;
      slowWrites = isSlow ? slowWrites + 1 : 0;
      slowSeconds = isSlow ? slowSeconds + seconds : 0;
    },
    check() {
      if (slowWrites < SLOW_WRITES || slowSeconds < SLOW_TOTAL_SECONDS) return;
      if (now() - reportedAt < REPORT_INTERVAL_MS) return;
      reportedAt = now();
      const facts = { writes: slowWrites, seconds_per_write: Number((slowSeconds / slowWrites).toFixed(2)) };
      if (!isLeader()) {
        log.warn(
          "the disk is slow: changes of keys, suspensions and configuration take effect late on this node",
          facts,
        );
        return;
      }
      log.warn("the disk of the leader is slow: budgets and keys wait for it, and leadership is handed over", facts);
      void handOver();
    },
  };
}
