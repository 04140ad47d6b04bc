import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  addUsage,
  averageOf,
  bucketName,
  type CompileCost,
  type CostFunction,
  type CostType,
  type CostVariables,
  compileBudget,
  createAverages,
  estimate,
  expressionCost,
  flatDemand,
  NO_USAGE,
  observeCost,
  type TokenClass,
  tokenCost,
  type Usage,
} from "../../../../src/server/core/budgets/index.ts";

const AT = { model: "large", backend: "alpha" };
const USAGE: Usage = {
  inputTokens: 100,
  outputTokens: 40,
  totalTokens: 140,
  cachedInputTokens: 60,
  cacheCreationInputTokens: 10,
  reasoningTokens: 30,
};
const noCel: CompileCost = () => ({ kind: "invalid", message: "no expressions here" });
const priced = (price: (variables: CostVariables) => number | bigint) =>
  expressionCost((variables) => ({ kind: "value", value: price(variables) }));

test("each type counts its class of tokens", () => {
  const counts: Readonly<Record<TokenClass, number>> = {
    InputToken: 100,
    OutputToken: 40,
    TotalToken: 140,
    CachedInputToken: 60,
    CacheCreationInputToken: 10,
    ReasoningToken: 30,
  };
  for (const [type, units] of Object.entries(counts)) {
    assert.deepEqual(tokenCost(type as TokenClass)(USAGE, AT), { kind: "units", units }, type);
  }
});

test("an expression can read the model, the backend and every count", () => {
  let seen: CostVariables | undefined;
  const cost = priced((variables) => {
    seen = variables;
    return 7n;
  });
  assert.deepEqual(cost(USAGE, AT), { kind: "units", units: 7 });
  assert.deepEqual(seen, {
    model: "large",
    backend: "alpha",
    input_tokens: 100,
    output_tokens: 40,
    total_tokens: 140,
    cached_input_tokens: 60,
    cache_creation_input_tokens: 10,
    reasoning_tokens: 30,
  });
});

test("a cost is rounded up, and a value that is not an amount is an error", () => {
  const rows: readonly (readonly [number | bigint, number | "error"])[] = [
    [0, 0],
    [0.0001, 1],
    [2, 2],
    [2.5, 3],
    [10n, 10],
    [1e12, 1e12],
    [1e12 + 1, "error"],
    [-1, "error"],
    [-1n, "error"],
    [Number.NaN, "error"],
    [Number.POSITIVE_INFINITY, "error"],
  ];
  for (const [value, expected] of rows) {
    const cost = priced(() => value)(USAGE, AT);
    assert.equal(cost.kind === "units" ? cost.units : "error", expected, String(value));
  }
  const failing = expressionCost(() => ({ kind: "error", message: "division by zero" }));
  assert.deepEqual(failing(USAGE, AT), { kind: "error", message: "division by zero" });
});

test("usages add up class by class", () => {
  assert.deepEqual(addUsage(USAGE, NO_USAGE), USAGE);
  assert.equal(addUsage(USAGE, USAGE).reasoningTokens, 60);
  assert.equal(addUsage(USAGE, USAGE).totalTokens, 280);
});

const tokens = (costType: TokenClass, limit = 10_000) => ({ costType, cost: tokenCost(costType), limit });
const expression = (cost: CostFunction) => ({ costType: "CEL" as const, cost, limit: 1e12 });
const demandOf = (...args: Parameters<typeof estimate>) => {
  const result = estimate(...args);
  assert.equal(result.kind, "demand");
  return result.kind === "demand" ? result.demand : flatDemand(0);
};

test("a request's bound is reserved until an average is known, and at least one unit afterwards", () => {
  const bounds = { input: 100, output: 400, hasOutputLimit: true };
  const total = tokens("TotalToken");
  assert.deepEqual(demandOf(total, AT, bounds, undefined), { hard: 500, soft: 500 });
  assert.deepEqual(demandOf(total, AT, bounds, 120.2), { hard: 500, soft: 121 });
  assert.deepEqual(demandOf(total, AT, bounds, 0), { hard: 500, soft: 1 });
  assert.deepEqual(demandOf(total, AT, bounds, 9_000), { hard: 500, soft: 500 });
  assert.deepEqual(demandOf(tokens("OutputToken"), AT, bounds, undefined), { hard: 400, soft: 400 });
  assert.deepEqual(demandOf(tokens("ReasoningToken"), AT, bounds, undefined), { hard: 400, soft: 400 });
  assert.deepEqual(demandOf(tokens("CachedInputToken"), AT, bounds, undefined), { hard: 100, soft: 100 });
  assert.deepEqual(demandOf(tokens("CacheCreationInputToken"), AT, bounds, undefined), { hard: 100, soft: 100 });
});

test("a request without stated output reserves at most the whole budget, and one with it what it states", () => {
  const total = tokens("TotalToken", 5_000);
  assert.equal(demandOf(total, AT, { input: 10, output: 32_768, hasOutputLimit: false }, undefined).hard, 5_000);
  assert.equal(demandOf(total, AT, { input: 10, output: 32_768, hasOutputLimit: true }, undefined).hard, 32_778);
});

