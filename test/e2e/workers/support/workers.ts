/** A gateway with several data plane processes, read from its log and its operating system. */
import { existsSync } from "node:fs";
import type { Gateway } from "../../support/gateway.ts";
import { eventually } from "../../support/wait.ts";

interface WorkerSeen {
  readonly worker: number;
  readonly pid: number;
}

/** Returns the workers that serve now, by number: the last reported of each number. */
export function workersOf(gateway: Gateway): readonly WorkerSeen[] {
  const seen = new Map<number, number>();
  for (const { message, worker, pid } of gateway.log()) {
    if (message === "worker serves") seen.set(Number(worker), Number(pid));
  }
  return Array.from(seen, ([worker, pid]) => ({ worker, pid }))
    .filter(({ pid }) => isAlive(pid))
    .sort((a, b) => a.worker - b.worker);
}

/** Returns false for a zombie process. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return existsSync(`/proc/${pid}/fd`);
}

export const allServe = (gateway: Gateway, count: number, without: readonly number[] = []) =>
  eventually(`${count} workers`, () => {
    const found = workersOf(gateway);
    return found.length === count && found.every(({ pid }) => !without.includes(pid)) && found;
  });
