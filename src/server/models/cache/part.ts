/**
 * Partly downloaded file. It is written from the start, and its digests are computed as it grows. A file that an
 * interrupted process left is taken over by renaming it, which only one process can complete, and is read once to
 * compute its digests.
 */
import { randomBytes } from "node:crypto";
import { type FileHandle, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { createHasher, type Hasher, readInChunks } from "../file-digest.ts";
import type { ManifestFile } from "../types.ts";
import { fileStats } from "./trust.ts";

/** Age after which an unfinished download is deleted, in milliseconds. */
const MAX_AGE_MS = 7 * 24 * 3_600_000;

export interface PartialFile {
  readonly path: string;
  readonly length: () => number;
  append(bytes: Uint8Array): Promise<void>;
  /** Restarts from the beginning. */
  truncate(): Promise<void>;
  /** Finishes the file, once: synced and read-only. Returns its digests. */
  finish(): Promise<{ readonly sha256: string; readonly git_blob: string }>;
  close(): Promise<void>;
  discard(): Promise<void>;
}

/** Opens a part, and continues one that was left if there is one. Rejects with the system's error. */
export async function openPartialFile(
  folder: string,
  { digest, size }: ManifestFile,
  signal: AbortSignal,
): Promise<PartialFile> {
  const path = join(folder, `${digest.hex}.${randomBytes(6).toString("hex")}.part`);
  const isAdopted = await adoptLongest(folder, digest.hex, path, size);
  const handle = await open(path, isAdopted ? "r+" : "wx+", 0o600);
  try {
    return await createPartialFile(handle, path, size, isAdopted, signal);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function createPartialFile(
  handle: FileHandle,
  path: string,
  size: number,
  isAdopted: boolean,
  signal: AbortSignal,
): Promise<PartialFile> {
  let hasher: Hasher = createHasher(size);
  let length = isAdopted ? (await handle.stat()).size : 0;
  if (length > 0) await readInChunks(path, length, signal, (bytes) => hasher.update(bytes));
  return {
    path,
    length: () => length,
    async append(bytes) {
      for (let at = 0; at < bytes.length; ) {
        at += (await handle.write(bytes, at, bytes.length - at, length + at)).bytesWritten;
      }
      hasher.update(bytes);
      length += bytes.length;
    },
    async truncate() {
      await handle.truncate(0);
      hasher = createHasher(size);
      length = 0;
    },
    async finish() {
      await handle.sync();
      await handle.chmod(0o444);
      return hasher.finish();
    },
    close: () => handle.close(),
    async discard() {
      await rm(path, { force: true });
    },
  };
}

/** Takes over the longest part that was left by renaming it to `path`, and removes the others. */
async function adoptLongest(folder: string, hex: string, path: string, size: number): Promise<boolean> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(`${hex}.`) && name.endsWith(".part"));
  const leftovers = await Promise.all(
    names.map(async (name) => ({ name: join(folder, name), stats: await fileStats(join(folder, name)) })),
  );
  const usable = leftovers
    .flatMap(({ name, stats }) => (stats === undefined || stats.size > size ? [] : [{ name, size: stats.size }]))
    .sort((one, other) => Number(other.size - one.size));
  const [longest] = usable;
  for (const { name } of leftovers) if (name !== longest?.name) await rm(name, { force: true });
  if (longest === undefined) return false;
  try {
    await rename(longest.name, path);
    return true;
  } catch {
    return false;
  }
}

/** Deletes old unfinished downloads. `now`: milliseconds since 1970. */
export async function deleteOldPartialFiles(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const stats = await stat(path).catch(() => undefined);
    if (stats !== undefined && now - stats.mtimeMs > MAX_AGE_MS) await rm(path, { force: true });
  }
}
