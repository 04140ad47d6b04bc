/**
 * Watches the free space and the speed of the disk. Writes are refused while there is still room for what consensus itself must
 * write, because a log that cannot be written ends the process. Source: cluster reference, section 3.4.
 */

import { createSlowDiskWatch, type SlowDiskOptions } from "./slow-disk-watch.ts";
import type { Storage } from "./storage/index.ts";

interface DiskWatch {
  isLow(): boolean;
  /** Records the duration of a durable write of the log. */
  recordWrite(seconds: number): void;
  /** Updates the state from the file system, and reports the writes since the last call. Call it every second. */
  check(): Promise<void>;
}

interface DiskWatchOptions extends SlowDiskOptions {
  readonly storage: Pick<Storage, "freeBytes" | "path">;
  readonly minFreeBytes: number;
  /** Called with the durations of new durable writes, in seconds. */
  onDurations(seconds: readonly number[]): void;
}

export function createDiskWatch(options: DiskWatchOptions): DiskWatch {
  const { storage, minFreeBytes, log, handOver, onDurations } = options;
  const slowDisk = createSlowDiskWatch(options);
  let isLow = false;
  let durations: number[] = [];
  return {
    isLow: () => isLow,
    recordWrite(seconds) {
      durations.push(seconds);
      slowDisk.recordWrite(seconds);
    },
    async check() {
      if (durations.length > 0) onDurations(durations);
      durations = [];
      slowDisk.check();
      const free = await storage.freeBytes();
      const wasLow = isLow;
      isLow = free < minFreeBytes;
      if (isLow === wasLow) return;
      const facts = { free_bytes: free, needed_bytes: minFreeBytes, directory: storage.path };
      if (!isLow) {
        log.info("the disk has enough free space again; writes are accepted", facts);
        return;
      }
      log.error("the disk is nearly full: writes are refused until there is enough free space", facts);
      await handOver();
    },
  };
}
