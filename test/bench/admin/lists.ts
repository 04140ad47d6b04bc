/**
 * Long lists: time of a full read and of an SQL query, and the effect on model requests: a light steady load on the
 * data plane, whose longest answer shows how long the main thread was blocked.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { residentBytes } from "../parts/process-usage.ts";
import { median, summarize } from "../statistics.ts";
import type { AdminBenchInputs, AdminScenario, Figure } from "./admin-scenario.ts";
import { type Answered, callWell, createKeys, type Plane, startPlane, teamOf } from "./plane.ts";

export const LISTS: AdminScenario = { name: "lists", run: lists };

const SIZES = [10_000, 100_000];
const RUNS = 5;
const PROBE_PER_SECOND = 200;
const PERIODS = 7;
const QUICK_PERIODS = 3;
/** Several reads of the longest list. */
const PERIOD_SECONDS = 2.5;
const QUICK_PERIOD_SECONDS = 1;
const PROBE_CONNECTIONS = 32;
/** A thread that works on a list for a few milliseconds at a time, plus a garbage collection. */
const LONGEST_TURN_MS = 50;
const MIB = 2 ** 20;

const SHAPE = { kind: "unary", model: "bench-model" } as const;

interface Reading {
  readonly name: string;
  read(plane: Plane, keys: number): Promise<Answered>;
}

const READINGS: readonly Reading[] = [
  { name: "GET /keys", read: readWhole },
  { name: "select count(*)", read: (plane, keys) => select(plane, "select count(*) from keys", [[keys]]) },
  {
    name: "select by metadata->>'team'",
    async read(plane, keys) {
      const sql = `select count(name) from keys where metadata->>'team' = '${teamOf(7)}'`;
      return await select(plane, sql, [[keys / 100]]);
    },
  },
];

async function readWhole(plane: Plane, keys: number): Promise<Answered> {
  const answer = await callWell(plane, "GET", "/keys");
  const last = `"key-${String(keys - 1).padStart(6, "0")}"`;
  if (!answer.text.includes(last)) throw new Error(`the list of ${keys} keys does not hold ${last}`);
  return answer;
}

async function select(plane: Plane, sql: string, expected: readonly (readonly number[])[]): Promise<Answered> {
  const answer = await callWell(plane, "POST", "/query", { body: { sql } });
  const { rows } = JSON.parse(answer.text) as { readonly rows: unknown };
  if (JSON.stringify(rows) !== JSON.stringify(expected)) throw new Error(`${sql} came to ${JSON.stringify(rows)}`);
  return answer;
}

async function lists(input: AdminBenchInputs): Promise<readonly Figure[]> {
  const plane = await startPlane(input);
  try {
    const figures: Figure[] = [];
    let there = 0;
    for (const size of SIZES.map((keys) => keys * input.scale)) {
      const perSecond = await createKeys(input, plane, there, size);
      figures.push({
        name: `up to ${size} keys: minted`,
        value: perSecond,
        unit: "/s",
        aim: undefined,
        detail: `256 clients; resident memory then ${(residentBytes(plane.pid) / MIB).toFixed(0)} MiB`,
      });
      there = size;
      for (const reading of READINGS) figures.push(...(await measure(input, plane, size, reading)));
    }
    return figures;
  } finally {
    await plane.stop();
  }
}

interface Probed {
  readonly longestMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestTurnMs: number;
}

async function measure(
  input: AdminBenchInputs,
  plane: Plane,
  keys: number,
  { name, read }: Reading,
): Promise<readonly Figure[]> {
  await read(plane, keys);
  const times: number[] = [];
  for (let run = 0; run < RUNS; run += 1) times.push((await read(plane, keys)).ms);
  let reads = 0;
  const idle: Probed[] = [];
  const beside: Probed[] = [];
  for (let period = 0; period < (input.isQuick ? QUICK_PERIODS : PERIODS); period += 1) {
    idle.push(await probed(input, plane, async () => undefined));
    beside.push(
      await probed(input, plane, async (isOver) => {
        while (!isOver.aborted) {
          await read(plane, keys);
          reads += 1;
        }
      }),
    );
  }
  const whole = summarize(times);
  const turns = summarize(beside.map(({ longestTurnMs }) => longestTurnMs));
  const about = `${name}, ${keys} keys`;
  return [
    {
      name: `${about}: whole answer`,
      value: whole.median,
      unit: "ms",
      aim: undefined,
      detail: `median of ${RUNS} (${whole.least.toFixed(0)}-${whole.most.toFixed(0)})`,
    },
    {
      name: `${about}: main thread away at most`,
      value: turns.median,
      unit: "ms",
      aim: { atMost: LONGEST_TURN_MS },
      detail: `median of the longest of ${beside.length} periods (${turns.least.toFixed(0)}-${turns.most.toFixed(0)}), ${reads} reads in turn; without ${middle(idle, (it) => it.longestTurnMs)} ms`,
    },
    {
      name: `${about}: p99 of the data plane meanwhile`,
      value: Number(middle(beside, (it) => it.p99Ms)),
      unit: "ms",
      aim: undefined,
      detail: `${describe(beside)}; without: ${describe(idle)}`,
    },
  ];
}

/** Median over the periods, so that one stall of the machine does not decide. */
const middle = (periods: readonly Probed[], of: (period: Probed) => number): string =>
  median(periods.map(of)).toFixed(1);

const describe = (periods: readonly Probed[]): string =>
  `p50 ${middle(periods, (it) => it.p50Ms)} p99 ${middle(periods, (it) => it.p99Ms)} longest ${middle(periods, (it) => it.longestMs)} ms`;

/** `work` continues until it is stopped; meanwhile requests go to the data plane. */
async function probed(
  input: AdminBenchInputs,
  plane: Plane,
  work: (isOver: AbortSignal) => Promise<unknown>,
): Promise<Probed> {
  const isOver = new AbortController();
  const job = { port: plane.port, shape: SHAPE, perSecond: PROBE_PER_SECOND, connections: PROBE_CONNECTIONS };
  await sleep(100);
  await plane.mainThread();
  const [{ p50Us, p99Us, longestUs }] = await Promise.all([
    input
      .steady({ ...job, seconds: input.isQuick ? QUICK_PERIOD_SECONDS : PERIOD_SECONDS })
      .finally(() => isOver.abort()),
    work(isOver.signal),
  ]);
  const { longestDelayMs } = await plane.mainThread();
  return { longestMs: longestUs / 1e3, p50Ms: p50Us / 1e3, p99Ms: p99Us / 1e3, longestTurnMs: longestDelayMs };
}
