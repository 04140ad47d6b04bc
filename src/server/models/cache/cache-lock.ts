/**
 * One download of a file at a time, over processes and machines that share a cache. It saves bandwidth and guards nothing:
 * two who download the same bytes end with the same file, so that a doubt is settled by going ahead. Times are in
 * milliseconds.
 *
 * A lock is a file that its owner touches. It is dead when its process is gone from this machine, or when nobody touched it
 * while this process looked on: no clock is compared with another machine's.
 */
import { randomBytes } from "node:crypto";
import { open, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { storageError } from "./layout.ts";

const TOUCH_MS = 10_000;
/** Six touches that did not come. */
const DEAD_AFTER_MS = 60_000;
const POLL_MS = 250;
/** An owner who lives and does not finish is not waited for longer. */
const LONGEST_WAIT_MS = 60 * 60_000;

export interface LockTimes {
  readonly pollMs: number;
  readonly deadAfterMs: number;
  readonly longestMs: number;
  /** Milliseconds that never go back. */
  monotonic(): number;
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export const LOCK_TIMES = { pollMs: POLL_MS, deadAfterMs: DEAD_AFTER_MS, longestMs: LONGEST_WAIT_MS };

export interface Lock {
  release(): Promise<void>;
}

/**
 * Texts of the locks that this process holds. A lock with this process id that is not among them belongs to an earlier process.
 */
const OWN = new Set<string>();

/**
 * Calls `isDone` while another process holds the lock; once it returns true, resolves with `undefined` and locks nothing.
 * Rejects with `ModelError` if the lock cannot be written, or with the signal's reason.
 */
export async function acquire(
  path: string,
  root: string,
  times: LockTimes,
  isDone: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<Lock | undefined> {
  const own = JSON.stringify({ pid: process.pid, host: hostname(), token: randomBytes(12).toString("hex") });
  const began = times.monotonic();
  let seen = { text: "", mtime: 0n, since: began };
  for (;;) {
    signal.throwIfAborted();
    if (await create(path, root, own)) return held(path, own);
    if (await isDone()) return undefined;
    const now = times.monotonic();
    const other = await look(path);
    if (other === undefined) continue;
    if (other.text !== seen.text || other.mtime !== seen.mtime) seen = { ...other, since: now };
    if (isGone(other.text) || now - seen.since >= times.deadAfterMs) await breakLock(path, other.text);
    else if (now - began >= times.longestMs) return { release: async () => undefined };
    else await times.wait(times.pollMs, signal);
  }
}

async function create(path: string, root: string, own: string): Promise<boolean> {
  try {
    const file = await open(path, "wx", 0o644);
    try {
      await file.writeFile(own);
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw storageError(root, error);
  }
}

function held(path: string, own: string): Lock {
  OWN.add(own);
  const touching = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined);
  }, TOUCH_MS).unref();
  return {
    async release() {
      clearInterval(touching);
      OWN.delete(own);
      if ((await look(path))?.text === own) await rm(path, { force: true });
    },
  };
}

async function look(path: string): Promise<{ readonly text: string; readonly mtime: bigint } | undefined> {
  try {
    const [text, { mtimeNs }] = await Promise.all([readFile(path, "utf8"), stat(path, { bigint: true })]);
    return { text, mtime: mtimeNs };
  } catch {
    return undefined;
  }
}

/** Returns whether the lock's process was on this machine and has ended. A partly written lock names no process. */
function isGone(text: string): boolean {
  const match = /^\{"pid":(\d+),"host":(".*?"),/.exec(text);
  if (match === null || match[2] !== JSON.stringify(hostname())) return false;
  const pid = Number(match[1]);
  if (pid === process.pid) return !OWN.has(text);
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/** Uses a rename, which only one of several processes can complete. */
async function breakLock(path: string, expected: string): Promise<void> {
  const aside = `${path}.${randomBytes(6).toString("hex")}.dead`;
  if ((await look(path))?.text !== expected) return;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  await rm(aside, { force: true });
}
