import assert from "node:assert/strict";
import { test } from "node:test";
import { type Attack, attack } from "./adversary.ts";
import { randomOf } from "./simulation.ts";

const SEEDS = 200;

function attackOf(seed: number): Attack {
  const random = randomOf(seed);
  const pick = <Of>(of: readonly Of[]): Of => of[Math.floor(random() * of.length)] as Of;
  return {
    seed,
    nodes: pick([1, 1, 3]),
    limit: pick([500, 2_000, 20_000, 200_000]),
    burst: pick([5, 20, 60]),
    stated: pick([0, 0.5, 1]),
    output: pick([500, 5_000, 30_000]),
  };
}

test("for any requests, no more is charged than the limit plus the stated bound", (t) => {
  const worst = { stated: 0, alone: 0, admitted: 0, refused: 0, over: 0 };
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const plan = attackOf(seed);
    const { charged, admitted, refused, unbounded, alone } = attack(plan);
    const over = charged - plan.limit;
    assert.ok(over <= unbounded + alone, `seed ${seed}: ${over} over, ${JSON.stringify(plan)}`);
    if (plan.stated === 1) {
      assert.ok(over <= 0, `seed ${seed}: ${over} over, though all is stated`);
      worst.stated = Math.max(worst.stated, over);
    }
    worst.over = Math.max(worst.over, over / plan.limit);
    worst.alone = Math.max(worst.alone, alone);
    worst.admitted += admitted;
    worst.refused += refused;
  }
  assert.ok(worst.admitted > SEEDS && worst.refused > SEEDS);
  t.diagnostic(`${SEEDS} seeds: ${JSON.stringify(worst)}`);
});

test("sixty requests without a bound on a budget of 2,000 pass one at a time", () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const plan: Attack = { seed, nodes: 1, limit: 2_000, burst: 60, stated: 0, output: 500 };
    const { charged, alone } = attack(plan);
    assert.ok(charged <= plan.limit + alone && alone <= 700, `seed ${seed}: ${charged} charged, ${alone} alone`);
  }
});

test("requests with a stated output share the remaining budget, as many as fit", () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const plan: Attack = { seed, nodes: 1, limit: 20_000, burst: 60, stated: 1, output: 0 };
    const { charged } = attack(plan);
    assert.ok(charged <= plan.limit && charged > 0.8 * plan.limit, `seed ${seed}: ${charged} of ${plan.limit}`);
  }
});
