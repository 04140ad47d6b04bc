/**
 * Where the gateway's time goes: the gateway runs under node's CPU profiler (`--cpu-prof`) while a scenario's load is on
 * it, and the functions with the most time of their own are listed. Shares are of the time the process was busy.
 * Each thread writes a profile of its own; the busiest one is the main thread's.
 */

import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type GatewayOptions, startGateway } from "./parts/gateway.ts";
import { align } from "./report.ts";
import { type Ask, load } from "./rounds.ts";
import type { LoadScenario } from "./scenarios.ts";

export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  /** Node ids, one a sample. */
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

export interface SelfTime {
  readonly where: string;
  readonly selfUs: number;
}

const LISTED = 25;
/** Sampling every 200 us: about 20 samples in each millisecond of a hundred requests, and a few percent of overhead. */
const INTERVAL_US = 200;

export async function profileScenario(
  scenario: LoadScenario,
  options: Omit<GatewayOptions, "mode">,
  scale: number,
  ask: Ask,
): Promise<string> {
  const folder = await mkdtemp(join(options.folder, "profile-"));
  const nodeFlags = ["--cpu-prof", "--cpu-prof-dir", folder, "--cpu-prof-interval", String(INTERVAL_US)];
  const gateway = await startGateway({ ...options, mode: scenario.mode, nodeFlags });
  const requests = Math.max(scenario.connections, Math.round(scenario.requests * scale * 3));
  await load(ask, { port: gateway.port, shape: scenario.shape, connections: scenario.connections, requests });
  await gateway.stop();

  const profiles: CpuProfile[] = [];
  for (const name of await readdir(folder)) {
    profiles.push(JSON.parse(await readFile(join(folder, name), "utf8")) as CpuProfile);
  }
  const busiest = profiles.map(sumSelfTimes).sort((a, b) => total(b) - total(a))[0];
  if (busiest === undefined) return `${scenario.name}: the gateway left no profile; it did not end by itself`;
  const busyUs = total(busiest);
  const rows = busiest
    .slice(0, LISTED)
    .map(({ where, selfUs }) => [`${((100 * selfUs) / busyUs).toFixed(1)}%`, (selfUs / requests).toFixed(2), where]);
  return `profile of ${scenario.name}: own time of functions, share of busy time and us a request (start included)\n${align([["share", "us/req", "function"], ...rows])}`;
}

/** Time of its own of each function, most first; time in which nothing ran is left out. */
export function sumSelfTimes(profile: CpuProfile): readonly SelfTime[] {
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, describe(callFrame)]));
  const sums = new Map<string, number>();
  for (const [index, id] of profile.samples.entries()) {
    const where = names.get(id) ?? "(unknown)";
    sums.set(where, (sums.get(where) ?? 0) + (profile.timeDeltas[index] ?? 0));
  }
  sums.delete("(idle)");
  return [...sums].map(([where, selfUs]) => ({ where, selfUs })).sort((a, b) => b.selfUs - a.selfUs);
}

function describe(frame: CpuProfile["nodes"][number]["callFrame"]): string {
  const name = frame.functionName === "" ? "(anonymous)" : frame.functionName;
  if (frame.url === "") return name;
  const file = frame.url.startsWith("node:") ? frame.url : basename(frame.url);
  return `${name} ${file}:${frame.lineNumber + 1}`;
}

function total(times: readonly SelfTime[]): number {
  return times.reduce((sum, { selfUs }) => sum + selfUs, 0);
}
