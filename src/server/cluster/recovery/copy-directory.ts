/**
 * Copies a data directory for inspection, since opening a LevelDB database rewrites it. Databases are copied under their lock:
 * LevelDB locks the file LOCK by its inode, so a throwaway database whose LOCK is a symbolic link to the real one takes the
 * same lock and changes nothing there.
 *
 * The copy is in the system's temporary directory, readable by its owner only, and needs as much room as the databases.
 * Snapshot files are large and only read, so they are linked.
 */

import { constants } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GUARD_FILE, openDatabase, RAFT_DIRECTORY, StorageError } from "../storage/index.ts";
import { codeOf, unwritable } from "../storage-error.ts";

interface DirectoryCopy {
  /** Absolute path. */
  readonly path: string;
  remove(): Promise<void>;
}

/** Files that are not copied: the lock, and LevelDB's own log files. */
const NOT_COPIED: ReadonlySet<string> = new Set(["LOCK", "LOG", "LOG.old"]);

/** Copies the directory. Rejects with a `StorageError`: `missing`, `locked`, or a fault of the disk that receives the copy. */
export async function copyDirectory(path: string): Promise<DirectoryCopy> {
  if (!(await isDirectory(join(path, RAFT_DIRECTORY)))) {
    throw new StorageError("missing", `there is no data directory of a node at ${path}: check data_dir`);
  }
  const temporary = await mkdtemp(join(tmpdir(), "gateway-recover-"));
  const remove = () => rm(temporary, { recursive: true, force: true });
  try {
    const unlock = await lockDatabase(path, join(temporary, "lock"));
    try {
      const copy = join(temporary, "data");
      await mkdir(copy, { mode: 0o700 });
      await copyAll(path, copy);
      return { path: copy, remove };
    } finally {
      await unlock();
    }
  } catch (error) {
    await remove();
    throw error instanceof StorageError ? error : unwritable(temporary, error);
  }
}

async function lockDatabase(path: string, location: string): Promise<() => Promise<void>> {
  const file = join(path, RAFT_DIRECTORY, "LOCK");
  // Without the file there can be no lock on it, and a dangling link would create it.
  if (!(await exists(file))) return () => Promise.resolve();
  await mkdir(location, { mode: 0o700 });
  await symlink(file, join(location, "LOCK"));
  const database = await openDatabase({ path, location, create: true });
  return () => database.close();
}

async function copyAll(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    const source = join(from, name);
    if (name === RAFT_DIRECTORY || /^state-\d+$/.test(name)) await copyDatabase(source, join(to, name));
    else if (name === GUARD_FILE) await copyFile(source, join(to, name));
    else if (/^snap-\d+-\d+\.bin$/.test(name)) await symlink(source, join(to, name));
  }
}

async function copyDatabase(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  for (const name of await readdir(from)) {
    if (!NOT_COPIED.has(name)) await copyFile(join(from, name), join(to, name), constants.COPYFILE_FICLONE);
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}
