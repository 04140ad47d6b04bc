/**
 * `node --import tsx test/bench/budget-load.ts [-seconds N] [-rate N] [-burners N]`: how often requests are refused for
 * lack of units although nothing fails: three nodes, one shared budget by minutes and a budget per key, requests at a
 * steady rate whatever the duration of answers, and processes that keep the processors busy. The target: 503 for at
 * most one request in a thousand.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { cpus } from "node:os";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createRandom } from "../e2e/cluster/support/random.ts";
import { type Called, call } from "../e2e/governance/budgets/support/calls.ts";
import { mintKeys, SEED } from "../e2e/governance/budgets/support/load.ts";
import { startBudgeted } from "../e2e/governance/budgets/support/members.ts";
import { makePlan } from "../e2e/governance/budgets/support/plans.ts";

const AIM = 0.001;
const OWN_KEYS = 8;

const { values } = parseArgs({
  args: process.argv.slice(2).map((arg) => arg.replace(/^-(?=[a-z]{2})/, "--")),
  options: {
    seconds: { type: "string", default: "40" },
    rate: { type: "string", default: "100" },
    burners: { type: "string", default: String(cpus().length) },
  },
});
const lengthMs = 1_000 * Number(values.seconds);
const rate = Number(values.rate);

const ends: (() => unknown)[] = [];
const random = createRandom(SEED);
const gateways = await startBudgeted(
  { after: (end: () => unknown) => void ends.unshift(end) },
  {
    ids: ["n1", "n2", "n3"],
    budgets: [
      { name: "pool", limit: 10_000_000, window: "minute", shared: true },
      { name: "own", limit: 1_000_000, window: "hour", shared: false },
    ],
  },
);
const names = Object.fromEntries(Array.from({ length: OWN_KEYS }, (_, at) => [`own-${at}`, "own"]));
const keys = await mintKeys(gateways, { pool: "pool", ...names });
const [pool, ...own] = keys;
assert.ok(pool !== undefined);

const burners: ChildProcess[] = Array.from({ length: Number(values.burners) }, () =>
  spawn(process.execPath, ["-e", "for(;;);"], { stdio: "ignore" }),
);
const calls: (Called & { readonly tookMs: number })[] = [];
const underWay: Promise<void>[] = [];
const begun = performance.now();
for (let made = 0; made * 1_000 < rate * lengthMs; made += 1) {
  const waitMs = begun + (made * 1_000) / rate - performance.now();
  if (waitMs > 1) await pause(waitMs);
  const key = random.below(2) === 0 ? pool : random.pick(own);
  const plan = makePlan({ shape: "chat", streams: false, model: "sim-long-40", output: 200, random });
  const sentAt = performance.now();
  underWay.push(
    call(plan, { member: random.pick(gateways.members), key, simulator: gateways.simulator }).then((called) => {
      calls.push({ ...called, tookMs: performance.now() - sentAt });
    }),
  );
}
await Promise.all(underWay);
for (const burner of burners) burner.kill("SIGKILL");

const of = (budget: string) => calls.filter(({ key }) => (key === "pool" ? "pool" : "own") === budget);
const tally = (some: readonly Called[]): string => {
  const counts = new Map<string, number>();
  for (const { end, code } of some) counts.set(code ?? end, (counts.get(code ?? end) ?? 0) + 1);
  return [...counts].map(([what, count]) => `${count} ${what}`).join(", ");
};
const times = calls.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
const at = (part: number): string => (times[Math.floor(part * (times.length - 1))] ?? 0).toFixed(0);
const unavailable = calls.filter(({ code }) => code === "budget_unavailable").length / calls.length;
const lines = [
  `seed ${SEED}: ${calls.length} requests in ${((performance.now() - begun) / 1_000).toFixed(0)} s, ${burners.length} burners`,
  `pool: ${tally(of("pool"))}`,
  `own:  ${tally(of("own"))}`,
  `answered after ${at(0.5)} ms (half), ${at(0.99)} ms (99 %), ${at(1)} ms (all)`,
  `budget_unavailable: ${(100 * unavailable).toFixed(2)} %, at most ${100 * AIM} %${unavailable <= AIM ? "" : "  MISSED"}`,
];
process.stdout.write(`${lines.join("\n")}\n`);
for (const end of ends) await end();
process.exit(unavailable <= AIM ? 0 : 1);
