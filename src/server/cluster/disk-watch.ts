/**
 * Watches free disk space. Writes are refused while there is still room for what consensus itself must write, because a log
 * that cannot be written ends the process. Source: cluster reference, section 3.4.
 */

import type { Log } from "../../base/index.ts";
import type { Storage } from "./storage/index.ts";

interface DiskWatch {
  isLow(): boolean;
  /** Updates the state from the file system. */
  check(): Promise<void>;
}

interface DiskWatchOptions {
  readonly storage: Pick<Storage, "freeBytes" | "path">;
  readonly minFreeBytes: number;
  readonly log: Log;
  /** Called when free space falls below the limit. */
  onLow(): Promise<void>;
}

export function createDiskWatch({ storage, minFreeBytes, log, onLow }: DiskWatchOptions): DiskWatch {
  let isLow = false;
  return {
    isLow: () => isLow,
    async check() {
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
      await onLow();
    },
  };
}
