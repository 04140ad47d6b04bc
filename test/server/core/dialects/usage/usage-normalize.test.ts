import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { isDoubtful, normalizeUsage, type Usage } from "../../../../../src/server/core/dialects/index.ts";

const usage = (some: Partial<Usage>): Usage => ({
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cachedInputTokens: 0,
  cacheCreationInputTokens: 0,
  reasoningTokens: 0,
  ...some,
});

test("each form of the compat dialect has one meaning, with cached tokens inside the input", () => {
  const cases: readonly (readonly [string, unknown, Usage | undefined])[] = [
    [
      "chat completions",
      {
        prompt_tokens: 20,
        completion_tokens: 5,
        total_tokens: 25,
        prompt_tokens_details: { cached_tokens: 12, cache_write_tokens: 3, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 2, audio_tokens: 0 },
      },
      usage({
        inputTokens: 20,
        outputTokens: 5,
        totalTokens: 25,
        cachedInputTokens: 12,
        cacheCreationInputTokens: 3,
        reasoningTokens: 2,
      }),
    ],
    ["embeddings", { prompt_tokens: 7, total_tokens: 7 }, usage({ inputTokens: 7, totalTokens: 7 })],
    ["a reranker that tells its total alone", { total_tokens: 7 }, usage({ inputTokens: 7, totalTokens: 7 })],
    [
      "responses",
      {
        input_tokens: 20,
        input_tokens_details: { cached_tokens: 12, cache_write_tokens: 0 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 4 },
        total_tokens: 25,
      },
      usage({ inputTokens: 20, outputTokens: 5, totalTokens: 25, cachedInputTokens: 12, reasoningTokens: 4 }),
    ],
    [
      "realtime",
      {
        total_tokens: 30,
        input_tokens: 20,
        output_tokens: 10,
        input_token_details: { text_tokens: 5, audio_tokens: 15, image_tokens: 0, cached_tokens: 8 },
        output_token_details: { text_tokens: 2, audio_tokens: 8 },
      },
      usage({ inputTokens: 20, outputTokens: 10, totalTokens: 30, cachedInputTokens: 8 }),
    ],
    [
      "images",
      { input_tokens: 5, output_tokens: 100, total_tokens: 105, input_tokens_details: { text_tokens: 5 } },
      usage({ inputTokens: 5, outputTokens: 100, totalTokens: 105 }),
    ],
    [
      "a transcription by tokens",
      {
        type: "tokens",
        input_tokens: 14,
        output_tokens: 45,
        total_tokens: 59,
        input_token_details: { text_tokens: 0 },
      },
      usage({ inputTokens: 14, outputTokens: 45, totalTokens: 59 }),
    ],
    ["a transcription by duration", { type: "duration", seconds: 9 }, undefined],
    [
      "no total",
      { prompt_tokens: 3, completion_tokens: 4 },
      usage({ inputTokens: 3, outputTokens: 4, totalTokens: 7 }),
    ],
    [
      "a total of more than is named",
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 30 },
      usage({ inputTokens: 10, outputTokens: 20, totalTokens: 30, reasoningTokens: 15 }),
    ],
    [
      "a total of less than is named",
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 0 },
      usage({ inputTokens: 10, outputTokens: 5, totalTokens: 15 }),
    ],
  ];
  for (const [name, value, expected] of cases) assert.deepEqual(normalizeUsage("compat", value), expected, name);
});

test("reasoning counted beside the completion, as the total shows, is part of the output", () => {
  const xai = {
    prompt_tokens: 10_120,
    completion_tokens: 1_499,
    total_tokens: 14_428,
    prompt_tokens_details: { cached_tokens: 128 },
    completion_tokens_details: { reasoning_tokens: 2_809 },
  };
  assert.deepEqual(
    normalizeUsage("compat", xai),
    usage({
      inputTokens: 10_120,
      outputTokens: 4_308,
      totalTokens: 14_428,
      cachedInputTokens: 128,
      reasoningTokens: 2_809,
    }),
  );
});

