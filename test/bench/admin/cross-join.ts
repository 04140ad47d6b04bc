/**
 * Effect of hostile SQL on model requests. The data plane is under a steady load of a third of its capacity; a client
 * repeats a statement that never ends (stopped by the time limit) or that joins endlessly into the answer (stopped by
 * the memory limit).
 *
 * Periods alternate. One of them has neither, and one has a foreign process that keeps a core busy: on a machine of few
 * cores the generator, the upstream and the gateway then share the others, which is not caused by the engine.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { startChild } from "../parts/children.ts";
import { mainThreadWaitMicros, residentBytes } from "../parts/process-usage.ts";
import { median, percentile, summarize } from "../statistics.ts";
import type { AdminBenchInputs, AdminScenario, Figure } from "./admin-scenario.ts";
import { call, createKeys, type Plane, startPlane } from "./plane.ts";

export const CROSS_JOIN: AdminScenario = { name: "cross-join", run: crossJoin };

const KEYS = 1_000;
const ROUNDS = 5;
const QUICK_ROUNDS = 2;
/** Two statements that reach the time limit, or one. */
const SECONDS = 11;
const QUICK_SECONDS = 5.6;
const LOAD_SHARE = 0.3;
const CLIENTS = 32;
const STEADY_CONNECTIONS = 256;
const SATURATING_ROUNDS = 5;
const SATURATING_REQUESTS = 15_000;
const MIB = 2 ** 20;
const MAX_RATIO = 1.5;
/** Time limit of a statement plus half a second. */
const MAX_SECONDS = 5.5;

const SHAPE = { kind: "unary", model: "bench-model" } as const;

const CONDITIONS = ["quiet", "time", "core", "memory"] as const;
type Condition = (typeof CONDITIONS)[number];

/** A billion rows, none of which is returned; and a billion that all are. */
const STATEMENTS = {
  time: "select count(*) from keys a cross join keys b cross join keys c where a.name > b.name and b.name > c.name and c.name > a.name",
  memory: "select a.name, b.name, c.name from keys a cross join keys b cross join keys c",
} as const;

interface Period {
  readonly condition: Condition;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly longestUs: number;
  readonly longestTurnMs: number;
  readonly turnP99Ms: number;
  /** Share of the time in which the main thread was ready to run and had no core. */
  readonly waitShare: number;
  /** Duration of each statement in ms, and why it ended. */
  readonly statements: readonly number[];
  readonly reasons: readonly string[];
}

async function crossJoin(input: AdminBenchInputs): Promise<readonly Figure[]> {
  const plane = await startPlane(input);
  const endless = new AbortController();
  try {
    await createKeys(input, plane, 0, KEYS);
    const perSecond = LOAD_SHARE * (await saturation(input, plane));
    for (const sql of Object.values(STATEMENTS)) await call(plane, "POST", "/query", { body: { sql } });
    await sleep(1_000);
    const before = residentBytes(plane.pid);
    const most = peakResidentBytes(plane, endless.signal);
    const periods: Period[] = [];
    for (let round = 0; round < (input.isQuick ? QUICK_ROUNDS : ROUNDS); round += 1) {
      // Reverses the order every second time, so that none always follows the same one.
      for (const condition of round % 2 === 0 ? CONDITIONS : CONDITIONS.toReversed()) {
        periods.push(await measure(input, plane, condition, perSecond));
      }
    }
    endless.abort();
    await sleep(1_000);
    return figures(periods, { perSecond, before, after: residentBytes(plane.pid), most: await most });
  } finally {
    endless.abort();
    await plane.stop();
  }
}

/** Answers per second of a closed loop; the best of several, since other work of the machine only reduces it. */
async function saturation({ load, scale }: AdminBenchInputs, { port }: Plane): Promise<number> {
  const requests = Math.max(3_000, SATURATING_REQUESTS * scale);
  let best = 0;
  for (let time = 0; time < SATURATING_ROUNDS; time += 1) {
    best = Math.max(best, (await load({ port, shape: SHAPE, connections: CLIENTS, requests })).perSecond);
  }
  return best;
}

