/** What a process uses, as the system counts it. Linux only. */
import { readdirSync, readFileSync } from "node:fs";

/** Processor time of its threads so far, in seconds; to the nanosecond, where `/proc/<pid>/stat` counts hundredths. */
export function cpuSeconds(pid: number): number {
  const ofThread = (thread: string): number =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + ofThread(thread), 0) / 1e9;
}

/** Resident memory, in bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}

export const openDescriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
