/**
 * CPU and memory that this process may use. A container or unit often gets less than the machine has, and Node.js 20 reports
 * the machine. Source: Linux, cgroup-v2 ("CPU Interface Files") and sched-bwc (cgroup v1).
 */
import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";

/**
 * Returns the number of cores, at least 1: the smaller of the CPU affinity and the cgroup quota, rounded up. `root`: directory
 * that contains /proc and /sys.
 */
export function allottedCores(root = "/", cores: number = availableParallelism()): number {
  return Math.max(1, Math.min(cores, ...quotasOf(root).map(Math.ceil)));
}

/** Returns bytes: the memory limit of the cgroup if there is one, else the machine's memory. */
export function allottedMemoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** Returns the quotas, in cores, of all groups that have one. */
function quotasOf(root: string): readonly number[] {
  const groups = textAt(join(root, "proc/self/cgroup")).split("\n");
  return groups.flatMap((line) => {
    const [, , controllers = "", path = ""] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === "") return path === "" ? [] : quotasUpFrom(path, (at) => quotaOfCgroupV2(join(root, ROOT, at)));
    if (!controllers.split(",").includes("cpu")) return [];
    return quotasUpFrom(path, (at) => quotaOfCgroupV1(join(root, ROOT, controllers, at)));
  });
}

const ROOT = "sys/fs/cgroup";

/** Reads the group and its ancestors. In a container its own group often appears as the root, whatever its path says. */
function quotasUpFrom(path: string, quotaAt: (path: string) => number): readonly number[] {
  const parts = path.split("/").filter((part) => part !== "" && part !== "..");
  const paths = Array.from({ length: parts.length + 1 }, (_, length) => parts.slice(0, length).join("/"));
  return paths.map(quotaAt).filter((quota) => quota > 0);
}

/** Parses `cpu.max`: `max 100000`, or a quota and its period in microseconds. */
function quotaOfCgroupV2(group: string): number {
  const [quota, period] = textAt(join(group, "cpu.max")).trim().split(" ");
  return Number(quota) / Number(period);
}

/** Computes the quota of cgroup v1 in cores; negative if there is no limit. */
const quotaOfCgroupV1 = (group: string): number =>
  Number(textAt(join(group, "cpu.cfs_quota_us"))) / Number(textAt(join(group, "cpu.cfs_period_us")));

function textAt(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
