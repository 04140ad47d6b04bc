/** Samples of the gateway under load: memory and descriptors every second, live objects every ten. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Alive } from "../child/probe.ts";
import { type Descriptors, readDescriptors, residentBytes } from "../parts/process-usage.ts";
import type { Point } from "../statistics.ts";

export interface Courses {
  readonly rssMib: Point[];
  readonly descriptors: Point[];
  readonly timers: Point[];
}

export interface Watched {
  readonly pid: number;
  ask(question: object): Promise<Alive>;
}

const SAMPLE_MS = 1_000;
/** A full collection stops the gateway for some 10 ms; more often it would be a load of its own. */
const ALIVE_EVERY = 10;

/** Samples until the signal. `note` gets a progress line now and then. */
export async function watch(gateway: Watched, ended: AbortSignal, note: (line: string) => void): Promise<Courses> {
  const courses: Courses = { rssMib: [], descriptors: [], timers: [] };
  const startedAt = performance.now();
  for (let sample = 1; !ended.aborted; sample += 1) {
    await sleep(SAMPLE_MS);
    const x = (performance.now() - startedAt) / 1e3;
    const rssMib = residentBytes(gateway.pid) / 2 ** 20;
    const { open, sockets }: Descriptors = readDescriptors(gateway.pid) ?? { open: 0, sockets: 0 };
    courses.rssMib.push({ x, y: rssMib });
    courses.descriptors.push({ x, y: open });
    if (sample % ALIVE_EVERY !== 0) continue;
    const alive = await gateway.ask({});
    const timers = countTimers(alive);
    courses.timers.push({ x, y: timers });
    note(
      `${x.toFixed(0).padStart(4)} s  rss ${rssMib.toFixed(0)} MiB  alive ${aliveMib(alive).toFixed(1)} MiB  sockets ${sockets}  timers ${timers}`,
    );
  }
  return courses;
}

export function countTimers({ resources }: Alive): number {
  return (resources["Timeout"] ?? 0) + (resources["Immediate"] ?? 0);
}

/** Heap and buffers. */
export function aliveMib({ heapBytes, externalBytes }: Alive): number {
  return (heapBytes + externalBytes) / 2 ** 20;
}
