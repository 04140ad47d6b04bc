/**
 * One process at a time renews, writes or removes the sign-in at a gateway. A refresh token that the provider rotates
 * may be used once: a second use makes it revoke the whole sign-in.
 *
 * The lock is a file created exclusively that names its holder: host, process, the process's start (a number is used
 * again) and a nonce. It is stale when that process is gone, or after `STALE_MS` in any case, which is longer than
 * anybody may hold it; so a process that was killed holds nobody up. Of several that find it stale one removes it, guarded
 * by a second file: else the slower would remove the lock that the faster has taken since. A holder that was stopped for
 * so long that it was taken for dead asks `isHeld` before it does what cannot be done twice.
 */

import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import process, { kill } from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import type { Io } from "../io.ts";
import { field, text } from "./entry.ts";
import { codeOf, SignInError } from "./messages.ts";

export const STALE_MS = 60_000;
/** Above what a renewal takes at most (discovery and one request, ten seconds each). */
const WAIT_MS = 30_000;
const LOOK_MS = 50;
/** Number of checks after which an empty lock file is stale: its creator was killed before it wrote to it. */
const WORDLESS_LOOKS = 40;

export interface Lock {
  /** False when somebody took it for stale. */
  isHeld(): boolean;
  release(): void;
}

/** Rejects when the lock is not free in time, and when `io.signal` aborts. */
export async function acquire(path: string, io: Io, waitMs = WAIT_MS): Promise<Lock> {
  const words = describe(io);
  const startedAt = performance.now();
  let wordless = 0;
  for (;;) {
    io.signal.throwIfAborted();
    if (create(path, words)) return heldLock(path, words);
    const found = contentOf(path) ?? "";
    const holder = parseHolder(found);
    wordless = holder === undefined ? wordless + 1 : 0;
    const isOver = holder === undefined ? wordless > WORDLESS_LOOKS : isStale(holder, io.now());
    if (isOver && removeStale(path, found, io.now())) continue;
    if (performance.now() - startedAt > waitMs) {
      const who = holder === undefined ? "" : ` ${holder.pid}`;
      throw new SignInError(`process${who} is busy with this sign-in (${path}); try again`);
    }
    await pause(LOOK_MS, undefined, { signal: io.signal });
  }
}

/** Runs `work` under the lock. */
export async function underLock<T>(path: string, io: Io, work: (lock: Lock) => T | Promise<T>): Promise<T> {
  const lock = await acquire(path, io);
  try {
    return await work(lock);
  } finally {
    lock.release();
  }
}

function heldLock(path: string, words: string): Lock {
  const isHeld = () => contentOf(path) === words;
  return {
    isHeld,
    release() {
      if (isHeld()) rmSync(path, { force: true });
    },
  };
}

function create(path: string, words: string): boolean {
  let fd: number;
  try {
    fd = openSync(path, "wx", 0o600);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return false;
    throw new SignInError(`${path} cannot be created: ${code}`, { cause: error });
  }
  try {
    writeFileSync(fd, words);
  } finally {
    closeSync(fd);
  }
  return true;
}

/** False when another process is about it. */
function removeStale(path: string, judged: string, now: number): boolean {
  const guard = `${path}.stale`;
  if (!create(guard, "")) {
    // Held for microseconds, unless its process was killed within them.
    if (ageOf(guard, now) > STALE_MS) rmSync(guard, { force: true });
    return false;
  }
  try {
    if ((contentOf(path) ?? "") === judged) rmSync(path, { force: true });
    return true;
  } finally {
    rmSync(guard, { force: true });
  }
}

/** Milliseconds since it was written; none for a file that is gone. */
function ageOf(path: string, now: number): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? 0 : Math.abs(now - stats.mtimeMs);
}

interface Holder {
  readonly host: string;
  readonly pid: number;
  readonly start: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

function describe(io: Io): string {
  const { pid } = process;
  const holder: Holder = { host: hostname(), pid, start: startOf(pid) ?? "", at: io.now() };
  return JSON.stringify({ ...holder, nonce: randomBytes(12).toString("hex") });
}

function parseHolder(words: string): Holder | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(words);
  } catch {
    return undefined;
  }
  const pid = field(fields, "pid");
  const at = field(fields, "at");
  const host = text(fields, "host");
  const start = text(fields, "start");
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) return undefined;
  if (typeof at !== "number" || host === undefined || start === undefined) return undefined;
  return { host, pid, start, at };
}

function isStale(holder: Holder, now: number): boolean {
  // Also when the clock was set back, since nobody would wait for it to catch up.
  if (Math.abs(now - holder.at) > STALE_MS) return true;
  // Another machine's, or another container's, on a shared home: its processes cannot be seen from here.
  if (holder.host !== hostname()) return false;
  return !isRunning(holder.pid) || (holder.start !== "" && startOf(holder.pid) !== holder.start);
}

function isRunning(pid: number): boolean {
  try {
    // Signal 0 reaches nobody and tells whether there is somebody.
    kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/** When a process began, in ticks since the machine's start (proc(5), `stat`, field 22); undefined where unknown. */
function startOf(pid: number): string | undefined {
  const stat = contentOf(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses and may hold anything, parentheses too.
  return stat
    ?.slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .at(19);
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
