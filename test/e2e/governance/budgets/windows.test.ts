/**
 * The bucket and the window that a request is charged to. Source: specification document 3 (`budgets[]`); cluster reference, 7.2
 * (bucket ids, window roll).
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createRandom } from "../../cluster/support/random.ts";
import { until } from "../../cluster/support/until.ts";
import { idle, sumOf } from "../../support/metrics.ts";
import { call } from "./support/calls.ts";
import { mintKeys, SEED } from "./support/load.ts";
import { LONG_WINDOW, startBudgeted } from "./support/members.ts";
import { makePlan } from "./support/plans.ts";
import { mustHaveRow, rowOn } from "./support/rows.ts";

const ROOM = 3;
const WINDOW_MS = 4_000;

const file = { after };
const random = createRandom(SEED);
const flat = { limit: ROOM, cost: { type: "CEL", cel: "1" } };
const gateways = await startBudgeted(file, {
  budgets: [
    { ...flat, name: "own", window: LONG_WINDOW, shared: false },
    { ...flat, name: "pool", window: LONG_WINDOW, shared: true },
    { ...flat, name: "brief", window: `${WINDOW_MS}ms`, shared: true },
  ],
});
const { simulator } = gateways;
const member = gateways.member(0);
const names = { "own-1": "own", "own-2": "own", "pool-1": "pool", "pool-2": "pool", brief: "brief", late: "brief" };
const keys = await mintKeys(gateways, names);

function ask(name: keyof typeof names, model = "sim-1") {
  const key = keys.find((each) => each.name === name) ?? assert.fail();
  return call(makePlan({ shape: "chat", streams: false, model, random }), { member, key, simulator });
}

test("each key has its own allowance and is listed with it", async () => {
  for (const name of ["own-1", "own-2"] as const) {
    for (let count = 1; count <= ROOM; count += 1)
      assert.equal((await ask(name)).end, "completed", `${name}, ${count}`);
    assert.equal((await ask(name)).code, "budget_exhausted");
    const row = await mustHaveRow(member, "own", name);
    assert.deepEqual([row.used, row.remaining, row.status], [ROOM, 0, "refusing"]);
    assert.notEqual(row.bucket, "shared");
  }
});

test("keys that share a budget spend from one bucket", async () => {
  assert.equal((await ask("pool-1")).end, "completed");
  assert.equal((await ask("pool-2")).end, "completed");
  assert.equal((await ask("pool-1")).end, "completed");
  for (const name of ["pool-1", "pool-2"] as const) assert.equal((await ask(name)).code, "budget_exhausted");
  const row = await mustHaveRow(member, "pool");
  assert.deepEqual([row.used, row.bucket, row.key], [ROOM, "shared", null]);
});

test("a bucket is empty again in its next window", async () => {
  await until("the beginning of a window", () => Date.now() % WINDOW_MS < WINDOW_MS / 4, WINDOW_MS);
  for (let count = 1; count <= ROOM; count += 1) assert.equal((await ask("brief")).end, "completed");
  const refused = await ask("brief");
  const seconds = Number(refused.headers?.get("retry-after"));
  assert.equal(refused.code, "budget_exhausted");
  assert.ok(seconds >= 1 && seconds <= WINDOW_MS / 1_000, `retry-after ${seconds}`);
  const { resets_at: resetsAt } = await mustHaveRow(member, "brief");
  await until("the next window", () => Date.now() >= Date.parse(resetsAt), 2 * WINDOW_MS);
  assert.equal((await ask("brief")).end, "completed");
});

test("a request is charged to the window in which it was admitted, even if it ends in the next", async () => {
  const unitsOf = async (): Promise<number> =>
    sumOf(await idle(member.gateway), "gateway_budget_units_total", { budget: "brief" });
  const before = await unitsOf();
  await until("the second half of a window", () => Date.now() % WINDOW_MS > WINDOW_MS / 2, WINDOW_MS);
  const window = Math.floor(Date.now() / WINDOW_MS);
  const called = await ask("late", "sim-slow-2500ms");
  assert.equal(called.end, "completed");
  assert.equal((await unitsOf()) - before, 1);
  assert.equal(Math.floor(Date.now() / WINDOW_MS), window + 1, "the answer came in the window after");
  assert.equal((await rowOn(member, "brief"))?.used ?? 0, 0);
});
