/**
 * A request is charged the same, streamed and whole, in every class of tokens and on every route that reports usage;
 * and a client that disconnects during a stream pays for it. Source: lessons P12 and P13; design decisions, section 6.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createRandom } from "../../cluster/support/random.ts";
import { assertWithin, boundsOf } from "./support/accounts.ts";
import { call } from "./support/calls.ts";
import { mintKeys, SEED } from "./support/load.ts";
import { LONG_WINDOW, startBudgeted } from "./support/members.ts";
import { makePlan, type Plan, type Shape } from "./support/plans.ts";
import { settledUse } from "./support/rows.ts";

const CLASSES = [
  "InputToken",
  "OutputToken",
  "TotalToken",
  "CachedInputToken",
  "CacheCreationInputToken",
  "ReasoningToken",
];
const SHAPES: readonly Shape[] = ["chat", "completions", "responses", "messages"];

const file = { after };
const random = createRandom(SEED);
const gateways = await startBudgeted(file, {
  budgets: CLASSES.map((type) => ({ name: type, cost: { type }, limit: 1_000_000, window: LONG_WINDOW, shared: true })),
});
const { members, simulator } = gateways;
const member = gateways.member(0);
const keys = await mintKeys(gateways, Object.fromEntries(CLASSES.map((type) => [type, type])));

/** A request with thinking and a cacheable part, if the dialect has them. */
function richPlan(shape: Shape, streams: boolean, model: string): Plan {
  const plan = makePlan({ shape, streams, model, random });
  const text = "what a rich question this is";
  const rich = {
    chat: { messages: [{ role: "user", content: text }], reasoning_effort: "low", n: 1 },
    completions: { prompt: text, n: 1 },
    responses: { input: text, reasoning: { effort: "low" } },
    messages: {
      thinking: { type: "enabled", budget_tokens: 1_024 },
      messages: [{ role: "user", content: [{ type: "text", text, cache_control: { type: "ephemeral" } }] }],
    },
    embeddings: {},
  };
  return { ...plan, body: { ...plan.body, ...rich[shape] } };
}

for (const shape of SHAPES) {
  test(`${shape}: a streamed request and a whole one are charged the same in every class`, async (t) => {
    const entries: Record<string, readonly number[]> = {};
    for (const [at, key] of keys.entries()) {
      const charged: number[] = [];
      let before = await settledUse(members, key.name);
      for (const streams of [false, true]) {
        // Uses a model of its own, since the second request would otherwise find the first one's prefix in the cache.
        const plan = richPlan(shape, streams, `sim-long-20:${shape}-${streams}-${at}`);
        const called = await call(plan, { member, key, simulator });
        assert.equal(called.end, "completed", JSON.stringify(called));
        const used = await settledUse(members, key.name);
        charged.push(used - before);
        before = used;
      }
      entries[key.name] = charged;
    }
    t.diagnostic(JSON.stringify(entries));
    for (const [type, [whole, streamed]] of Object.entries(entries))
      assert.equal(streamed, whole, `${type} of ${shape}`);
    const of = (type: string): number => entries[type]?.[0] ?? 0;
    assert.equal(of("TotalToken"), of("InputToken") + of("OutputToken"));
    assert.ok(of("InputToken") > 0 && of("OutputToken") >= 20);
    if (shape !== "completions") assert.ok(of("ReasoningToken") > 0, "it thought");
    if (shape === "messages") assert.ok(of("CacheCreationInputToken") > 0, "it was cached");
  });

  for (const model of ["sim-slow-stream-30ms", "sim-long-5000"]) {
    test(`${shape}: a client that disconnects during a stream of ${model} is charged, and no more than the request could cost`, async (t) => {
      const key = keys.find(({ name }) => name === "TotalToken") ?? assert.fail();
      const before = await settledUse(members, key.name);
      const plan = makePlan({ shape, streams: true, model: `${model}:${shape}`, leaving: "within the answer", random });
      const called = await call(plan, { member, key, simulator });
      assert.equal(called.end, "left");
      const charged = (await settledUse(members, key.name)) - before;
      const bounds = boundsOf(called, simulator.counts());
      t.diagnostic(`charged ${charged}, bounds ${bounds.lower} to ${bounds.upper}`);
      assert.ok(charged > 0);
      assertWithin(charged, bounds, shape);
    });
  }
}