test("what a total has beyond input and output is the cache if that explains it, otherwise hidden output", () => {
  const counts = { prompt_tokens: 8, completion_tokens: 5 };
  const cache = { prompt_tokens_details: { cached_tokens: 1_000, cache_write_tokens: 20 } };
  const thought = { completion_tokens_details: { reasoning_tokens: 30 } };
  const cases: readonly (readonly [object, Partial<Usage>])[] = [
    [
      { ...counts, total_tokens: 43, ...thought },
      { inputTokens: 8, outputTokens: 35, reasoningTokens: 30 },
    ],
    [
      { ...counts, total_tokens: 60, ...thought },
      { inputTokens: 8, outputTokens: 52, reasoningTokens: 30 },
    ],
    [
      { ...counts, total_tokens: 1_033, ...cache },
      { inputTokens: 1_028, outputTokens: 5, cachedInputTokens: 1_000, cacheCreationInputTokens: 20 },
    ],
    [
      { ...counts, total_tokens: 1_063, ...cache, ...thought },
      {
        inputTokens: 1_028,
        outputTokens: 35,
        cachedInputTokens: 1_000,
        cacheCreationInputTokens: 20,
        reasoningTokens: 30,
      },
    ],
    // A count of reasoning that equals the cached part of the input is still reasoning.
    [
      {
        ...{ prompt_tokens: 40, completion_tokens: 5, total_tokens: 75, ...thought },
        prompt_tokens_details: { cached_tokens: 30 },
      },
      { inputTokens: 40, outputTokens: 35, cachedInputTokens: 30, reasoningTokens: 30 },
    ],
    [
      { ...counts, total_tokens: 1e12 },
      { inputTokens: 8, outputTokens: 1e12 - 8, reasoningTokens: 1e12 - 13 },
    ],
  ];
  for (const [value, expected] of cases) {
    const { inputTokens = 0, outputTokens = 0 } = expected;
    const whole = usage({ ...expected, totalTokens: inputTokens + outputTokens });
    assert.deepEqual(normalizeUsage("compat", value), whole, JSON.stringify(value));
  }
});

test("a count that is written as text or as a fraction is that count, rounded up", () => {
  for (const twelve of ["12", "12.0", "0012", 12.0, 11.2, "11.5"]) {
    for (const dialect of ["compat", "messages"] as const) {
      const value = { input_tokens: twelve, output_tokens: twelve };
      const expected = usage({ inputTokens: 12, outputTokens: 12, totalTokens: 24 });
      assert.deepEqual(normalizeUsage(dialect, value), expected, `${dialect} ${twelve}`);
      assert.equal(isDoubtful(dialect, value), false, `${dialect} ${twelve}`);
    }
    const details = {
      ...{ prompt_tokens: "20", completion_tokens: "15", total_tokens: "35" },
      prompt_tokens_details: { cached_tokens: twelve },
      completion_tokens_details: { reasoning_tokens: twelve },
    };
    const found = normalizeUsage("compat", details);
    assert.deepEqual([found?.cachedInputTokens, found?.reasoningTokens, found?.totalTokens], [12, 12, 35]);
    const thought = { output_tokens: 20, output_tokens_details: { thinking_tokens: twelve } };
    assert.equal(normalizeUsage("messages", thought)?.reasoningTokens, 12);
  }
});

test("the counts of a reranker are those that it processed, or that it billed if it reports no others", () => {
  const input = { input_tokens: 12, output_tokens: 0 };
  const none = { input_tokens: 0, output_tokens: 0 };
  const twelve = usage({ inputTokens: 12, totalTokens: 12 });
  const cases: readonly (readonly [object, Usage | undefined])[] = [
    [{ tokens: input }, twelve],
    [{ tokens: input, billed_units: { input_tokens: 7 } }, twelve],
    [{ tokens: null, billed_units: input }, twelve],
    [{ tokens: none, billed_units: input }, twelve],
    [{ billed_units: { input_tokens: 12.0 } }, twelve],
    [{ billed_units: { total_tokens: 12 } }, twelve],
    [{ tokens: none, billed_units: { search_units: 1 } }, usage({})],
    [{ billed_units: { search_units: 1 } }, undefined],
    [{ api_version: { version: "2" }, tokens: [], billed_units: "none" }, undefined],
  ];
  for (const [value, expected] of cases) assert.deepEqual(normalizeUsage("compat", value), expected);
  assert.equal(isDoubtful("compat", { tokens: { input_tokens: -1 } }), true);
  assert.equal(isDoubtful("compat", { billed_units: { search_units: 0.5 } }), false);
});

