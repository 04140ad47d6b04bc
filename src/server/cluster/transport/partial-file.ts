/**
 * A snapshot file while it is received: `snap-<term>-<index>.recv` beside its final name, hashed as it grows, so that a
 * transfer that was cut goes on where it stopped. What a process leaves behind the next one overwrites.
 */

import { createHash } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { SnapshotRecord } from "../storage/types.ts";

export interface PartialFile {
  /** Bytes that are in it and in the hash. */
  received(): number;
  isOf(record: SnapshotRecord): boolean;
  /** Between a transfer's begin and its end or cut. */
  open(): Promise<void>;
  close(): Promise<void>;
  append(bytes: Uint8Array): Promise<void>;
  /** Durable under its final name, closed; or false when it is not the file that was announced. */
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
    isOf: ({ index, term, size, sha256 }) =>
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
