/**
 * CPU profile of the gateway: it runs under node's CPU profiler (`--cpu-prof`) during a scenario's load, and the
 * functions with the most self time are listed. Shares are of the busy time. The start and a warm-up are excluded. Each
 * thread writes its own profile; idle ones are excluded.
 */

import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { checkGoverned } from "./governance/check.ts";
import { startGateway } from "./parts/gateway.ts";
import { type ThreadUsage, threadMicros } from "./parts/process-usage.ts";
import { align } from "./report.ts";
import { load, type RunLoad } from "./rounds.ts";
import type { LoadScenario } from "./scenarios.ts";
import type { Prepared } from "./stage.ts";

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  /** Line from 0. */
  readonly lineNumber: number;
}

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
  }[];
  /** Node ids, one per sample. */
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
  /** Microseconds of the monotonic clock, which `process.hrtime` reads too. */
  readonly startTime: number;
}

interface SelfTime {
  readonly where: string;
  /** Owner of the code. */
  readonly area: string;
  readonly selfUs: number;
}

const LISTED = 25;
/** Minimum listed share of the busy time. */
const MIN_SHARE = 0.005;
/** Minimum listed share of the busiest thread's time. */
const MIN_THREAD_SHARE = 0.1;
/** Sampling every 200 us: about 20 samples in each millisecond of a hundred requests, at a few percent of overhead. */
const INTERVAL_US = 200;

export async function profileScenario(
  scenario: LoadScenario,
  prepared: Prepared,
  scale: number,
  ask: RunLoad,
): Promise<string> {
  const { gateway: options, shape } = prepared;
  const folder = await mkdtemp(join(options.folder, "profile-"));
  const nodeFlags = ["--cpu-prof", "--cpu-prof-dir", folder, "--cpu-prof-interval", String(INTERVAL_US)];
  const gateway = await startGateway({ ...options, nodeFlags });
  await checkGoverned(prepared, gateway);
  const requests = Math.max(scenario.connections, Math.round(scenario.requests * scale * 3));
  const job = { port: gateway.port, shape, connections: scenario.connections };
  await load(ask, { ...job, requests: Math.max(scenario.connections, Math.round(requests / 5)) });
  const fromUs = Number(process.hrtime.bigint() / 1_000n);
  const threadsBefore = threadMicros(gateway.pid);
  await load(ask, { ...job, requests });
  const byThread = sumThreads(gateway.pid, threadsBefore).map(({ name, micros }) => [
    name,
    (micros / requests).toFixed(2),
  ]);
  await gateway.stop();

  const profiles: ThreadProfile[] = [];
  for (const name of await readdir(folder)) {
    const profile = JSON.parse(await readFile(join(folder, name), "utf8")) as CpuProfile;
    profiles.push({ thread: threadOf(name), times: sumSelfTimes(profile, fromUs) });
  }
  profiles.sort((a, b) => a.thread - b.thread);
  const maxUs = Math.max(...profiles.map(({ times }) => total(times)));
  if (profiles.length === 0) return `${scenario.name}: the gateway left no profile; it did not end by itself`;
  const title = `profile of ${scenario.name}: own time, share of a thread's busy time and us a request`;
  const tables = profiles
    .filter(({ times }) => total(times) >= MIN_THREAD_SHARE * maxUs)
    .flatMap((profile) => tablesOf(profile, requests));
  return [title, align([["thread", "us/req, by the kernel's account"], ...byThread]), ...tables].join("\n");
}

interface ThreadProfile {
  /** Node's thread number: 0 is the main thread. */
  readonly thread: number;
  readonly times: readonly SelfTime[];
}

/** Parses `CPU.<date>.<time>.<process>.<thread>.<count>.cpuprofile`. */
const threadOf = (name: string): number => Number(name.split(".")[4]);

function tablesOf({ thread, times }: ThreadProfile, requests: number): readonly string[] {
  const busyUs = total(times);
  const row = (us: number, where: string): string[] => [
    `${((100 * us) / busyUs).toFixed(1)}%`,
    (us / requests).toFixed(2),
    where,
  ];
  const areas = new Map<string, number>();
  for (const { area, selfUs } of times) areas.set(area, (areas.get(area) ?? 0) + selfUs);
  const byArea = [...areas]
    .filter(([, us]) => us >= MIN_SHARE * busyUs)
    .sort(([, a], [, b]) => b - a)
    .map(([area, us]) => row(us, area));
  const byFunction = times.slice(0, LISTED).map(({ where, selfUs }) => row(selfUs, where));
  const name = thread === 0 ? "main" : `thread ${thread}`;
  return [
    `  ${name}: ${(busyUs / requests).toFixed(2)} us/req, waiting for the disk included`,
    align([["share", "us/req", "whose code"], ...byArea]),
    align([["share", "us/req", "function"], ...byFunction]),
  ];
}

/** Usage of the threads since `before`. The engine's own collect garbage and compile; the profiler's is its cost. */
function sumThreads(pid: number, before: readonly ThreadUsage[]): readonly { name: string; micros: number }[] {
  const sums = new Map<string, number>();
  for (const { id, name, micros } of threadMicros(pid)) {
    const used = micros - (before.find((thread) => thread.id === id)?.micros ?? 0);
    const called = id === pid ? "main" : `other: ${name}`;
    sums.set(called, (sums.get(called) ?? 0) + used);
  }
  return [...sums].map(([name, micros]) => ({ name, micros })).sort((a, b) => b.micros - a.micros);
}

/** Self time of each function since `fromUs`, most first, without idle time. */
export function sumSelfTimes(profile: CpuProfile, fromUs: number): readonly SelfTime[] {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, describe(callFrame)]));
  const sums = new Map<string, SelfTime>();
  let atUs = profile.startTime;
  for (const [index, id] of profile.samples.entries()) {
    atUs += profile.timeDeltas[index] ?? 0;
    if (atUs < fromUs) continue;
    const { where, area } = frames.get(id) ?? { where: "(unknown)", area: "engine" };
    const selfUs = (sums.get(where)?.selfUs ?? 0) + (profile.timeDeltas[index] ?? 0);
    sums.set(where, { where, area, selfUs });
  }
  sums.delete("(idle)");
  return [...sums.values()].sort((a, b) => b.selfUs - a.selfUs);
}

/** Engine and system calls have no file; a package is named; the rest is the gateway's own. */
function describe({ functionName, url, lineNumber }: CallFrame): { readonly where: string; readonly area: string } {
  const name = functionName === "" ? "(anonymous)" : functionName;
  if (url === "") return { where: name, area: name.startsWith("(") ? name : "engine and system calls" };
  if (url.startsWith("node:")) return { where: `${name} ${url}:${lineNumber + 1}`, area: "node" };
  if (url.startsWith("wasm:")) return { where: name, area: "undici" };
  const area = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? "gateway";
  return { where: `${name} ${basename(url)}:${lineNumber + 1}`, area };
}

function total(times: readonly SelfTime[]): number {
  return times.reduce((sum, { selfUs }) => sum + selfUs, 0);
}
