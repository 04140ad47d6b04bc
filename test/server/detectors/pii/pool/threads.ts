/** A pool of real threads with visible messages, whose threads a test can end like a crash. */
import { createScanPool, type PoolOptions } from "../../../../../src/server/detectors/pii/index.ts";
import type { ToScanner } from "../../../../../src/server/detectors/pii/pool/scan-protocol.ts";
import { type ScanThread, startScanThread } from "../../../../../src/server/detectors/pii/pool/scan-thread.ts";

export function watchedPool(options: PoolOptions) {
  const threads: ScanThread[] = [];
  const said: ToScanner[] = [];
  const counted = { busySeconds: 0, stopped: 0, crashed: 0, refused: 0, queued: () => 0, threads: () => 0 };
  const pool = createScanPool({
    metrics: ({ queued, threads: running }) => {
      counted.queued = queued;
      counted.threads = running;
      return {
        addWorkSeconds: (seconds) => {
          counted.busySeconds += seconds;
        },
        countEnded: (why) => {
          counted[why] += 1;
        },
        countRefused: () => {
          counted.refused += 1;
        },
      };
    },
    start: (listener) => {
      const thread = startScanThread(listener);
      threads.push(thread);
      return {
        ...thread,
        post: (message) => {
          said.push(message);
          thread.post(message);
        },
      };
    },
    ...options,
  });
  return { pool, threads, said, counted };
}
