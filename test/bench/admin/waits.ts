/**
 * A thousand concurrent blocking reads on the local socket: their cost while nothing changes, the memory of each, and
 * the time until the last one has a change.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { cpuMicros, readDescriptors, residentBytes } from "../parts/process-usage.ts";
import { aliveMib } from "../soak/watch.ts";
import { median, summarize } from "../statistics.ts";
import type { AdminBenchInputs, AdminScenario, Figure } from "./admin-scenario.ts";
import { type Answered, call, callWell, type Plane, startPlane } from "./plane.ts";

export const WAITS: AdminScenario = { name: "waits", run: waits };

const READERS = 1_000;
const ROUNDS = 7;
const QUICK_ROUNDS = 3;
const WINDOWS = 3;
const WINDOW_MS = 3_000;
const QUICK_WINDOW_MS = 1_000;
const MAX_SHARE = 0.01;
/** Work for readers that have just arrived uses more. */
const REST_SHARE = 0.05;
const REST_LIMIT_MS = 30_000;
/** Tolerance in descriptors for earlier calls that are not closed yet. */
const MISCOUNTED = 10;
const PATH = "/suspensions";

interface Wave {
  readonly answers: Promise<readonly (Answered & { readonly at: number })[]>;
}

async function waits(input: AdminBenchInputs): Promise<readonly Figure[]> {
  const plane = await startPlane(input);
  const windowMs = input.isQuick ? QUICK_WINDOW_MS : WINDOW_MS;
  try {
    await suspend(plane, 0);
    const descriptors = openDescriptors(plane);
    const startWave = (): Promise<Wave> => gather(plane, descriptors);
    // The first wave only gives the size: it compiles code and makes buffers that later ones reuse.
    const residentBefore = residentBytes(plane.pid);
    const cold = await startWave();
    const resident = residentBytes(plane.pid) - residentBefore;
    await finish(plane, cold, 1);
    const quiet = [await shares(plane, windowMs)];
    const aliveBefore = await plane.alive();
    const first = await startWave();
    const waiting = await shares(plane, windowMs);
    const alive = aliveMib(await plane.alive()) - aliveMib(aliveBefore);
    const took = [await finish(plane, first, 2)];
    quiet.push(await shares(plane, windowMs));
    for (let round = 1; round < (input.isQuick ? QUICK_ROUNDS : ROUNDS); round += 1) {
      took.push(await finish(plane, await startWave(), round + 2));
    }
    const idle = median(quiet.flat());
    const last = summarize(took.map(({ lastMs }) => lastMs));
    return [
      {
        name: `${READERS} readers that wait: CPU over that without them`,
        value: median(waiting) - idle,
        unit: "CPU s/s",
        aim: { atMost: MAX_SHARE },
        detail: `${median(waiting).toFixed(4)} with, ${idle.toFixed(4)} without; windows of ${windowMs} ms: ${waiting.map((it) => it.toFixed(4)).join(" ")}`,
      },
      {
        name: "one change: the last of them has its answer",
        value: last.median,
        unit: "ms",
        aim: undefined,
        detail: `median of ${took.length} (${last.least.toFixed(0)}-${last.most.toFixed(0)}); the first after ${median(took.map(({ firstMs }) => firstMs)).toFixed(0)} ms, whoever changed it after ${median(took.map(({ writeMs }) => writeMs)).toFixed(0)} ms; CPU ${median(took.map(({ cpuMs }) => cpuMs)).toFixed(0)} ms`,
      },
      {
        name: "memory of one that waits: heap and buffers",
        value: (alive * 1024) / READERS,
        unit: "KiB",
        aim: undefined,
        detail: `after a full collection; resident memory of the first ${READERS} ${(resident / 1024 / READERS).toFixed(1)} KiB each`,
      },
    ];
  } finally {
    await plane.stop();
  }
}

const suspend = (plane: Plane, number: number): Promise<Answered> =>
  callWell(plane, "PUT", "/suspensions/model:bench", { body: { reason: `change ${number}` } });

/** NaN if the system does not report it. */
const openDescriptors = ({ pid }: Plane): number => readDescriptors(pid)?.open ?? Number.NaN;

/** Resolves when all of them wait; `descriptors` is the gateway's number without them. */
async function gather(plane: Plane, descriptors: number): Promise<Wave> {
  const { index } = JSON.parse((await callWell(plane, "GET", PATH)).text) as { readonly index: number };
  const read = async (): Promise<Answered & { readonly at: number }> => {
    const answer = await call(plane, "GET", `${PATH}?index=${index}&wait=5m`);
    return { ...answer, at: performance.now() };
  };
  const answers = Promise.all(Array.from({ length: READERS }, read));
  answers.catch(() => undefined);
  const deadline = performance.now() + REST_LIMIT_MS;
  const isThere = (): boolean => !(openDescriptors(plane) < descriptors + READERS - MISCOUNTED);
  while (!isThere() || (await share(plane, 300)) > REST_SHARE) {
    if (performance.now() > deadline) throw new Error("the readers have not come to rest");
    await sleep(10);
  }
  return { answers };
}

interface Finished {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly writeMs: number;
  readonly cpuMs: number;
}

async function finish(plane: Plane, { answers }: Wave, number: number): Promise<Finished> {
  const cpuBefore = cpuMicros(plane.pid);
  const startedAt = performance.now();
  const [{ ms: writeMs }, all] = await Promise.all([suspend(plane, number), answers]);
  const times = all.map(({ at }) => at - startedAt);
  const good = all.filter(({ status, text }) => status === 200 && text.includes(`"change ${number}"`)).length;
  if (good !== READERS) throw new Error(`${READERS - good} readers have not heard of the change`);
  const cpuMs = (cpuMicros(plane.pid) - cpuBefore) / 1e3;
  return { firstMs: Math.min(...times), lastMs: Math.max(...times), writeMs, cpuMs };
}

/** Processor time of all threads over a period, in seconds per second. */
async function share({ pid }: Plane, ms: number): Promise<number> {
  const [before, startedAt] = [cpuMicros(pid), performance.now()];
  await sleep(ms);
  return (cpuMicros(pid) - before) / 1e3 / (performance.now() - startedAt);
}

async function shares(plane: Plane, windowMs: number): Promise<readonly number[]> {
  const all: number[] = [];
  for (let window = 0; window < WINDOWS; window += 1) all.push(await share(plane, windowMs));
  return all;
}
