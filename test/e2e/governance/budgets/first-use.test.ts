/**
 * Concurrent requests on an unused bucket: exactly those that fit are admitted, on one node and over three, and none is
 * refused while there is room. Source: cluster reference, 7.2 and 7.3; lessons P6 and P7.
 */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { createRandom, type Random } from "../../cluster/support/random.ts";
import { until } from "../../cluster/support/until.ts";
import { readMetrics, sumOf } from "../../support/metrics.ts";
import { type Called, call, callUntilDecided } from "./support/calls.ts";
import { callAll, type Key, mintKeys, ROUNDS, SEED } from "./support/load.ts";
import { type Budgeted, LONG_WINDOW, type Member, startBudgeted } from "./support/members.ts";
import { makePlan } from "./support/plans.ts";
import { mustHaveRow, settledRows, settledUse } from "./support/rows.ts";

const ROOM = 10;
const AT_ONCE = 100;
const FILLED = 12_000;
/** A refusal relies on an answer that is at most half a second old. */
const STALE_MS = 1_000;

const flat = (name: string) => ({
  name,
  limit: ROOM,
  window: LONG_WINDOW,
  shared: true,
  cost: { type: "CEL", cel: "1" },
});

const file = { after };
const random = createRandom(SEED);
const rounds = Array.from({ length: 3 * ROUNDS }, (_, round) => `first-${round}`);
const budgets = [...rounds.map(flat), { name: "filled", limit: FILLED, window: LONG_WINDOW, shared: true }];
const started = [
  await startBudgeted(file, { budgets }),
  await startBudgeted(file, { ids: ["n1", "n2", "n3"], budgets }),
];

for (const gateways of started) {
  const { members, simulator } = gateways;
  describe(`budgets over ${members.length} node${members.length === 1 ? "" : "s"}`, async () => {
    const keys = await mintKeys(gateways, Object.fromEntries([...rounds, "filled"].map((name) => [name, name])));
    const keyOf = (name: string): Key => keys.find((key) => key.name === name) ?? assert.fail();

    test(`of ${AT_ONCE} concurrent calls with room for ${ROOM}, exactly that many are answered and the others refused`, async (t) => {
      for (const name of rounds) {
        const key = keyOf(name);
        const plan = () => makePlan({ shape: "chat", streams: false, model: `sim-1:${name}`, random });
        const placed = Array.from({ length: AT_ONCE }, () => ({ plan: plan(), key, member: random.pick(members) }));
        let repeats = 0;
        const repeated = (): void => void repeats++;
        const calls = await callAll(placed, simulator, AT_ONCE, (each, options) =>
          callUntilDecided(each, options, repeated),
        );
        t.diagnostic(`seed ${SEED}, ${name}: ${summaryOf(calls)}; ${repeats} x 503 before`);
        const { resets_at: resetsAt } = await mustHaveRow(members[0] ?? assert.fail(), name);
        for (const called of calls.filter(({ status }) => status !== 200)) assertRefused(called, resetsAt);
        assert.equal(calls.filter(({ end }) => end === "completed").length, ROOM, summaryOf(calls));
        for (const member of members) {
          assertRefused(await callUntilDecided(plan(), { member, key, simulator }, repeated), resetsAt);
        }
        assert.equal(await settledUse(members, name), ROOM);
        assert.equal(simulator.counts().byModel[`sim-1:${name}`], ROOM);
      }
    });

    test("no call is refused while there is room, until the bucket is full on every node", async (t) => {
      const key = keyOf("filled");
      let bound = 0;
      let repeats = 0;
      for (const open = new Set(members); open.size > 0; ) {
        const member = random.pick([...open]);
        const plan = chatOf(random);
        const called = await callUntilDecided(plan, { member, key, simulator }, () => void repeats++);
        if (called.end === "completed") continue;
        assert.deepEqual([called.status, called.code], [429, "budget_exhausted"]);
        bound = Math.max(bound, plan.atMost);
        if (await isFull(member, plan.atMost, called)) open.delete(member);
      }
      const row = (await settledRows(members, "filled")).get(null) ?? assert.fail();
      const excess = await excessOf(members);
      const stranded = FILLED - row.used;
      const most = row.granted + bound;
      t.diagnostic(
        `seed ${SEED}, ${repeats} x 503: limit ${FILLED}, used ${row.used}, stranded ${stranded} (${percent(stranded)}), ` +
          `bound ${most}: ${row.granted} granted and not spent, and less than a request of ${bound}`,
      );
      assert.ok(row.used <= FILLED + excess, `${row.used - FILLED} above the limit, of ${excess} above reservations`);
      assert.ok(stranded < most, `${stranded} stranded, and ${most} may be`);
    });

    /**
     * Whether the unspent and ungranted rest is less than the request needs; false means that other nodes returned
     * units meanwhile, and the same request is admitted. Any other refusal is wrong.
     */
    function isFull(member: Member, needed: number, refused: Called): Promise<boolean> {
      return until(
        `${member.id} refuses only what does not fit (seed ${SEED})`,
        async () => {
          const { used, granted } = await mustHaveRow(member, "filled");
          if (FILLED - used - granted < needed) return { full: true };
          const again = await call(refused.plan, { member, key: keyOf("filled"), simulator });
          return again.end === "completed" && { full: false };
        },
        STALE_MS,
      ).then(({ full }) => full);
    }
  });
}

const chatOf = (random: Random) =>
  makePlan({
    shape: "chat",
    streams: random.below(2) === 0,
    model: `sim-long-${10 + random.below(200)}`,
    random,
    output: 200,
  });

function assertRefused({ status, code, headers }: Called, resetsAt: string): void {
  assert.deepEqual([status, code], [429, "budget_exhausted"]);
  assert.equal(headers?.get("x-should-retry"), "false");
  const seconds = Number(headers?.get("retry-after"));
  const left = (Date.parse(resetsAt) - Date.now()) / 1_000;
  assert.ok(seconds >= left && seconds <= left + 30, `retry-after ${seconds}, and ${left} seconds are left`);
}

function summaryOf(calls: readonly Called[]): string {
  const counts = new Map<string, number>();
  for (const { status, code = "" } of calls)
    counts.set(`${status} ${code}`, (counts.get(`${status} ${code}`) ?? 0) + 1);
  return [...counts].map(([what, count]) => `${count} x ${what}`).join(", ");
}

const excessOf = async (members: Budgeted["members"]): Promise<number> => {
  const series = await Promise.all(members.map(({ gateway }) => readMetrics(gateway)));
  return series.reduce((sum, each) => sum + sumOf(each, "gateway_budget_excess_units_total"), 0);
};

const percent = (units: number): string => `${((100 * units) / FILLED).toFixed(1)} %`;
