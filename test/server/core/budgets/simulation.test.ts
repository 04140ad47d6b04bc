import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { randomRuns } from "../../../support/random-length.ts";
import { type Plan, randomOf, simulate } from "./simulation.ts";

const CALM: Plan = {
  seed: 1,
  limit: 20_000,
  windowMs: 5_000,
  lengthMs: 8_000,
  load: [20, 20, 20],
  skew: [0, 0, 0],
  isHard: true,
  loss: 0,
  doubling: 0,
  delayMs: 10,
  restarts: 0,
  leaderless: 0,
  changesLimit: false,
  retries: 0,
  readsLog: true,
  pledges: true,
};

const plans = fc.record<Plan>({
  seed: fc.integer(),
  limit: fc.constantFrom(200, 2_000, 20_000, 200_000),
  windowMs: fc.constantFrom(3_000, 5_000, 60_000),
  lengthMs: fc.constantFrom(3_000, 7_000),
  load: fc.constantFrom([20, 20, 20], [60, 6, 6], [30], [1, 1, 40]),
  skew: fc.array(fc.integer({ min: -2_500, max: 2_500 }), { minLength: 3, maxLength: 3 }),
  isHard: fc.boolean(),
  loss: fc.constantFrom(0, 0.05, 0.3),
  doubling: fc.constantFrom(0, 0.2),
  delayMs: fc.constantFrom(0, 10, 40, 150),
  restarts: fc.constantFrom(0, 0, 0.1, 0.5),
  leaderless: fc.constantFrom(0, 0.1, 0.4),
  changesLimit: fc.boolean(),
  retries: fc.constantFrom(0, 0.1),
  readsLog: fc.boolean(),
  pledges: fc.boolean(),
});

const sum = (of: ReadonlyMap<number, number>): number => [...of.values()].reduce((all, units) => all + units, 0);

test("whatever fails, nothing is charged beyond the bound, nothing refused with room, and everything is counted in the end", (t) => {
  let runs = 0;
  let restarted = 0;
  let admitted = 0;
  let exhausted = 0;
  let unavailable = 0;
  fc.assert(
    fc.property(plans, (plan) => {
      const outcome = simulate(plan);
      runs += 1;
      if (plan.restarts > 0) restarted += 1;
      admitted += outcome.admitted;
      exhausted += outcome.exhausted;
      unavailable += outcome.unavailable;
    }),
    { numRuns: 40 },
  );
  assert.ok(restarted > 0 && admitted > 0 && exhausted > 0 && unavailable > 0);
  t.diagnostic(`${runs} runs: ${admitted} admitted, ${exhausted} exhausted, ${unavailable} unavailable`);
});

test("with reserved bounds nothing is charged above the limit; with estimates, at most what they fell short", (t) => {
  for (const isHard of [true, false]) {
    for (const limit of [2_000, 20_000]) {
      const { charged, excess, exhausted } = simulate({ ...CALM, isHard, limit, load: [60, 60, 60], seed: limit });
      assert.ok(exhausted > 0);
      const over = Math.max(...[...charged.values()].map((units) => units - limit));
      if (isHard) assert.deepEqual([sum(excess), over <= 0], [0, true]);
      const used = [...charged.values()].slice(0, 1).map((units) => Math.round((units / limit) * 100));
      t.diagnostic(
        `limit ${limit}, ${isHard ? "bound" : "guess"}: ${Math.max(0, over)} over, ${used}% of a window used`,
      );
    }
  }
});

test("a dead process strands only its grant, and only until the window ends", (t) => {
  const plan = { ...CALM, windowMs: 60_000, load: [60, 60, 60] };
  const whole = simulate(plan);
  const broken = simulate({ ...plan, restarts: 0.2 });
  const used = (of: ReadonlyMap<number, number>): number => Math.round((sum(of) / plan.limit) * 100);
  assert.ok(whole.exhausted > 0 && broken.exhausted > 0);
  t.diagnostic(`used of the limit: ${used(whole.charged)}% without a death, ${used(broken.charged)}% with some`);
  assert.ok(used(broken.charged) >= 50);
});

