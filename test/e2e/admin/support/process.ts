/** Resource usage of a process as Linux counts it. */
import { readdirSync, readFileSync } from "node:fs";

/** Processor time of all threads, in seconds; exact to the nanosecond, while `/proc/<pid>/stat` counts hundredths. */
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