test("the messages dialect counts its cache beside the input, and the input is the sum", () => {
  const value = {
    input_tokens: 8,
    cache_creation_input_tokens: 3,
    cache_read_input_tokens: 12,
    cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { thinking_tokens: 2 },
    server_tool_use: { web_search_requests: 0 },
    service_tier: "standard",
    inference_geo: null,
  };
  assert.deepEqual(
    normalizeUsage("messages", value),
    usage({
      inputTokens: 23,
      outputTokens: 5,
      totalTokens: 28,
      cachedInputTokens: 12,
      cacheCreationInputTokens: 3,
      reasoningTokens: 2,
    }),
  );
});

test("cache counts under the names of the messages dialect are not added to a compat input", () => {
  const value = {
    prompt_tokens: 1_000,
    completion_tokens: 10,
    total_tokens: 1_010,
    cache_read_input_tokens: 800,
    cache_creation_input_tokens: 100,
    input_tokens: 100,
    output_tokens: 10,
  };
  const expected = usage({
    inputTokens: 1_000,
    outputTokens: 10,
    totalTokens: 1_010,
    cachedInputTokens: 800,
    cacheCreationInputTokens: 100,
  });
  assert.deepEqual(normalizeUsage("compat", value), expected);
  const both = { ...value, prompt_tokens_details: { cached_tokens: 800, cache_write_tokens: 100 } };
  assert.deepEqual(normalizeUsage("compat", both), expected);
});

test("cache counts of a compat answer are found under the names and in the places that hosts have for them", () => {
  const counts = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  for (const cached of ["cached_tokens", "num_cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"]) {
    for (const written of ["cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens"]) {
      const parts = { [cached]: 70, [written]: 20 };
      for (const value of [
        { ...counts, ...parts },
        { ...counts, prompt_tokens_details: parts },
        { ...counts, prompt_token_details: parts },
      ]) {
        const found = normalizeUsage("compat", value);
        assert.deepEqual(
          [found?.inputTokens, found?.cachedInputTokens, found?.cacheCreationInputTokens, found?.totalTokens],
          [100, 70, 20, 110],
          JSON.stringify(value),
        );
      }
    }
  }
});

test("model calls that the usage of a message leaves out are added, and those that it includes are not", () => {
  const value = {
    input_tokens: 10,
    output_tokens: 5,
    cache_read_input_tokens: 2,
    iterations: [
      { type: "message", input_tokens: 6, output_tokens: 2 },
      { type: "compaction", input_tokens: 100, output_tokens: 20, cache_creation_input_tokens: 7 },
      { type: "advisor_message", model: "m", input_tokens: 50, output_tokens: 9, cache_read_input_tokens: 1 },
      { type: "fallback_message", model: "m", input_tokens: 4, output_tokens: 3 },
      { type: "compaction", input_tokens: "x", output_tokens: -1 },
      null,
    ],
  };
  assert.deepEqual(
    normalizeUsage("messages", value),
    usage({
      inputTokens: 170,
      outputTokens: 34,
      totalTokens: 204,
      cachedInputTokens: 3,
      cacheCreationInputTokens: 7,
    }),
  );
  assert.equal(normalizeUsage("messages", { iterations: [] }), undefined);
});

