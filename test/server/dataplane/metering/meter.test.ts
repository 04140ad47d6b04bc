/** The charge of a request, by its outcome and its answer's usage. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createUsageMetrics } from "../../../../src/server/dataplane/metering/index.ts";
import {
  answer,
  CHAT,
  chatUsage,
  events,
  headers,
  JSON_ANSWER,
  MAYBE,
  MESSAGES,
  metered,
  RESERVED,
  STREAM,
  show,
} from "./support.ts";

const UNARY = JSON.stringify({ choices: [{ message: { content: "hi" } }], usage: chatUsage(30, 12) });
const STREAMED = events(
  { choices: [{ delta: { content: "hi" } }] },
  { choices: [], usage: chatUsage(30, 12) },
  "[DONE]",
);
const MESSAGE = JSON.stringify({ content: [], usage: { input_tokens: 30, output_tokens: 12 } });
const MESSAGE_STREAM = events(
  { type: "message_start", message: { usage: { input_tokens: 30, output_tokens: 1 } } },
  { type: "content_block_delta", delta: { type: "text_delta", text: "hi" } },
  { type: "message_delta", delta: {}, usage: { output_tokens: 12 } },
  { type: "message_stop" },
);

for (const [name, options, head, body] of [
  ["a compat answer", { route: CHAT }, JSON_ANSWER, UNARY],
  ["a compat stream", { route: CHAT }, STREAM, STREAMED],
  ["a messages answer", { route: MESSAGES }, JSON_ANSWER, MESSAGE],
  ["a messages stream", { route: MESSAGES }, STREAM, MESSAGE_STREAM],
] as const) {
  test(`${name} is charged its reported usage and counted alike`, async () => {
    const { meter, charge, spent, counted, tokens, missing } = await metered(options);
    answer(meter, 200, head, body, options.route === MESSAGES ? "messages" : "compat");
    meter.close();
    meter.close();
    assert.equal(charge?.spent, 42);
    assert.deepEqual(spent, [["p", 42]]);
    assert.deepEqual([tokens("input"), tokens("output"), missing()], [30, 12, 0]);
    const [one, ...more] = counted;
    assert.deepEqual([one?.provider, one?.model, one?.totalTokens, more.length], ["p", "gpt-x", 42, 0]);
  });
}

test("a request without a payer is counted all the same", async () => {
  const { meter, charge, spent, tokens } = await metered({ pays: false });
  answer(meter, 200, JSON_ANSWER, UNARY);
  meter.close();
  assert.equal(charge, undefined);
  assert.deepEqual([tokens("input"), tokens("output")], [30, 12]);
  assert.deepEqual(spent, []);
});

test("cached, newly cached and reasoning tokens are counted as parts", async () => {
  const { meter, tokens } = await metered();
  const usage = {
    ...chatUsage(100, 50),
    prompt_tokens_details: { cached_tokens: 60 },
    completion_tokens_details: { reasoning_tokens: 20 },
  };
  answer(meter, 200, JSON_ANSWER, JSON.stringify({ usage }));
  meter.close();
  const kinds = ["input", "cached_input", "cache_creation_input", "output", "reasoning"];
  assert.deepEqual(
    kinds.map((kind) => tokens(kind)),
    [100, 60, 0, 50, 20],
  );
});

test("an answer without its expected usage is charged its reservation and counted as missing", async () => {
  for (const [head, body] of [
    [JSON_ANSWER, JSON.stringify({ choices: [] })],
    [JSON_ANSWER, "no json"],
    [headers({ "content-type": "text/plain" }), "hi"],
    [headers({ "content-type": "application/json", "content-encoding": "gzip" }), UNARY],
    [STREAM, events({ choices: [{ delta: {} }] }, "[DONE]")],
  ] as const) {
    const { meter, charge, missing, counted } = await metered();
    answer(meter, 200, head, body);
    meter.close();
    assert.equal(charge?.spent, RESERVED);
    assert.deepEqual([missing(), counted.length], [1, 0]);
  }
});

test("a stream that ends without its last count is charged its reported usage and counted as missing", async () => {
  const { meter, charge, missing } = await metered({ route: MESSAGES });
  answer(meter, 200, STREAM, events({ type: "message_start", message: { usage: { input_tokens: 30 } } }), "messages");
  meter.close();
  assert.deepEqual([charge?.spent, missing()], [30, 1]);
});

test("an answer with optional usage is charged what it reports, and nothing without a report", async () => {
  const silent = await metered({ route: MAYBE, isUnknown: true });
  answer(silent.meter, 200, JSON_ANSWER, JSON.stringify({ object: "list" }));
  silent.meter.close();
  assert.deepEqual([silent.charge?.spent, silent.missing()], [0, 0]);
  const result = await metered({ route: MAYBE, isUnknown: true });
  answer(result.meter, 200, JSON_ANSWER, UNARY);
  result.meter.close();
  assert.equal(result.charge?.spent, 42);
});

const whole = (usage: unknown): string => JSON.stringify({ choices: [{ message: { content: "hi" } }], usage });
/** JSON has numbers that JavaScript cannot write. */
const HUGE = '{"choices":[],"usage":{"prompt_tokens":1e308,"completion_tokens":1e999,"total_tokens":9007199254740993}}';

