/** A pool of real threads with visible messages, whose threads a test can end like a crash. */
import { createScanPool, type PoolOptions } from "../../../../../src/server/detectors/pii/index.ts";
import type { ToScanner } from "../../../../../src/server/detectors/pii/pool/scan-protocol.ts";
import { type ScanThread, startScanThread } from "../../../../../src/server/detectors/pii/pool/scan-thread.ts";

/** Length from which a text counts as long, in UTF-16 units. */
const LONG = 1 << 20;

const isLong = (message: ToScanner): boolean => message.kind === "scan" && (message.texts[0]?.length ?? 0) > LONG;

export function watchedPool(options: PoolOptions) {
  const threads: ScanThread[] = [];
  const reported: ToScanner[] = [];
  /** Threads that read a long text now, and the largest number of them so far. */
  const longReads = { now: 0, most: 0 };
  const counted = { busySeconds: 0, stopped: 0, crashed: 0, refused: 0, queued: () => 0, threads: () => 0 };
  const pool = createScanPool({
    metrics: ({ queued, threads: running }) => {
      counted.queued = queued;
      counted.threads = running;
      return {
        addWorkSeconds: (seconds) => {
          counted.busySeconds += seconds;
        },
        countEnded: (reason) => {
          counted[reason] += 1;
        },
        countRefused: () => {
          counted.refused += 1;
        },
      };
    },
    start: (listener) => {
      let readsLong = false;
      const setReading = (value: boolean): void => {
        longReads.now += Number(value) - Number(readsLong);
        longReads.most = Math.max(longReads.most, longReads.now);
        readsLong = value;
      };
      const thread = startScanThread({
        onMessage: (answer) => {
          setReading(false);
          listener.onMessage(answer);
        },
        onEnd: (error) => {
          setReading(false);
          listener.onEnd(error);
        },
      });
      threads.push(thread);
      return {
        ...thread,
        post: (message) => {
          reported.push(message);
          if (message.kind === "scan") setReading(isLong(message));
          thread.post(message);
        },
      };
    },
    ...options,
  });
  return { pool, threads, posted: reported, longReads, counted };
}