test("a failing expression cannot be estimated", () => {
  const failing = expressionCost(() => ({ kind: "error", message: "no such price" }));
  const result = estimate(expression(failing), AT, { input: 1, output: 1, hasOutputLimit: true }, undefined);
  assert.deepEqual(result, { kind: "error", message: "no such price" });
});

test("the estimate bounds every cost that is linear in the counts, for any usage", () => {
  const price = fc.integer({ min: 0, max: 50 });
  fc.assert(
    fc.property(
      fc.record({ plain: price, cached: price, created: price, output: price, reasoning: price }),
      fc.nat(5_000),
      fc.nat(5_000),
      fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
      fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (prices, input, output, [inputPart, outputPart], [cachedPart, createdPart], reasoningPart) => {
        const cost = priced((of) => {
          const plain = of.input_tokens - of.cached_input_tokens - of.cache_creation_input_tokens;
          return (
            plain * prices.plain +
            of.cached_input_tokens * prices.cached +
            of.cache_creation_input_tokens * prices.created +
            (of.output_tokens - of.reasoning_tokens) * prices.output +
            of.reasoning_tokens * prices.reasoning
          );
        });
        const inputTokens = Math.floor(input * inputPart);
        const outputTokens = Math.floor(output * outputPart);
        const cachedInputTokens = Math.floor(inputTokens * cachedPart);
        const actual = cost(
          {
            inputTokens,
            outputTokens,
            totalTokens: inputTokens + outputTokens,
            cachedInputTokens,
            cacheCreationInputTokens: Math.floor((inputTokens - cachedInputTokens) * createdPart),
            reasoningTokens: Math.floor(outputTokens * reasoningPart),
          },
          AT,
        );
        const { hard } = demandOf(expression(cost), AT, { input, output, hasOutputLimit: true }, undefined);
        assert.ok(actual.kind === "units" && actual.units <= hard);
      },
    ),
    { numRuns: 500 },
  );
});

test("an average begins with the first cost, follows later ones, and exists for a bounded number of keys", () => {
  const averages = createAverages();
  assert.equal(averageOf(averages, "team/large"), undefined);
  observeCost(averages, "team/large", 160);
  assert.equal(averageOf(averages, "team/large"), 160);
  observeCost(averages, "team/large", 0);
  assert.equal(averageOf(averages, "team/large"), 150);
  for (let n = 0; n < 10_000; n += 1) observeCost(averages, `team/${n}`, 1);
  assert.equal(averageOf(averages, "team/large"), undefined);
  assert.equal(averages.byKey.size, 10_000);
});

test("a budget of the document is compiled with its window and its price", () => {
  const config = { name: "team", limit: 1_000, window: "12h", shared: true };
  const compiled = compileBudget(config, 4, noCel);
  assert.equal(compiled.kind, "rule");
  if (compiled.kind !== "rule") return;
  const { cost, ...rule } = compiled.rule;
  assert.deepEqual(rule, {
    name: "team",
    isShared: true,
    windowMs: 43_200_000,
    limit: 1_000,
    limitRev: 4,
    costType: "TotalToken",
  });
  assert.deepEqual(cost(USAGE, AT), { kind: "units", units: 140 });
});

test("an expression is compiled through the port; a refused expression or a useless window refuses the budget", () => {
  const cel = { name: "team", limit: 1e15, window: "day", shared: false, cost: { type: "CEL" as CostType, cel: "1" } };
  const compiled = compileBudget(cel, 1, (expression) => ({
    kind: "compiled",
    evaluate: () => ({ kind: "value", value: BigInt(expression) }),
  }));
  assert.equal(compiled.kind, "rule");
  assert.deepEqual(compiled.kind === "rule" ? compiled.rule.cost(USAGE, AT) : undefined, { kind: "units", units: 1 });
  assert.equal(compiled.kind === "rule" ? compiled.rule.limit : 0, 1e12);
  assert.deepEqual(compileBudget(cel, 1, noCel), { kind: "invalid", key: "cost", message: "no expressions here" });
  const short = compileBudget({ ...cel, window: "10ms" }, 1, noCel);
  assert.equal(short.kind === "invalid" ? short.key : "", "window");
});

test("a bucket is named by its budget, and by its payer unless it is shared; names never collide", () => {
  assert.equal(bucketName("team", true, "k1"), "b/team");
  assert.equal(bucketName("team", false, "k1"), "b/team/k/k1");
  assert.notEqual(bucketName("a/k/b", true, ""), bucketName("a", false, "b"));
  fc.assert(
    fc.property(fc.tuple(fc.string(), fc.string()), fc.tuple(fc.string(), fc.string()), ([a, b], [c, d]) => {
      assert.equal(bucketName(a, false, b) === bucketName(c, false, d), a === c && b === d);
      assert.notEqual(bucketName(a, true, ""), bucketName(c, false, d));
    }),
  );
});
