// tier: test
/**
 * All kinds of requests concurrently: for each bucket the charge equals the provider's metering to the token for
 * completed requests; for broken or abandoned ones it is within bounds. Source: design decisions, section 6; lessons
 * P5, P12.
 */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { createRandom } from "../../cluster/support/random.ts";
import { readMetrics, sumOf as sumOfSeries } from "../../support/metrics.ts";
import { assertWithin, type Bounds, boundsOf, sumOf, tallyOf } from "./support/accounts.ts";
import { assertUnavailable, type Called } from "./support/calls.ts";
import { callAll, mintKeys, ROUNDS, resetCounts, SEED } from "./support/load.ts";
import { LONG_WINDOW, startBudgeted } from "./support/members.ts";
import { planOf } from "./support/plans.ts";
import { settledRows } from "./support/rows.ts";

const CALLS = 160;
const CLIENTS = 12;
const PLENTY = 1_000_000_000;
const TIGHT = 8_000;

/** Budget by key name. Requests of the last one are never abandoned and never break off. */
const KEYS = { "own-1": "own", "own-2": "own", "pool-1": "pool", "pool-2": "pool", tight: "tight", certain: "own" };

const file = { after };
const budgets = [
  { name: "own", limit: PLENTY, window: LONG_WINDOW, shared: false },
  { name: "pool", limit: PLENTY, window: LONG_WINDOW, shared: true },
  { name: "tight", limit: TIGHT, window: LONG_WINDOW, shared: true },
];
const started = [
  await startBudgeted(file, { budgets }),
  await startBudgeted(file, { ids: ["n1", "n2", "n3"], budgets }),
];

for (const gateways of started) {
  const { members, simulator } = gateways;
  describe(`budgets over ${members.length} node${members.length === 1 ? "" : "s"}`, async () => {
    const keys = await mintKeys(gateways, KEYS);

    test("each bucket is charged exactly what its requests used", async (t) => {
      const random = createRandom(SEED);
      const charged = new Map<string, Bounds>();
      for (let round = 1; round <= ROUNDS; round += 1) {
        const placed = Array.from({ length: CALLS }, (_, at) => {
          const key = random.pick(keys);
          const plan = planOf(random, `${round}-${at}`, { isCertain: key.name === "certain" });
          return { plan, key, member: random.pick(members) };
        });
        const calls = await callAll(placed, simulator, CLIENTS);
        t.diagnostic(`seed ${SEED}, round ${round}: ${tallyOf(calls)}`);
        const rows = new Map(
          (await Promise.all(["own", "pool", "tight"].map((budget) => settledRows(members, budget)))).flatMap((found) =>
            Array.from(found.values(), (row) => [bucketOf(row.budget, row.key), row] as const),
          ),
        );
        const refused = calls.filter(({ end }) => end === "refused");
        for (const called of refused) if (called.key !== "tight") assertUnavailable(called);
        const counts = simulator.counts();
        for (const [bucket, ofBucket] of byBucket(calls)) {
          const bounds = sumOf([charged.get(bucket) ?? NOTHING, ...ofBucket.map((called) => boundsOf(called, counts))]);
          charged.set(bucket, bounds);
          const used = rows.get(bucket)?.used ?? 0;
          t.diagnostic(`${bucket}: charged ${used}, bounds ${bounds.lower} to ${bounds.upper} (${tallyOf(ofBucket)})`);
          assertWithin(used, bounds, `${bucket}, seed ${SEED}, round ${round}`);
        }
        const { lower, upper } = charged.get("own of certain") ?? NOTHING;
        assert.equal(lower, upper, "of requests that complete or fail all is known");
        await resetCounts(simulator);
      }
      const tight = (await settledRows(members, "tight")).get(null)?.used ?? 0;
      const series = await Promise.all(members.map(({ gateway }) => readMetrics(gateway)));
      const excess = series.reduce((sum, each) => sum + sumOfSeries(each, "gateway_budget_excess_units_total"), 0);
      t.diagnostic(
        `tight: ${tight} of ${TIGHT}, overspent ${Math.max(0, tight - TIGHT)}; above reservations ${excess}`,
      );
      assert.ok(tight <= TIGHT + excess);
      assert.equal(
        series.reduce((sum, each) => sum + sumOfSeries(each, "gateway_budget_unreported_units_total"), 0),
        0,
      );
    });
  });
}

const NOTHING: Bounds = { lower: 0, upper: 0 };

const bucketOf = (budget: string, key: string | null): string => (key === null ? budget : `${budget} of ${key}`);

function byBucket(calls: readonly Called[]): ReadonlyMap<string, readonly Called[]> {
  const buckets = new Map<string, Called[]>();
  for (const called of calls) {
    const budget = KEYS[called.key as keyof typeof KEYS];
    const bucket = bucketOf(budget, budget === "own" ? called.key : null);
    buckets.set(bucket, [...(buckets.get(bucket) ?? []), called]);
  }
  return buckets;
}