test("while the cluster answers and clocks agree, no request is refused as unavailable", () => {
  for (const seed of [1, 2, 3]) {
    for (const limit of [500, 5_000, 500_000]) {
      const { unavailable, admitted } = simulate({ ...CALM, seed, limit });
      assert.equal(unavailable, 0, `seed ${seed}, limit ${limit}`);
      assert.ok(admitted > 0);
    }
  }
});

test("nodes with late clocks are served by the time of the log, also at window boundaries", () => {
  for (const seed of [1, 2, 3]) {
    const { unavailable, admitted } = simulate({ ...CALM, seed, limit: 500_000, skew: [-2_000, -1_000, -300] });
    // At the edge of a window a node learns of the next one with its first entry.
    assert.ok(unavailable * 100 <= admitted, `${unavailable} unavailable, ${admitted} admitted`);
  }
});

test("reports are few, whatever the number of requests", () => {
  const few = simulate({ ...CALM, limit: 10_000_000, load: [20, 20, 20] });
  const many = simulate({ ...CALM, limit: 10_000_000, load: [400, 400, 400] });
  assert.ok(many.admitted > 10 * few.admitted);
  assert.ok(many.reports < 3 * few.reports, `${many.reports} after ${few.reports}`);
});

/** A long run uses more. */
const RUNS = Number(process.env["GATEWAY_LEASE_RUNS"] ?? randomRuns(12, 4));

/** Two and a half minutes of three nodes that use up a shared limit, one of them unreachable most of the time. */
const LEASES: Plan = {
  ...CALM,
  limit: 60_000,
  windowMs: 3_600_000,
  lengthMs: 150_000,
  load: [6, 6, 6],
  stepMs: 50,
};

test("a dead node's pledge stays charged, and the rest of its grant is available to others after a minute", (t) => {
  const sums = { reported: 0, unreported: 0 };
  for (let seed = 1; seed <= 4; seed += 1) {
    const outages = [{ node: seed % 3, at: 20_000 + 500 * seed, ms: 1_000_000, kind: "dead" as const }];
    const { charged } = simulate({ ...LEASES, seed, outages });
    const used = sum(charged);
    assert.ok(used <= LEASES.limit && used >= 0.95 * LEASES.limit, `seed ${seed}: ${used} of ${LEASES.limit}`);
    const back = simulate({ ...LEASES, seed, outages: outages.map((outage) => ({ ...outage, ms: 70_000 })) });
    assert.ok(back.untold <= 0.05 * LEASES.limit, `seed ${seed}: ${back.untold} untold`);
    sums.reported += sum(back.charged);
    sums.unreported += back.untold;
  }
  t.diagnostic(`used ${sums.reported}, and charged beside it without a word ${sums.unreported}`);
});

test("reclaimed grants are never spent twice, even if clocks run a fifth too fast or too slow", (t) => {
  const sums = { runs: 0, charged: 0, untold: 0 };
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const random = randomOf(seed);
    const outages = Array.from({ length: 3 }, (_, node) => ({
      node,
      at: Math.floor(10_000 + random() * 60_000),
      ms: Math.floor(20_000 + random() * 90_000),
      kind: random() < 0.7 ? ("cut" as const) : ("dead" as const),
    }));
    const { charged, excess, untold } = simulate({
      ...LEASES,
      seed,
      limit: [4_000, 20_000, 60_000][seed % 3] ?? 0,
      loss: seed % 2 === 0 ? 0.2 : 0,
      doubling: seed % 4 === 0 ? 0.2 : 0,
      outages,
      pace: [1, 0.8, 1.2],
      skew: [0, -1_500, 1_500],
    });
    assert.equal(sum(excess), 0);
    sums.runs += 1;
    sums.charged += sum(charged);
    sums.untold += untold;
  }
  t.diagnostic(JSON.stringify(sums));
});
