/**
 * Lock that lets only one process download a file, across processes and machines that share a cache. It only saves
 * bandwidth: two downloads of the same bytes end with the same file, so in doubt a process proceeds without the lock.
 * Times are in milliseconds.
 *
 * A lock is a file that its owner touches. It is dead when its process on this machine has ended, or when it was not
 * touched for a while as seen by this process. No clock is compared with another machine's.
 */
import { randomBytes } from "node:crypto";
import { open, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { toStorageError } from "./layout.ts";

const TOUCH_MS = 10_000;
/** Time without a touch after which a lock is dead, in milliseconds: six missed touches. */
const DEAD_AFTER_MS = 60_000;
const POLL_MS = 250;
/** Maximum wait for an owner that is alive but does not finish. */
const MAX_WAIT_MS = 60 * 60_000;

export interface LockTimes {
  readonly pollMs: number;
  readonly deadAfterMs: number;
  readonly maxWaitMs: number;
  /** Returns the milliseconds of a monotonic clock. */
  monotonic(): number;
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export const LOCK_TIMES = { pollMs: POLL_MS, deadAfterMs: DEAD_AFTER_MS, maxWaitMs: MAX_WAIT_MS };

interface Lock {
  release(): Promise<void>;
}

/**
 * Texts of the locks that this process holds. A lock with this process id that is not among them belongs to an earlier process.
 */
const OWN_LOCK_TEXTS = new Set<string>();

/**
 * Acquires the lock. Calls `isDone` while another process holds it; once that returns true, resolves with `undefined`
 * and locks nothing. Rejects with `ModelError` if the lock cannot be written, or with the signal's reason.
 */
export async function acquireCacheLock(
  path: string,
  root: string,
  times: LockTimes,
  isDone: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<Lock | undefined> {
  const ownText = JSON.stringify({ pid: process.pid, host: hostname(), token: randomBytes(12).toString("hex") });
  const startedAt = times.monotonic();
  let seen = { text: "", mtime: 0n, since: startedAt };
  for (;;) {
    signal.throwIfAborted();
    if (await createLockFile(path, root, ownText)) return holdLock(path, ownText);
    if (await isDone()) return undefined;
    const now = times.monotonic();
    const current = await readLockFile(path);
    if (current === undefined) continue;
    if (current.text !== seen.text || current.mtime !== seen.mtime) seen = { ...current, since: now };
    if (hasOwnerEnded(current.text) || now - seen.since >= times.deadAfterMs) await breakLock(path, current.text);
    else if (now - startedAt >= times.maxWaitMs) return { release: async () => undefined };
    else await times.wait(times.pollMs, signal);
  }
}

async function createLockFile(path: string, root: string, ownText: string): Promise<boolean> {
  try {
    const file = await open(path, "wx", 0o644);
    try {
      await file.writeFile(ownText);
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw toStorageError(root, error);
  }
}

function holdLock(path: string, ownText: string): Lock {
  OWN_LOCK_TEXTS.add(ownText);
  const touchTimer = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined);
  }, TOUCH_MS).unref();
  return {
    async release() {
      clearInterval(touchTimer);
      OWN_LOCK_TEXTS.delete(ownText);
      if ((await readLockFile(path))?.text === ownText) await rm(path, { force: true });
    },
  };
}

async function readLockFile(path: string): Promise<{ readonly text: string; readonly mtime: bigint } | undefined> {
  try {
    const [text, { mtimeNs }] = await Promise.all([readFile(path, "utf8"), stat(path, { bigint: true })]);
    return { text, mtime: mtimeNs };
  } catch {
    return undefined;
  }
}

/** Returns whether the lock's process was on this machine and has ended. A partly written lock names no process. */
function hasOwnerEnded(text: string): boolean {
  const match = /^\{"pid":(\d+),"host":(".*?"),/.exec(text);
  if (match === null || match[2] !== JSON.stringify(hostname())) return false;
  const pid = Number(match[1]);
  if (pid === process.pid) return !OWN_LOCK_TEXTS.has(text);
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/** Breaks a dead lock. Uses a rename, which only one of several processes can complete. */
async function breakLock(path: string, expected: string): Promise<void> {
  const aside = `${path}.${randomBytes(6).toString("hex")}.dead`;
  if ((await readLockFile(path))?.text !== expected) return;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  await rm(aside, { force: true });
}
