/**
 * Snapshot file that is being received: `snap-<term>-<index>.recv` beside its final name. It is hashed as it grows, so that an
 * interrupted transfer continues where it stopped. A later process overwrites what an earlier one left.
 */

import { createHash } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { SnapshotRecord } from "../storage/types.ts";

export interface PartialFile {
  /** Returns the number of bytes in the file and in the hash. */
  received(): number;
  matches(record: SnapshotRecord): boolean;
  /** Opens the file for a transfer; `close` ends it. */
  open(): Promise<void>;
  close(): Promise<void>;
  append(bytes: Uint8Array): Promise<void>;
  /** Closes the file and makes it durable under its final name. Returns false if its content is not what was announced. */
  finish(): Promise<boolean>;
  discard(): Promise<void>;
}

export function createPartialFile(record: SnapshotRecord, path: string): PartialFile {
  const temporary = join(dirname(path), `snap-${record.term}-${record.index}.recv`);
  const hash = createHash("sha256");
  let received = 0;
  let handle: FileHandle | undefined;

  const close = async (): Promise<void> => {
    const closing = handle;
    handle = undefined;
    await closing?.close();
  };
  return {
    received: () => received,
    matches: ({ index, term, size, sha256 }) =>
      index === record.index && term === record.term && size === record.size && sha256 === record.sha256,
    async open() {
      handle = await open(temporary, received === 0 ? "w" : "r+", 0o600);
    },
    close,
    async append(bytes) {
      if (handle === undefined) throw new TypeError("the file is not open");
      let written = 0;
      while (written < bytes.length) {
        const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, received + written);
        written += bytesWritten;
      }
      hash.update(bytes);
      received += bytes.length;
    },
    async finish() {
      if (hash.digest("hex") !== record.sha256) return false;
      await handle?.sync();
      await close();
      await rename(temporary, path);
      const directory = await open(dirname(path), "r");
      try {
        await directory.sync();
      } finally {
        await directory.close();
      }
      return true;
    },
    async discard() {
      await close();
      await rm(temporary, { force: true });
    },
  };
}
