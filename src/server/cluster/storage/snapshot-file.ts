/**
 * Writes the rows of a LevelDB snapshot as a snapshot file: to `snap-<term>-<index>.tmp`, synced, renamed, the directory synced.
 * Rows are read in slices, so that writes continue meanwhile; the file has the state at the time of the call.
 */

import { createHash } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { createStateEncoder } from "../../core/state/index.ts";
import type { Level } from "./database.ts";
import { snapshotName, syncDirectory } from "./directory.ts";
import { BadRecord } from "./log-records.ts";
import { decodeRow, MARKER } from "./state-rows.ts";

/** Number of rows read at a time. */
const SLICE = 256;
/** Number of bytes collected before a write. */
const CHUNK_BYTES = 256 * 1024;

interface SnapshotFile {
  readonly rows: number;
  readonly digest: string;
  readonly size: number;
  /** Hex digest of the file. */
  readonly sha256: string;
}

/** Writes the file. `rows`: in the byte order of their keys. Rejects with the signal's reason. */
export async function writeSnapshotFile(
  path: string,
  position: { readonly index: number; readonly term: number },
  rows: AsyncIterable<readonly (readonly [key: string, value: string])[]>,
  signal: AbortSignal,
): Promise<SnapshotFile> {
  const target = join(path, snapshotName(position));
  const unfinished = target.replace(/bin$/, "tmp");
  const encoder = createStateEncoder();
  const sha256 = createHash("sha256");
  let size = 0;
  let chunks: Uint8Array[] = [encoder.header()];
  let gathered = 0;
  try {
    const file = await open(unfinished, "w", 0o600);
    const write = async () => {
      const bytes = Buffer.concat(chunks);
      chunks = [];
      gathered = 0;
      sha256.update(bytes);
      size += bytes.length;
      await file.writeFile(bytes);
    };
    try {
      for await (const slice of rows) {
        signal.throwIfAborted();
        for (const [key, value] of slice) {
          const record = encoder.row(key, value);
          chunks.push(record);
          gathered += record.length;
          if (gathered >= CHUNK_BYTES) await write();
        }
      }
      chunks.push(encoder.end());
      await write();
      await file.sync();
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    await rename(unfinished, target);
    await syncDirectory(path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  return { ...encoder.summary, size, sha256: sha256.digest("hex") };
}

/** Iterates all rows except the marker, and checks each. Without `snapshot`, reads the rows as of the call. Throws `BadRecord`. */
export async function* readRows(
  level: Level,
  snapshot?: ReturnType<Level["snapshot"]>,
): AsyncGenerator<readonly (readonly [key: string, value: string])[]> {
  const iterator = level.iterator({ fillCache: false, ...(snapshot === undefined ? {} : { snapshot }) });
  try {
    let last: string | undefined;
    for (;;) {
      const slice = await iterator.nextv(SLICE);
      if (slice.length === 0) return;
      const rows: (readonly [string, string])[] = [];
      for (const [keyBytes, valueBytes] of slice) {
        const row = decodeRow(keyBytes, valueBytes);
        // A damaged table can repeat a row.
        if (last !== undefined && row[0] <= last) throw new BadRecord("the rows are out of order");
        last = row[0];
        if (row[0] !== MARKER) rows.push(row);
      }
      yield rows;
    }
  } finally {
    await iterator.close();
  }
}
