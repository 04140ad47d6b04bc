/**
 * Measurements of the replicated state, and their targets. Targets have the units of the values; those in R are ratios
 * to the raw rate of the same minute. Each scenario starts its own nodes and ends them.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { LoadJob, LoadResult } from "../child/load.ts";
import type { WriteFigures } from "../child/raft-load.ts";
import type { Child } from "../parts/children.ts";
import type { Figure as FigureOf } from "../parts/figures.ts";
import { cpuMicros } from "../parts/process-usage.ts";
import type { Scenario as ScenarioOf } from "../parts/scenario.ts";
import { percentile } from "../statistics.ts";
import { type Done, leaderOf, type NodesOptions, type RaftNode, startAlone, startCluster, startNode } from "./nodes.ts";

/** `R` stands for commits over the raw rate. */
export type Figure = FigureOf<"R" | "ms" | "MiB" | "times" | "s">;

export interface Surroundings extends NodesOptions {
  /** Share of the time and of the rows: 1, or 0.1 for a quick look. */
  readonly scale: number;
  /** Returns the current R; 1 KB appended and synced each time. */
  rawRate(): number;
  readonly generator: Child & { ask(job: LoadJob): Promise<LoadResult> };
}

export type Scenario = ScenarioOf<Surroundings, Figure["unit"]>;

const LOAD_SECONDS = 5;
const WARM_UP_SECONDS = 1;
const ROUND_SECONDS = 2;
const ROUNDS = 9;
const SATURATED_ROUNDS = 3;
const LOSSES = 20;
const RESTART_ENTRIES = 10_000;
const RESTARTS = 5;
const ENDLESS = Number.MAX_SAFE_INTEGER;
const POOL_JOBS = 8;
const CONNECTIONS = 32;

export const SCENARIOS: readonly Scenario[] = [
  { name: "one-client", run: (input) => alone(input, 1, 0.45) },
  { name: "many-clients", run: (input) => alone(input, 64, 3) },
  { name: "three-nodes", run: threeNodes },
  { name: "leader-loss", run: leaderLoss },
  { name: "restart", run: restart },
  { name: "saturated", run: saturated },
];

async function alone(input: Surroundings, clients: number, atLeast: number): Promise<readonly Figure[]> {
  const node = await startAlone(input);
  try {
    const { ratio, detail } = await rounds([node], node, clients, input);
    return [
      { name: `one node, ${clients} clients: commits a second`, value: ratio, unit: "R", aim: { atLeast }, detail },
    ];
  } finally {
    await node.end();
  }
}

async function threeNodes(input: Surroundings): Promise<readonly Figure[]> {
  const nodes = await startCluster(3, input);
  try {
    const { ratio, p99Ms, detail } = await rounds(nodes, await leaderOf(nodes), 64, input);
    const name = "three nodes on one disk, 64 clients";
    return [
      { name: `${name}: commits a second`, value: ratio, unit: "R", aim: { atLeast: 0.8 }, detail },
      { name: `${name}: p99`, value: p99Ms, unit: "ms", aim: { atMost: 25 }, detail: "median of the rounds" },
    ];
  } finally {
    await endAll(nodes);
  }
}

/**
 * Short rounds with R before and after each, and the median of their ratios, since the speed of a shared disk varies.
 * CPU time per commit, of all nodes together, does not depend on the disk.
 */
