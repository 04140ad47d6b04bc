/** A lock between processes: a file that names its owner. A dead process holds no lock. */

import { open, readFile, rename, rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

const LOOK_EVERY_MS = 200;

/**
 * Runs `work` exclusively among all processes that use `path`. Rejects with the signal's reason when the wait is too
 * long.
 */
export async function alone<Result>(path: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  while (!(await take(path))) {
    await dropStale(path);
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function take(path: string): Promise<boolean> {
  try {
    const file = await open(path, "wx");
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * The file is first renamed to a unique name. If two processes find it stale, one removes it and neither removes a
 * newer lock.
 */
async function dropStale(path: string): Promise<void> {
  const holder = await holderOf(path);
  if (holder === undefined || isAlive(holder)) return;
  const mine = `${path}.${process.pid}`;
  try {
    await rename(path, mine);
    if ((await holderOf(mine)) === holder) await rm(mine, { force: true });
    else await rename(mine, path);
  } catch {
    // Another process was first.
  }
}

/** `undefined` where there is no lock, or one whose owner has not written its id yet. */
async function holderOf(path: string): Promise<number | undefined> {
  try {
    return Number.parseInt(await readFile(path, "utf8"), 10) || undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
