/**
 * Files of the data directory: creates it for its owner only, makes changes durable, and removes unfinished files.
 *
 * The gateway's files are `raft/`, `state-<generation>/`, `raft-guard`, `removed` and `snap-<term>-<index>.bin`, and these names
 * with a suffix for unfinished ones, and `restore-<random>.tmp`. Others (the audit key) are left alone.
 */

import { randomBytes } from "node:crypto";
import { open, readdir, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { createDirectories } from "../../../base/index.ts";
import { codeOf, unwritable } from "../storage-error.ts";

export const RAFT_DIRECTORY = "raft";
export const GUARD_FILE = "raft-guard";

/** Suffix of unfinished files, followed by six random characters for each attempt. */
export const UNFINISHED_SUFFIX = ".new-";

export function stateName(generation: number): string {
  return `state-${generation}`;
}

export function snapshotName({ index, term }: { readonly index: number; readonly term: number }): string {
  return `snap-${term}-${index}.bin`;
}

/** Creates the missing parts of the path, for the owner only. Existing parts stay unchanged; returns warnings about them. */
export async function prepareDirectory(path: string): Promise<readonly string[]> {
  try {
    createDirectories(path, 0o700);
    const { mode } = await stat(path);
    const permissions = (mode & 0o777).toString(8).padStart(4, "0");
    if ((mode & 0o002) !== 0) {
      return [
        `every user of this machine can write to the data directory ${path} (mode ${permissions}): set it to 0700`,
      ];
    }
    if ((mode & 0o004) !== 0) {
      return [`every user of this machine can read the data directory ${path} (mode ${permissions}): set it to 0700`];
    }
    return [];
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return false;
    throw unwritable(path, cause);
  }
}

/** Syncs a directory, which makes created and renamed files in it durable. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

interface KeptFiles {
  readonly generation: number;
  /** File name of the newest snapshot, if it has a file. */
  readonly snapshot: string | undefined;
}

/** Name of the file with the state of an archive that is being restored. */
const RESTORE_FILE = /^restore-[0-9a-f]{12}\.tmp$/;

/** Returns a new name for the file with the state of an archive. */
export const restoreFileName = (): string => `restore-${randomBytes(6).toString("hex")}.tmp`;

/**
 * Removes leftovers of interrupted processes: databases being created, generations that were not adopted, files being written or
 * received, unrecorded snapshots, archives being restored. Call it with the lock held.
 */
export async function removeLeftovers(path: string, { generation, snapshot }: KeptFiles): Promise<void> {
  try {
    for (const name of await readdir(path)) {
      const isLeftover =
        name.startsWith(`${RAFT_DIRECTORY}${UNFINISHED_SUFFIX}`) ||
        (/^state-\d+$/.test(name) && name !== stateName(generation)) ||
        (/^snap-\d+-\d+\./.test(name) && name !== snapshot) ||
        RESTORE_FILE.test(name);
      if (isLeftover) await rm(join(path, name), { recursive: true, force: true });
    }
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/** Removes snapshot files that are not newer than the recorded one: newer ones may still be arriving. */
export async function removeOldSnapshotFiles(
  path: string,
  recorded: { readonly index: number; readonly term: number },
) {
  const keep = snapshotName(recorded);
  try {
    for (const name of await readdir(path)) {
      const index = /^snap-\d+-(\d+)\.bin$/.exec(name)?.[1];
      if (index !== undefined && name !== keep && Number(index) <= recorded.index) await rm(join(path, name));
    }
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/** Returns the bytes available to ordinary users. */
export async function freeBytes(path: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/** Removes generations older than the one in use. A newer one is being built. */
export async function removeOldStates(path: string, generation: number): Promise<void> {
  try {
    for (const name of await readdir(path)) {
      const each = /^state-(\d+)$/.exec(name)?.[1];
      if (each !== undefined && Number(each) < generation) await rm(join(path, name), { recursive: true, force: true });
    }
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/** Returns whether there are files that only a directory with a log database has. */
export async function hasRemains(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).some((name) => name === GUARD_FILE || /^state-\d+$|^snap-\d+-\d+\.bin$/.test(name));
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/** Returns the size of a file in bytes; `undefined` if it is missing. */
export async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return undefined;
    throw cause;
  }
}