for (const [what, head, body, units] of [
  [
    "an excessive total",
    JSON_ANSWER,
    whole({ prompt_tokens: 3, completion_tokens: 2, total_tokens: 2 ** 53 }),
    RESERVED,
  ],
  ["numbers too large for a double", JSON_ANSWER, HUGE, RESERVED],
  ["a negative count next to a large one", JSON_ANSWER, whole({ prompt_tokens: 1_200, completion_tokens: -5 }), 1_200],
  ["a count in words", JSON_ANSWER, whole({ prompt_tokens: "twelve", completion_tokens: 2 }), RESERVED],
  [
    "a stream whose last count is negative",
    STREAM,
    events({ choices: [], usage: { total_tokens: -1_200 } }, "[DONE]"),
    RESERVED,
  ],
] as const) {
  test(`${what} is charged at least its reservation, counted, and logged`, async () => {
    const { meter, charge, doubted, missing, warnings } = await metered();
    answer(meter, 200, head, body);
    meter.close();
    assert.equal(charge?.spent, units);
    assert.deepEqual([doubted("impossible"), missing()], [1, 0]);
    assert.deepEqual(warnings, [{ provider: "p", route: "chat_completions", doubt: "impossible", more: 0 }]);
  });
}

test("an answer that reports zero usage is not free if its route reports usage", async () => {
  const flowing = Array.from({ length: 20 }, () => ({ choices: [{ delta: { content: "hi" } }] }));
  for (const [head, body] of [
    [JSON_ANSWER, whole(chatUsage(0, 0))],
    [STREAM, events(...flowing, { choices: [], usage: chatUsage(0, 0) }, "[DONE]")],
  ] as const) {
    const { meter, charge, doubted } = await metered();
    answer(meter, 200, head, body);
    meter.close();
    assert.deepEqual([charge?.spent, doubted("nothing")], [RESERVED, 1]);
  }
  const failed = await metered({ route: { name: "responses", usage: "always" } });
  answer(
    failed.meter,
    200,
    JSON_ANSWER,
    JSON.stringify({ status: "failed", usage: { input_tokens: 0, output_tokens: 0 } }),
  );
  failed.meter.close();
  assert.deepEqual([failed.charge?.spent, failed.doubted("nothing")], [0, 0]);
});

