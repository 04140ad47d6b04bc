/**
 * Kernel figures of a process: CPU time (user plus system, every thread), resident memory, open descriptors.
 *
 * CPU time is the sum of `/proc/<pid>/task/<tid>/schedstat` (nanoseconds; proc(5)), which resolves runs of a tenth of a
 * second, unlike the 10 ms ticks of `/proc/<pid>/stat`. The figure of a thread that ends is lost; the measured
 * processes keep their threads. Kernels without schedstat give the ticks, systems without /proc the output of `ps`.
 */

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

/** USER_HZ: 100 on every architecture of Node; the kernel scales its output to it. */
const TICKS_PER_SECOND = 100;

const hasProc = existsSync("/proc/self/stat");
const hasSchedstat = existsSync("/proc/self/schedstat");

/** CPU time of the process since its start, in microseconds. */
export function cpuMicros(pid: number): number {
  if (hasProc && hasSchedstat) return schedstatMicros(pid);
  if (hasProc) return parseStatTicks(readFileSync(`/proc/${pid}/stat`, "utf8")) * (1e6 / TICKS_PER_SECOND);
  return parsePsTime(execFileSync("ps", ["-o", "time=", "-p", String(pid)], { encoding: "utf8" })) * 1e6;
}

/** Resident set in bytes. */
export function residentBytes(pid: number): number {
  if (hasProc) return parseStatusRss(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) * 1024;
}

export interface Descriptors {
  readonly open: number;
  readonly sockets: number;
}

/** Open descriptors of the process; `undefined` without /proc. */
export function readDescriptors(pid: number): Descriptors | undefined {
  if (!hasProc) return undefined;
  const names = readdirSync(`/proc/${pid}/fd`);
  return { open: names.length, sockets: names.filter((name) => isSocket(pid, name)).length };
}

function isSocket(pid: number, descriptor: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/fd/${descriptor}`).startsWith("socket:");
  } catch {
    return false; // closed since it was listed
  }
}

function schedstatMicros(pid: number): number {
  return threadMicros(pid).reduce((sum, { micros }) => sum + micros, 0);
}

export interface ThreadUsage {
  readonly id: number;
  readonly name: string;
  readonly micros: number;
}

/** CPU time of each thread; the one with the process's id is the main thread. Empty without schedstat. */
export function threadMicros(pid: number): readonly ThreadUsage[] {
  if (!hasSchedstat) return [];
  return readdirSync(`/proc/${pid}/task`).flatMap((thread): readonly ThreadUsage[] => {
    try {
      const nanos = Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0]);
      const name = readFileSync(`/proc/${pid}/task/${thread}/comm`, "utf8").trim();
      return [{ id: Number(thread), name, micros: nanos / 1e3 }];
    } catch {
      return []; // it ended between listing and reading; its time is lost
    }
  });
}

/**
 * Time in which the main thread was ready to run without a free core, in microseconds; NaN without schedstat. Any other
 * delay is caused by the thread itself.
 */
export function mainThreadWaitMicros(pid: number): number {
  if (!hasSchedstat) return Number.NaN;
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e3;
}

/** Child processes; none without /proc. */
export function childrenOf(pid: number): readonly number[] {
  if (!hasProc) return [];
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
}

/**
 * utime + stime of a `/proc/<pid>/stat` line. The command may contain spaces and parentheses, so fields count from its
 * end.
 */
export function parseStatTicks(line: string): number {
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** VmRSS of a `/proc/<pid>/status` text, in bytes. */
export function parseStatusRss(text: string): number {
  return Number(/^VmRSS:\s*(\d+) kB/m.exec(text)?.[1] ?? Number.NaN) * 1024;
}

/** Seconds of `[[dd-]hh:]mm:ss[.cc]`, as printed by `ps -o time`. */
export function parsePsTime(text: string): number {
  const [clock = "", days = "0"] = text.trim().split("-").reverse();
  const seconds = clock.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
  return Number(days) * 86_400 + seconds;
}
