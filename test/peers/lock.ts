/** One process at a time, by a file that names it; a process that died holds nothing. */

import { open, readFile, rename, rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

const LOOK_EVERY_MS = 200;

/** Runs `work` alone among all processes that name `path`. Rejects with the signal's reason when it has to wait too long. */
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

/** Moved away under a name of our own, so that of two that find it stale one removes it, and no newer one. */
async function dropStale(path: string): Promise<void> {
  const holder = await holderOf(path);
  if (holder === undefined || isAlive(holder)) return;
  const mine = `${path}.${process.pid}`;
  try {
    await rename(path, mine);
    if ((await holderOf(mine)) === holder) await rm(mine, { force: true });
    else await rename(mine, path);
  } catch {
    // Somebody else was first.
  }
}

/** Undefined where there is no lock, or one that was taken this moment. */
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