test("usage reported by a stream cannot be taken back by a later report", async () => {
  for (const later of [chatUsage(0, 0), chatUsage(5, 0), { total_tokens: 0 }]) {
    const { meter, charge, doubted } = await metered();
    answer(
      meter,
      200,
      STREAM,
      events({ choices: [{}], usage: chatUsage(1_000, 200) }, { choices: [], usage: later }, "[DONE]"),
    );
    meter.close();
    assert.deepEqual([charge?.spent, doubted("shrank")], [1_200, 1]);
  }
  const { meter, charge } = await metered({ route: MESSAGES });
  const start = { type: "message_start", message: { usage: { input_tokens: 900, output_tokens: 1 } } };
  answer(
    meter,
    200,
    STREAM,
    events(start, { type: "message_delta", usage: { input_tokens: 0, output_tokens: 300 } }),
    "messages",
  );
  meter.close();
  assert.equal(charge?.spent, 1_200);
});

test("a client that leaves a stream with impossible counts is charged its reservation", async () => {
  const { meter, charge, doubted } = await metered();
  meter.beginAttempt({ name: "p" }, "gpt-x", "compat");
  show(meter, 200, STREAM, events({ choices: [{}], usage: { prompt_tokens: 3, completion_tokens: -3 } }));
  meter.endAttempt("abandoned");
  meter.close();
  assert.deepEqual([charge?.spent, doubted("impossible")], [RESERVED, 1]);
});

test("the log mentions a provider once a minute, with the number of suppressed lines", async () => {
  const { meter, node, warnings } = await metered();
  meter.close();
  const lines: unknown[] = [];
  let now = 0;
  const metrics = createUsageMetrics(
    node.instruments,
    { warn: (_, { provider, more } = {}) => lines.push([provider, more]) },
    () => now,
  );
  for (; now < 125_000; now += 1_000) metrics.countDoubt("p", "messages", "shrank");
  metrics.countDoubt("q", "messages", "nothing");
  assert.deepEqual(lines, [
    ["p", 0],
    ["p", 59],
    ["p", 59],
    ["q", 0],
  ]);
  assert.deepEqual(warnings, []);
});

test("an answer that is a refusal costs nothing", async () => {
  for (const status of [400, 404, 429, 500]) {
    const { meter, charge, missing } = await metered();
    meter.beginAttempt({ name: "p" }, "gpt-x", "compat");
    show(meter, status, JSON_ANSWER, JSON.stringify({ error: { message: "no" } }));
    meter.endAnswer();
    meter.endAttempt(status === 429 ? "429" : status >= 500 ? "5xx" : "answered");
    meter.close();
    assert.deepEqual([charge?.spent, missing()], [0, 0]);
  }
});

test("a request without an attempt, or whose attempts all failed, costs nothing", async () => {
  const none = await metered();
  none.meter.close();
  assert.equal(none.charge?.spent, 0);
  const failed = await metered();
  for (const trigger of ["connect", "timeout", "5xx", "429"] as const) {
    failed.meter.beginAttempt({ name: "p" }, "gpt-x", "compat");
    failed.meter.endAttempt(trigger);
  }
  failed.meter.close();
  assert.deepEqual([failed.charge?.spent, failed.spent.length, failed.missing()], [0, 0, 0]);
});

test("a failed-over request is charged by the provider that answered", async () => {
  const { meter, charge, spent, tokens } = await metered();
  meter.beginAttempt({ name: "first" }, "gpt-x", "compat");
  meter.endAttempt("5xx");
  answer(meter, 200, JSON_ANSWER, UNARY);
  meter.close();
  assert.equal(charge?.spent, 42);
  assert.deepEqual(spent, [["p", 42]]);
  assert.deepEqual([tokens("input", "first"), tokens("input")], [0, 30]);
});

