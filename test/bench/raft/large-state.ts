/**
 * A hundred thousand keys in 64 MiB of rows: time to write them, to save, restart, restore and add an empty node, and
 * the peak memory meanwhile. While a snapshot is written and while a node joins, one client keeps writing, which shows
 * how long the worker is blocked.
 */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { residentBytes } from "../parts/process-usage.ts";
import { describeNode, type RaftNode, startAlone, startNode } from "./nodes.ts";
import { endAll, type Figure, load, type Scenario, type Surroundings } from "./scenarios.ts";

const KEYS = 100_000;
const CLIENTS = 256;
const SAMPLE_MS = 20;
const MIB = 2 ** 20;
/**
 * Five copies of the state plus the process itself: two threads hold the rows, and there are a file, a build and
 * garbage.
 */
const MAX_MIB = 768;

export const LARGE_STATE: Scenario = { name: "large-state", run: largeState };

interface Timed {
  readonly ms: number;
  readonly peakBytes: number;
}

async function largeState(input: Surroundings): Promise<readonly Figure[]> {
  const keys = KEYS * input.scale;
  const archive = join(input.folder, "archive.tar.gz");
  const nodes: RaftNode[] = [];
  const figures: Figure[] = [];
  const add = (name: string, { ms, peakBytes }: Timed, detail: string): void => {
    figures.push({ name: `${name}: time`, value: ms / 1e3, unit: "s", aim: undefined, detail });
    const most = { value: peakBytes / MIB, unit: "MiB", aim: { atMost: MAX_MIB } } as const;
    figures.push({ name: `${name}: most memory`, ...most, detail: "" });
  };
  try {
    let first = await startAlone(input);
    nodes.push(first);
    const loading = await watched(first, () =>
      load(first, { what: "key", clients: CLIENTS, seconds: 3_600, count: keys }),
    );
    add(
      `${keys} keys: load`,
      loading,
      `${loading.value.perSecond.toFixed(0)}/s, p99 ${loading.value.p99Ms.toFixed(0)} longest ${loading.value.longestMs.toFixed(0)} ms; ${await rest(first)}`,
    );

    const saving = await watched(first, () => first.ask({ kind: "save", path: archive }));
    const { size } = await stat(archive);
    add(
      "snapshot to an archive",
      saving,
      `${(size / MIB).toFixed(1)} MiB gzipped; main thread away ${saving.value.longestTurnMs.toFixed(0)} ms at most`,
    );

    await first.kill();
    const restarted = startNode(first.options, input);
    nodes.push(restarted);
    const opening = await watched(restarted, () => restarted.ask({ kind: "open", options: restarted.options }));
    first = restarted;
    await first.ask({ kind: "first-write" });
    add(
      "restart",
      opening,
      `main thread away ${opening.value.longestTurnMs.toFixed(0)} ms at most; ${await rest(first)}`,
    );

    const second = await startAlone(input);
    nodes.push(second);
    const restoring = await watched(second, () => second.ask({ kind: "restore", path: archive }));
    add(
      "restore on another cluster",
      restoring,
      `main thread away ${restoring.value.longestTurnMs.toFixed(0)} ms at most; ${await rest(second)}`,
    );
    await second.end();

    const start = { kind: "join", addresses: [first.options.forwardAddr], bootstrapAfterMs: undefined } as const;
    const third = startNode(await describeNode("n3", start, input), input);
    nodes.push(third);
    const isOver = new AbortController();
    const trickle = writeOn(first, isOver.signal);
    const joining = await watched(third, async () => {
      await third.ask({ kind: "open", options: third.options });
      while (((await third.ask({ kind: "status" })).value.rows ?? 0) < keys) await sleep(20);
    });
    isOver.abort();
    add(
      "a blank node joins",
      joining,
      `until it holds all keys; a client of the leader waited ${(await trickle).toFixed(0)} ms at most; ${await rest(third)}`,
    );
  } finally {
    await endAll(nodes);
  }
  return figures;
}

/** Writes with one client until stopped; returns the longest write. */
async function writeOn(node: RaftNode, isOver: AbortSignal): Promise<number> {
  let longest = 0;
  while (!isOver.aborted) {
    const { longestMs } = await load(node, { what: "suspension", clients: 1, seconds: 0.25, count: 10_000 });
    longest = Math.max(longest, longestMs);
  }
  return longest;
}

async function watched<Value>(node: RaftNode, work: () => Promise<Value>): Promise<Timed & { readonly value: Value }> {
  const isOver = new AbortController();
  const sampling = (async () => {
    let most = 0;
    while (!isOver.signal.aborted && !node.hasEnded()) {
      most = Math.max(most, residentBytes(node.pid));
      await sleep(SAMPLE_MS);
    }
    return most;
  })();
  const startedAt = performance.now();
  try {
    const value = await work();
    const ms = performance.now() - startedAt;
    isOver.abort();
    return { ms, peakBytes: await sampling, value };
  } finally {
    isOver.abort();
  }
}

/** Pauses for the garbage collector. */
async function rest(node: RaftNode): Promise<string> {
  await sleep(1_000);
  const { value } = await node.ask({ kind: "memory" });
  const mib = (bytes = 0): string => (bytes / MIB).toFixed(0);
  return `at rest ${mib(residentBytes(node.pid))} MiB, main heap ${mib(value.heapBytes)} MiB`;
}
