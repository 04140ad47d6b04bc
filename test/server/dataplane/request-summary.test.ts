/** Summary of a finished request: no more than is displayed, and nothing that keeps a long text in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type RequestEnd,
  RequestFacts,
  type RequestSummary,
  summarize,
} from "../../../src/server/dataplane/request-summary.ts";
import { createNewestRows } from "../../../src/server/usage/index.ts";

const ENDING: RequestEnd = {
  at: 1_000,
  requestId: "r-1",
  caller: undefined,
  route: "chat_completions",
  provider: "acme",
  status: 200,
  code: "",
  attempts: 1,
  firstByteMs: 2,
  totalMs: 3,
  guardrails: "",
  urlLength: 20,
};

const factsOf = (facts: Partial<RequestFacts>): RequestFacts => Object.assign(new RequestFacts(), facts);

test("names are truncated to their displayed length", () => {
  const { model, route } = summarize(factsOf({ model: "m".repeat(1_024), method: "x".repeat(9_000) }), ENDING);
  assert.ok(model?.startsWith("mmm") && model.length <= 129);
  assert.ok(route.length <= 129);
});

test("usage of all attempts is one sum, and missing usage is not zero usage", () => {
  const facts = new RequestFacts();
  assert.equal(summarize(facts, ENDING).inputTokens, undefined);
  const usage = { cachedInputTokens: 0, cacheCreationInputTokens: 0, reasoningTokens: 0 };
  facts.addUsage({ ...usage, inputTokens: 3, outputTokens: 5, totalTokens: 8 });
  facts.addUsage({ ...usage, inputTokens: 4, outputTokens: 0, totalTokens: 4 });
  const { inputTokens, outputTokens } = summarize(facts, ENDING);
  assert.deepEqual([inputTokens, outputTokens], [7, 5]);
});

test("a refusal takes precedence over acting rules, and these over the rule that allowed the request", () => {
  const by = { kind: "budget", name: "day" } as const;
  const acted = { ...ENDING, guardrails: "cards=redact" };
  assert.deepEqual(summarize(factsOf({ refusedBy: by, allowedBy: "eu" }), acted).decidedBy, by);
  assert.deepEqual(summarize(factsOf({ allowedBy: "eu" }), acted).decidedBy, {
    kind: "guardrail",
    name: "cards=redact",
  });
  assert.deepEqual(summarize(factsOf({ allowedBy: "eu" }), ENDING).decidedBy, { kind: "rule", name: "eu" });
  assert.equal(summarize(new RequestFacts(), ENDING).decidedBy, undefined);
});

test("a row costs its request less than a microsecond", (t) => {
  const newest = createNewestRows<RequestSummary>(2_000, ({ at, totalMs }) => at + totalMs);
  const facts = factsOf({ model: "sim-1", hop: "llm" });
  const run = (count: number): number => {
    const begunAt = performance.now();
    for (let done = 0; done < count; done += 1) newest.add(summarize(facts, { ...ENDING, at: done }));
    return ((performance.now() - begunAt) * 1_000) / count;
  };
  run(50_000);
  const best = Math.min(...Array.from({ length: 7 }, () => run(50_000)));
  t.diagnostic(`${(best * 1_000).toFixed(0)} ns a request`);
  assert.ok(best < 1, `${best} us`);
});
