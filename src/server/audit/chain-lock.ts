/**
 * Lets only one process at a time write a chain: two with the same key and journal would fork it.
 *
 * Node has no file locks. LevelDB locks every directory that it opens (`fcntl`, released by the kernel with the process,
 * visible across containers that share the disk), so the lock is an empty database, `audit-lock`.
 */

import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { AuditError, systemCode, unwritable } from "./audit-error.ts";

const LOCK_DIRECTORY = "audit-lock";

export interface ChainLock {
  release(): Promise<void>;
}

export async function acquireLock(dir: string): Promise<ChainLock> {
  const path = join(dir, LOCK_DIRECTORY);
  try {
    return await open(path);
  } catch (error) {
    if (isLocked(error)) {
      throw new AuditError(
        "locked",
        `the audit trail in ${dir} is in use by another process: stop that process, or give this one its own audit.dir`,
        { cause: error },
      );
    }
    // A crash may leave the database unreadable. It is empty, and only the holder of the lock can remove it.
    try {
      await ClassicLevel.destroy(path);
      return await open(path);
    } catch (cause) {
      throw unwritable(path, cause instanceof Error && cause.cause !== undefined ? cause.cause : cause);
    }
  }
}

async function open(path: string): Promise<ChainLock> {
  const database = new ClassicLevel(path, { writeBufferSize: 64 * 1024, cacheSize: 0, maxOpenFiles: 16 });
  await database.open();
  return { release: () => database.close() };
}

function isLocked(error: unknown): boolean {
  return error instanceof Error && (systemCode(error) === "LEVEL_LOCKED" || systemCode(error.cause) === "LEVEL_LOCKED");
}
