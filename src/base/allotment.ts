/**
 * What this process may have of its machine: a container or a unit is often given less than there is, and Node.js 20 tells
 * what there is. Source: Linux, cgroup-v2 ("CPU Interface Files") and sched-bwc (cgroup v1).
 */
import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";

/** Cores, at least 1: those it may run on, or what the quota of its groups comes to, rounded up. `root`: where /proc and /sys are. */
export function allottedCores(root = "/", cores: number = availableParallelism()): number {
  return Math.max(1, Math.min(cores, ...quotasOf(root).map(Math.ceil)));
}

/** Bytes: of the machine, or the limit of its groups. */
export function allottedMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** In cores; of each group that has one. */
function quotasOf(root: string): readonly number[] {
  const groups = textAt(join(root, "proc/self/cgroup")).split("\n");
  return groups.flatMap((line) => {
    const [, , controllers = "", path = ""] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === "") return path === "" ? [] : quotasUpFrom(path, (at) => ofVersion2(join(root, ROOT, at)));
    if (!controllers.split(",").includes("cpu")) return [];
    return quotasUpFrom(path, (at) => ofVersion1(join(root, ROOT, controllers, at)));
  });
}

const ROOT = "sys/fs/cgroup";

/** Of the group and of those that it is in. In a container its own is often seen as the root, whatever its path says. */
function quotasUpFrom(path: string, quotaAt: (path: string) => number): readonly number[] {
  const parts = path.split("/").filter((part) => part !== "" && part !== "..");
  const paths = Array.from({ length: parts.length + 1 }, (_, length) => parts.slice(0, length).join("/"));
  return paths.map(quotaAt).filter((quota) => quota > 0);
}

/** `max 100000`, or a quota and its period in microseconds. */
function ofVersion2(group: string): number {
  const [quota, period] = textAt(join(group, "cpu.max")).trim().split(" ");
  return Number(quota) / Number(period);
}

/** -1: none. */
const ofVersion1 = (group: string): number =>
  Number(textAt(join(group, "cpu.cfs_quota_us"))) / Number(textAt(join(group, "cpu.cfs_period_us")));

function textAt(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