async function measure(
  input: AdminBenchInputs,
  plane: Plane,
  condition: Condition,
  perSecond: number,
): Promise<Period> {
  const seconds = input.isQuick ? QUICK_SECONDS : SECONDS;
  const isOver = new AbortController();
  const statements: number[] = [];
  const reasons: string[] = [];
  const ask = async (sql: string): Promise<void> => {
    while (!isOver.signal.aborted) {
      const { status, text, ms } = await call(plane, "POST", "/query", { body: { sql } });
      statements.push(ms);
      const reason = /"reason":"(\w+)"/.exec(text)?.[1];
      if (status !== 400 || reason === undefined)
        throw new Error(`a cross join answered ${status}: ${text.slice(0, 200)}`);
      reasons.push(reason);
    }
  };
  // It ends by itself if nothing is left to end it.
  const until = `const end = Date.now() + ${(seconds + 10) * 1e3}; while (Date.now() < end);`;
  const core = condition === "core" ? startChild(process.execPath, ["-e", until]) : undefined;
  try {
    await plane.mainThread();
    const [waitedBefore, startedAt] = [mainThreadWaitMicros(plane.pid), performance.now()];
    const asking = condition === "time" || condition === "memory" ? ask(STATEMENTS[condition]) : Promise.resolve();
    const job = { port: plane.port, shape: SHAPE, perSecond, seconds, connections: STEADY_CONNECTIONS };
    const [{ p50Us, p99Us, longestUs }, { longestDelayMs, delayP99Ms }] = await Promise.all([
      input.steady(job).finally(() => isOver.abort()),
      sleep(seconds * 1e3 - 100).then(() => plane.mainThread()),
      asking,
    ]);
    const waitedMs = (mainThreadWaitMicros(plane.pid) - waitedBefore) / 1e3;
    return {
      waitShare: waitedMs / (performance.now() - startedAt),
      ...{ condition, p50Us, p99Us, longestUs, statements, reasons },
      longestTurnMs: longestDelayMs,
      turnP99Ms: delayP99Ms,
    };
  } finally {
    isOver.abort();
    await core?.stop();
  }
}

async function peakResidentBytes({ pid, hasEnded }: Plane, isOver: AbortSignal): Promise<number> {
  let most = 0;
  while (!isOver.aborted && !hasEnded()) {
    most = Math.max(most, residentBytes(pid));
    await sleep(50);
  }
  return most;
}

interface Resident {
  readonly perSecond: number;
  readonly before: number;
  readonly after: number;
  readonly most: number;
}

function figures(periods: readonly Period[], { perSecond, before, after, most }: Resident): readonly Figure[] {
  const of = (condition: Condition): readonly Period[] => periods.filter((period) => period.condition === condition);
  const p99s = (condition: Condition): readonly number[] => of(condition).map(({ p99Us }) => p99Us);
  const ratios = (over: Condition, under: Condition): readonly number[] =>
    p99s(over).map((p99, round) => p99 / (p99s(under)[round] ?? Number.NaN));
  const ratio = (over: Condition, under: Condition, name: string): Figure => {
    const own = summarize(ratios(over, under));
    return {
      name,
      value: own.median,
      unit: "times",
      aim: { atMost: MAX_RATIO },
      detail: `median of ${of(over).length} (${own.least.toFixed(2)}-${own.most.toFixed(2)}) at ${perSecond.toFixed(0)} requests/s: ${describe(of(over))}; without: ${describe(of(under))}`,
    };
  };
  const noise = summarize(p99s("quiet"));
  const endings = (["time", "memory"] as const).map((condition): Figure => {
    const all = of(condition).flatMap(({ statements }) => statements);
    const reasons = [...new Set(of(condition).flatMap((period) => period.reasons))].join(", ");
    return {
      name: `the longest statement, ended by the limit of ${condition}`,
      value: percentile(all, 1) / 1e3,
      unit: "s",
      aim: { atMost: MAX_SECONDS },
      detail: `${all.length} statements, median ${(median(all) / 1e3).toFixed(2)} s, ended for ${reasons}`,
    };
  });
  return [
    ratio("time", "quiet", "p99 of the data plane, statements that run into the limit of time"),
    ratio("memory", "quiet", "p99 of the data plane, statements that run into the limit of memory"),
    ratio("time", "core", "the first over p99 beside a foreign busy core"),
    {
      name: "p99 of the data plane without either: most over least",
      value: noise.most / noise.least,
      unit: "times",
      aim: undefined,
      detail: "the noise of this machine; a ratio above within it says nothing",
    },
    ...endings,
    {
      name: "resident memory: growth over all the statements",
      value: (after - before) / MIB,
      unit: "MiB",
      aim: undefined,
      detail: `${(before / MIB).toFixed(0)} after the first ones, ${(after / MIB).toFixed(0)} at the end, ${(most / MIB).toFixed(0)} at most`,
    },
  ];
}

function describe(periods: readonly Period[]): string {
  const middle = (of: (period: Period) => number): number => median(periods.map(of));
  const longest = Math.max(...periods.map(({ longestUs }) => longestUs));
  return [
    `p50 ${(middle((it) => it.p50Us) / 1e3).toFixed(1)} p99 ${(middle((it) => it.p99Us) / 1e3).toFixed(1)} longest ${(longest / 1e3).toFixed(0)} ms`,
    `main thread late by p99 ${middle((it) => it.turnP99Ms).toFixed(1)} at most ${Math.max(...periods.map((it) => it.longestTurnMs)).toFixed(0)} ms, without a core ${(100 * middle((it) => it.waitShare)).toFixed(0)} % of the time`,
  ].join(", ");
}