async function rounds(
  nodes: readonly RaftNode[],
  leader: RaftNode,
  clients: number,
  input: Surroundings,
): Promise<{ readonly ratio: number; readonly p99Ms: number; readonly detail: string }> {
  const shape = { what: "suspension", clients, count: ENDLESS } as const;
  await load(leader, { ...shape, seconds: WARM_UP_SECONDS });
  const cpuUs = (): number => nodes.reduce((sum, { pid }) => sum + cpuMicros(pid), 0);
  const samples: { ratio: number; perSecond: number; raw: number; p50Ms: number; p99Ms: number; cpuUs: number }[] = [];
  let before = input.rawRate();
  for (let round = 0; round < ROUNDS; round += 1) {
    const cpuBefore = cpuUs();
    const { writes, perSecond, p50Ms, p99Ms } = await load(leader, { ...shape, seconds: ROUND_SECONDS * input.scale });
    const used = (cpuUs() - cpuBefore) / writes;
    const after = input.rawRate();
    const raw = (before + after) / 2;
    before = after;
    samples.push({ ratio: perSecond / raw, perSecond, raw, p50Ms, p99Ms, cpuUs: used });
  }
  const middle = (of: (sample: (typeof samples)[number]) => number): number => percentile(samples.map(of), 0.5);
  const ratios = samples.map(({ ratio }) => ratio);
  const detail = [
    `${middle((it) => it.perSecond).toFixed(0)}/s at R ${middle((it) => it.raw).toFixed(0)}`,
    `ratios ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
    `p50 ${middle((it) => it.p50Ms).toFixed(1)} p99 ${middle((it) => it.p99Ms).toFixed(1)} ms`,
    `CPU ${middle((it) => it.cpuUs).toFixed(0)} us a commit`,
  ].join(", ");
  return { ratio: percentile(ratios, 0.5), p99Ms: middle((it) => it.p99Ms), detail };
}

/** Time from the leader's death until either of the others accepts a write; both are tried constantly. */
async function leaderLoss(input: Surroundings): Promise<readonly Figure[]> {
  const nodes = await startCluster(3, input);
  const losses = Math.max(3, Math.round(LOSSES * input.scale));
  const times: number[] = [];
  try {
    for (let loss = 0; loss < losses; loss += 1) {
      const leader = await leaderOf(nodes);
      const others = nodes.filter((node) => node !== leader);
      await leader.kill();
      const startedAt = performance.now();
      await Promise.any(others.map((node) => node.ask({ kind: "first-write" })));
      times.push(performance.now() - startedAt);
      const again = startNode(leader.options, input);
      nodes[nodes.indexOf(leader)] = again;
      await again.ask({ kind: "open", options: again.options });
      await Promise.all(nodes.map((node) => node.ask({ kind: "first-write" })));
      // A node that has just returned may not be able to decide the next election.
      await sleep(200);
    }
  } finally {
    await endAll(nodes);
  }
  const detail = `${losses} losses: median ${percentile(times, 0.5).toFixed(0)}, most ${percentile(times, 1).toFixed(0)} ms`;
  const name = "leader lost to first accepted write: p99";
  return [{ name, value: percentile(times, 0.99), unit: "ms", aim: { atMost: 3_000 }, detail }];
}

async function restart(input: Surroundings): Promise<readonly Figure[]> {
  const entries = RESTART_ENTRIES * input.scale;
  let node = await startAlone(input);
  const opened: number[] = [];
  const written: number[] = [];
  try {
    // Below the number at which a snapshot is made, or just above: the log is kept either way.
    await load(node, { what: "suspension", clients: 64, count: entries, seconds: 600 });
    for (let time = 0; time < RESTARTS; time += 1) {
      await node.kill();
      node = startNode(node.options, input);
      const done = await node.ask({ kind: "open", options: node.options });
      opened.push(done.ms);
      written.push(done.ms + (await node.ask({ kind: "first-write" })).ms);
    }
  } finally {
    await node.end();
  }
  return [
    {
      name: `restart with ${entries} entries: state readable`,
      value: percentile(opened, 1),
      unit: "ms",
      aim: { atMost: 1_000 },
      detail: `longest of ${RESTARTS} after a kill; from openCluster on; median ${percentile(opened, 0.5).toFixed(0)} ms`,
    },
    {
      name: `restart with ${entries} entries: first write`,
      value: percentile(written, 1),
      unit: "ms",
      aim: undefined,
      detail: `median ${percentile(written, 0.5).toFixed(0)} ms`,
    },
  ];
}

async function saturated(input: Surroundings): Promise<readonly Figure[]> {
  const node = await startAlone(input);
  const shape = { what: "suspension", clients: 1, count: ENDLESS, seconds: LOAD_SECONDS * input.scale } as const;
  const lines: string[] = [];
  const ratios: number[] = [];
  try {
    await load(node, { ...shape, seconds: WARM_UP_SECONDS });
    for (let round = 0; round < SATURATED_ROUNDS; round += 1) {
      const idle = await load(node, shape);
      const { port = 0 } = (await node.ask({ kind: "busy", poolJobs: POOL_JOBS })).value;
      const isOver = new AbortController();
      const traffic = keepAsking(port, isOver.signal, input);
      const { value, longestTurnMs } = await node.ask({ kind: "load", shape });
      isOver.abort();
      const answered = await traffic;
      await node.ask({ kind: "busy", poolJobs: 0 });
      const busy = figuresOf(value);
      ratios.push(busy.p99Ms / idle.p99Ms);
      lines.push(
        `idle p99 ${idle.p99Ms.toFixed(1)} busy p50 ${busy.p50Ms.toFixed(1)} p99 ${busy.p99Ms.toFixed(1)} ms, ${answered.toFixed(0)} req/s, longest turn ${longestTurnMs.toFixed(0)} ms`,
      );
    }
  } finally {
    await node.end();
  }
  const name = "write p99 under a saturated data plane over idle";
  return [{ name, value: percentile(ratios, 0.5), unit: "times", aim: { atMost: 5 }, detail: lines.join("; ") }];
}

/** Sends requests batch after batch; returns answers per second. */
async function keepAsking(port: number, isOver: AbortSignal, { generator }: Surroundings): Promise<number> {
  const shape = { kind: "unary", model: "bench-model" } as const;
  const rates: number[] = [];
  while (!isOver.aborted) {
    const result = await generator.ask({ port, shape, connections: CONNECTIONS, requests: 10 * CONNECTIONS });
    if (result.kind === "broken") throw new Error(`load: ${result.reason}`);
    rates.push(result.perSecond);
  }
  return percentile(rates, 0.5);
}

export async function load(
  node: RaftNode,
  shape: { what: "suspension" | "key"; clients: number; seconds: number; count: number },
): Promise<WriteFigures> {
  return figuresOf((await node.ask({ kind: "load", shape })).value);
}

function figuresOf({ figures }: Done["value"]): WriteFigures {
  if (figures === undefined) throw new Error("a load without figures");
  return figures;
}

export async function endAll(nodes: readonly RaftNode[]): Promise<void> {
  for (const node of nodes) if (!node.hasEnded()) await node.end();
}
