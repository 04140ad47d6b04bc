/**
 * Lock of a stored sign-in: only one process at a time renews, writes or removes it. A rotated refresh token may be
 * used only once; on a second use the provider revokes the whole sign-in.
 *
 * The lock is a file that is created exclusively. It names its holder: host, process id, start time of the process
 * (since ids are reused) and a nonce. The lock is stale when the process is gone, and in any case after `STALE_MS`,
 * which is longer than any holder needs; so a killed process blocks nobody. If several processes find it stale, a
 * second file ensures that only one removes it: otherwise a slow one could remove the lock that a fast one has just
 * taken. A holder may be suspended so long that its lock is considered stale, so it calls `isHeld` before a step that
 * must not happen twice.
 */

import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import process, { kill } from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import type { Io } from "../process-io.ts";
import { field, text } from "./sign-in-entry.ts";
import { codeOf, SignInError } from "./sign-in-errors.ts";

export const STALE_MS = 60_000;
/** Maximum wait in milliseconds: longer than a renewal takes (discovery and one request, ten seconds each). */
const WAIT_MS = 30_000;
const CHECK_MS = 50;
/** Number of checks after which an empty lock file is stale: its creator was killed before it wrote to it. */
const MAX_EMPTY_CHECKS = 40;

export interface Lock {
  /** Returns false if another process considered the lock stale and took it. */
  isHeld(): boolean;
  release(): void;
}

/** Waits for the lock. Rejects if it is not free in time, or when `io.signal` aborts. */
export async function acquireLock(path: string, io: Io, waitMs = WAIT_MS): Promise<Lock> {
  const holderText = describeHolder(io);
  const startedAt = performance.now();
  let emptyChecks = 0;
  for (;;) {
    io.signal.throwIfAborted();
    if (createExclusively(path, holderText)) return heldLock(path, holderText);
    const content = contentOf(path) ?? "";
    const holder = parseHolder(content);
    emptyChecks = holder === undefined ? emptyChecks + 1 : 0;
    const isObsolete = holder === undefined ? emptyChecks > MAX_EMPTY_CHECKS : isStale(holder, io.now());
    if (isObsolete && removeStale(path, content, io.now())) continue;
    if (performance.now() - startedAt > waitMs) {
      const holderPid = holder === undefined ? "" : ` ${holder.pid}`;
      throw new SignInError(`process${holderPid} is busy with this sign-in (${path}); try again`);
    }
    await pause(CHECK_MS, undefined, { signal: io.signal });
  }
}

/** Runs `work` while holding the lock. */
export async function withLock<T>(path: string, io: Io, work: (lock: Lock) => T | Promise<T>): Promise<T> {
  const lock = await acquireLock(path, io);
  try {
    return await work(lock);
  } finally {
    lock.release();
  }
}

function heldLock(path: string, content: string): Lock {
  const isHeld = () => contentOf(path) === content;
  return {
    isHeld,
    release() {
      if (isHeld()) rmSync(path, { force: true });
    },
  };
}

function createExclusively(path: string, content: string): boolean {
  let fd: number;
  try {
    fd = openSync(path, "wx", 0o600);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return false;
    throw new SignInError(`${path} cannot be created: ${code}`, { cause: error });
  }
  try {
    writeFileSync(fd, content);
  } finally {
    closeSync(fd);
  }
  return true;
}

/** Returns false if another process is removing the lock. */
function removeStale(path: string, content: string, now: number): boolean {
  const guard = `${path}.stale`;
  if (!createExclusively(guard, "")) {
    // The guard file exists for microseconds, unless its process was killed in that time.
    if (ageOf(guard, now) > STALE_MS) rmSync(guard, { force: true });
    return false;
  }
  try {
    if ((contentOf(path) ?? "") === content) rmSync(path, { force: true });
    return true;
  } finally {
    rmSync(guard, { force: true });
  }
}

/** Returns the age of the file in milliseconds; 0 if it does not exist. */
function ageOf(path: string, now: number): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? 0 : Math.abs(now - stats.mtimeMs);
}

interface Holder {
  readonly host: string;
  readonly pid: number;
  readonly start: string;
  /** Time of creation, in milliseconds since 1970. */
  readonly at: number;
}

function describeHolder(io: Io): string {
  const { pid } = process;
  const holder: Holder = { host: hostname(), pid, start: startOf(pid) ?? "", at: io.now() };
  return JSON.stringify({ ...holder, nonce: randomBytes(12).toString("hex") });
}

function parseHolder(content: string): Holder | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(content);
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
  // Also if the clock was set back: waiting until it catches up could take too long.
  if (Math.abs(now - holder.at) > STALE_MS) return true;
  // The lock belongs to another machine or container that shares the home directory; its processes are not visible
  // here.
  if (holder.host !== hostname()) return false;
  return !isRunning(holder.pid) || (holder.start !== "" && startOf(holder.pid) !== holder.start);
}

function isRunning(pid: number): boolean {
  try {
    // Signal 0 is not delivered; it only tests whether the process exists.
    kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/** Returns the start time of a process in clock ticks since boot (proc(5), `stat`, field 22); `undefined` if unknown. */
function startOf(pid: number): string | undefined {
  const stat = contentOf(`/proc/${pid}/stat`);
  // The second field is the program name in parentheses, and may itself contain spaces and parentheses.
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