test("a broken stream and a client that disconnects are charged the known usage, else the reservation", async () => {
  const START_ONLY = events({ type: "message_start", message: { usage: { input_tokens: 30, output_tokens: 1 } } });
  const NOTHING = events({ type: "ping" });
  for (const [body, units] of [
    [START_ONLY, 31],
    [NOTHING, RESERVED],
  ] as const) {
    for (const end of ["broken", "abandoned", "fault"] as const) {
      const { meter, charge, spent, missing } = await metered({ route: MESSAGES });
      meter.beginAttempt({ name: "p" }, "claude-x", "messages");
      show(meter, 200, STREAM, body);
      if (end === "broken") meter.breakAnswer();
      if (end !== "fault") meter.endAttempt(end === "broken" ? "answered" : "abandoned");
      meter.close();
      assert.equal(charge?.spent, units, end);
      assert.deepEqual([spent, missing()], [[["p", units]], 0]);
    }
  }
});

test("a client that leaves a stream without usage is charged a token per event if that is more than its reservation", async () => {
  for (const [events, charged] of [
    [100, RESERVED],
    [RESERVED + 300, RESERVED + 300 - 8],
  ] as const) {
    const { meter, charge } = await metered();
    meter.beginAttempt({ name: "p" }, "gpt-x", "compat");
    meter.beginAnswer(200, STREAM);
    meter.countEvents(events - 1);
    meter.readEvent('{"choices":[]}');
    meter.endAttempt("abandoned");
    meter.close();
    assert.equal(charge?.spent, charged);
  }
});

test("a client that leaves before the answer is charged its reservation, and later its reported usage", async () => {
  const before = await metered();
  before.meter.beginAttempt({ name: "p" }, "gpt-x", "compat");
  before.meter.endAttempt("abandoned");
  before.meter.close();
  assert.equal(before.charge?.spent, RESERVED);
  const after = await metered();
  after.meter.beginAttempt({ name: "p" }, "gpt-x", "compat");
  show(after.meter, 200, JSON_ANSWER, UNARY);
  after.meter.endAnswer();
  after.meter.endAttempt("abandoned");
  after.meter.close();
  assert.equal(after.charge?.spent, 42);
});

test("a client that leaves between two attempts is charged nothing for the failed ones", async () => {
  const { meter, charge } = await metered();
  meter.beginAttempt({ name: "p" }, "gpt-x", "compat");
  meter.endAttempt("429");
  meter.close();
  assert.equal(charge?.spent, 0);
});

test("a stream is charged as it flows, at the first count and then after enough growth", async () => {
  const { meter, charge } = await metered({ route: MESSAGES });
  meter.beginAttempt({ name: "p" }, "claude-x", "messages");
  meter.beginAnswer(200, STREAM);
  const seen: (number | undefined)[] = [];
  const record = (event: unknown): void => {
    meter.readEvent(JSON.stringify(event));
    seen.push(charge?.spent);
  };
  record({ type: "message_start", message: { usage: { input_tokens: 100, output_tokens: 1 } } });
  record({ type: "message_delta", usage: { output_tokens: 200 } });
  record({ type: "message_delta", usage: { output_tokens: 257 } });
  record({ type: "message_delta", usage: { output_tokens: 300 } });
  assert.deepEqual(seen, [101, 101, 357, 357]);
  meter.endAnswer();
  meter.endAttempt("answered");
  meter.close();
  assert.equal(charge?.spent, 400);
});

test("usage is read only from answers of a metered attempt", async () => {
  const { meter } = await metered();
  assert.equal(meter.beginAnswer(200, JSON_ANSWER), "nothing");
  meter.beginAttempt({ name: "p" }, "gpt-x", "compat");
  assert.equal(meter.beginAnswer(200, JSON_ANSWER), "bytes");
  assert.equal(meter.beginAnswer(200, STREAM), "events");
  assert.equal(meter.beginAnswer(404, JSON_ANSWER), "bytes");
  assert.equal(meter.beginAnswer(200, headers({ "content-type": "audio/mpeg" })), "nothing");
  const encoded = { "content-type": "text/event-stream", "content-encoding": "br" };
  assert.equal(meter.beginAnswer(200, headers(encoded)), "nothing");
  assert.equal(meter.beginAnswer(200, headers({ ...encoded, "content-encoding": "identity" })), "events");
  meter.close();
});