test("a value that is not a count is absent, and a usage without counts is none", () => {
  const hostile = [-1, -0.5, 1e12 + 1, 1e300, Number.NaN, "-5", "5 tokens", "1e3", "", null, true, [5], { valueOf: 5 }];
  for (const value of hostile) {
    assert.equal(normalizeUsage("compat", { prompt_tokens: value, completion_tokens: value }), undefined);
    assert.equal(normalizeUsage("messages", { input_tokens: value, output_tokens: value }), undefined);
    assert.deepEqual(
      normalizeUsage("compat", { prompt_tokens: 4, completion_tokens: value, prompt_tokens_details: value }),
      usage({ inputTokens: 4, totalTokens: 4 }),
    );
  }
  for (const value of [undefined, null, 5, "usage", [], [{ prompt_tokens: 5 }], {}]) {
    assert.equal(normalizeUsage("compat", value), undefined);
    assert.equal(normalizeUsage("messages", value), undefined);
  }
  assert.ok(Object.is(normalizeUsage("compat", JSON.parse('{"prompt_tokens":-0}'))?.inputTokens, 0));
});

test("an impossible count is doubtful anywhere, and an omitted one is not", () => {
  const hostile = [
    -1,
    -0.5,
    1e12 + 1,
    1e300,
    Number.POSITIVE_INFINITY,
    "-5",
    "5 tokens",
    "1e3",
    "",
    true,
    [5],
    { valueOf: 5 },
  ];
  for (const value of hostile) {
    for (const name of ["prompt_tokens", "output_tokens", "total_tokens", "prompt_cache_hit_tokens"]) {
      assert.equal(isDoubtful("compat", { prompt_tokens: 4, [name]: value }), true, `${name} ${String(value)}`);
    }
    assert.equal(isDoubtful("compat", { input_token_details: { cached_tokens: value } }), true);
    assert.equal(isDoubtful("messages", { input_tokens: 4, cache_read_input_tokens: value }), true);
    assert.equal(isDoubtful("messages", { output_tokens_details: { thinking_tokens: value } }), true);
  }
  for (const value of [
    undefined,
    null,
    5,
    "usage",
    [],
    {},
    { prompt_tokens: null },
    { prompt_tokens: 0, cost: "0.1" },
  ]) {
    assert.equal(isDoubtful("compat", value), false);
  }
  assert.equal(isDoubtful("messages", { input_tokens: 1, cache_creation: { ephemeral_5m_input_tokens: -1 } }), false);
});

test("sums saturate at the largest count", () => {
  const most = { input_tokens: 1e12, cache_read_input_tokens: 1e12, output_tokens: 1e12 };
  assert.deepEqual(
    [normalizeUsage("messages", most)?.inputTokens, normalizeUsage("messages", most)?.totalTokens],
    [1e12, 1e12],
  );
});

test("for any provider data, counts are whole and nonnegative, and no part exceeds its total", () => {
  const count = fc.oneof(fc.nat(1_000), fc.constantFrom(1e12, -1, 0.5, null, "3"), fc.jsonValue());
  const details = fc.dictionary(
    fc.constantFrom("cached_tokens", "cache_write_tokens", "reasoning_tokens", "thinking_tokens"),
    count,
  );
  const names = [
    "prompt_tokens",
    "completion_tokens",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "prompt_cache_hit_tokens",
  ];
  const value = fc
    .tuple(fc.dictionary(fc.constantFrom(...names), count), details, details)
    .map(([counts, input, output]) => ({
      ...counts,
      prompt_tokens_details: input,
      output_tokens_details: output,
    }));
  fc.assert(
    fc.property(value, fc.constantFrom("compat" as const, "messages" as const), (input, dialect) => {
      const found = normalizeUsage(dialect, input);
      if (found === undefined) return;
      for (const each of Object.values(found))
        assert.ok(Number.isSafeInteger(each) && each >= 0, JSON.stringify(found));
      assert.ok(found.cachedInputTokens + found.cacheCreationInputTokens <= found.inputTokens);
      assert.ok(found.reasoningTokens <= found.outputTokens);
      assert.ok(found.totalTokens >= Math.min(1e12, found.inputTokens + found.outputTokens));
    }),
    { numRuns: 2_000, verbose: true },
  );
});
