import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { openChunkStream } from "../../../../../src/server/core/dialects/translate/to-compat/chunk-stream.ts";
import { messageToChat } from "../../../../../src/server/core/dialects/translate/to-compat/message-to-chat.ts";
import { AnswerProblem } from "../../../../../src/server/core/dialects/translate/types.ts";
import { compatUsage } from "../../../../../src/server/core/dialects/translate/usage-shape.ts";
import { createStreamUsage } from "../../../../../src/server/core/dialects/usage/usage-stream.ts";
import { BROKEN_STREAMS, STAMP, STREAMS, sseOf, termsOf, trace, translate } from "./to-compat-answer-golden.ts";
import { type Completion, gather, meaningOf } from "./to-compat-answer-meaning.ts";

for (const { row, terms, given, expect, state = "ended" } of STREAMS) {
  test(`a stream is translated: ${row}`, () => {
    const translated = translate([Buffer.from(sseOf(given))], termsOf(terms));
    assert.deepEqual(trace(translated.frames), expect);
    assert.equal(translated.state, state);
  });

  test(`a stream cut at any byte gives the same frames: ${row}`, () => {
    const bytes = Buffer.from(sseOf(given));
    const { frames } = translate([bytes], termsOf(terms));
    for (let at = 1; at < bytes.length; at++) {
      const cut = translate([bytes.subarray(0, at), bytes.subarray(at)], termsOf(terms));
      if (cut.frames !== frames) assert.equal(cut.frames, frames, `cut at byte ${at}`);
    }
    const single = [...bytes].map((_, at) => bytes.subarray(at, at + 1));
    assert.equal(translate(single, termsOf(terms)).frames, frames);
  });

  test(`a stream cut off before its final event has no end: ${row}`, () => {
    for (let count = 0; count < given.length; count++) {
      const { frames, state: reached } = translate([Buffer.from(sseOf(given.slice(0, count)))], termsOf(terms));
      const lines = trace(frames);
      assert.equal(lines.includes("done"), reached === "ended");
      assert.equal(
        lines.some((line) => line.startsWith("finish")),
        reached === "ended",
      );
    }
  });
}

const START = '{"type":"message_start","message":{"id":"msg_01","model":"model-sent","usage":{"input_tokens":8}}}';

test("a chunk has the head of its answer, and has usage only if requested", () => {
  const frame = (usage: string) =>
    'data: {"id":"msg_01","object":"chat.completion.chunk","created":1790000000,"model":"model-asked","choices":' +
    `[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]${usage}}\n\n`;
  assert.equal(openChunkStream(termsOf(), STAMP).translateEvent("message_start", START), frame(""));
  assert.equal(
    openChunkStream(termsOf({ showsUsage: true }), STAMP).translateEvent("message_start", START),
    frame(',"usage":null'),
  );
});

test("every chunk has usage null except the one with the usage, or no chunk has it", () => {
  for (const { given, terms } of STREAMS) {
    for (const showsUsage of [false, true]) {
      const { frames } = translate([Buffer.from(sseOf(given))], termsOf({ ...terms, showsUsage }));
      const chunks = frames.split("\n\n").filter((frame) => frame.startsWith('data: {"id"'));
      for (const frame of chunks) {
        const chunk = JSON.parse(frame.slice("data: ".length)) as { choices: unknown[]; usage?: unknown };
        if (!showsUsage) assert.equal(Object.hasOwn(chunk, "usage"), false);
        else if (chunk.choices.length > 0) assert.equal(chunk.usage, null);
        else assert.equal(typeof chunk.usage, "object");
      }
    }
  }
});

test("the answer's service tier is in each chunk", () => {
  const start = { message: { usage: { service_tier: "standard" } } };
  const frame = openChunkStream(termsOf(), STAMP).translateEvent("message_start", JSON.stringify(start));
  assert.equal((JSON.parse(frame.slice("data: ".length)) as { service_tier: string }).service_tier, "default");
});

test("a stream that ends before its answer is a problem, and a finished one adds nothing", () => {
  const stream = openChunkStream(termsOf(), STAMP);
  assert.throws(() => stream.end(), AnswerProblem);
  stream.translateEvent("message_start", START);
  assert.equal(stream.keepAlive(), ": ping\n\n");
  assert.equal(stream.state, "open");
  assert.throws(() => stream.end(), AnswerProblem);
  assert.deepEqual(trace(stream.translateEvent("message_stop", '{"type":"message_stop"}')), ["finish stop", "done"]);
  assert.equal(stream.state, "ended");
  assert.equal(stream.translateEvent("error", "{}"), "");
  assert.equal(stream.keepAlive(), "");
  assert.equal(stream.end(), "");
});

test("a stream that the provider ended with an error adds nothing", () => {
  for (const data of [
    '{"type":"error","error":{"type":"api_error","message":"m"}}',
    "<html>",
    "null",
    '[{"error":"m"}]',
  ]) {
    const stream = openChunkStream(termsOf(), STAMP);
    stream.translateEvent("message_start", START);
    assert.match(
      stream.translateEvent("error", data),
      /^data: \{"error":\{"message":"[^<]+","type":"server_error",.*\}\}\n\n$/,
    );
    assert.equal(stream.state, "failed");
    assert.equal(stream.translateEvent("message_stop", "{}"), "");
    assert.equal(stream.end(), "");
  }
});

for (const { row, given } of BROKEN_STREAMS) {
  test(`input that is not a stream is a problem: ${row}`, () => {
    assert.throws(() => translate([Buffer.from(sseOf(given))], termsOf()), AnswerProblem);
  });
}

const toolStart = (index: number, input: string) =>
  `{"index":${index},"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":${input}}}`;

test("input nested deeper than can be kept exactly is a problem", () => {
  const stream = openChunkStream(termsOf(), STAMP);
  stream.translateEvent("message_start", START);
  const input = `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`;
  assert.throws(() => stream.translateEvent("content_block_start", toolStart(0, input)), AnswerProblem);
});

test("the buffer for open blocks is bounded and freed when they close", () => {
  const input = `{"a":"${"x".repeat(3 << 20)}"}`;
  const close = (index: number) => `{"index":${index}}`;
  const stream = openChunkStream(termsOf(), STAMP);
  stream.translateEvent("message_start", START);
  for (let index = 0; index < 4; index++) {
    stream.translateEvent("content_block_start", toolStart(index, input));
    assert.ok(stream.translateEvent("content_block_stop", close(index)).length > input.length);
  }
  stream.translateEvent("content_block_start", toolStart(0, input));
  stream.translateEvent("content_block_start", toolStart(1, input));
  assert.throws(() => stream.translateEvent("content_block_start", toolStart(2, input)), AnswerProblem);

  const thinking = openChunkStream(termsOf(), STAMP);
  thinking.translateEvent("message_start", START);
  thinking.translateEvent("content_block_start", '{"index":0,"content_block":{"type":"thinking"}}');
  const delta = JSON.stringify({ index: 0, delta: { type: "thinking_delta", thinking: "x".repeat(3 << 20) } });
  thinking.translateEvent("content_block_delta", delta);
  thinking.translateEvent("content_block_delta", delta);
  assert.throws(() => thinking.translateEvent("content_block_delta", delta), AnswerProblem);
});

test("open blocks are limited in number", () => {
  const stream = openChunkStream(termsOf(), STAMP);
  stream.translateEvent("message_start", START);
  const open = (index: number) =>
    stream.translateEvent("content_block_start", `{"index":${index},"content_block":{"type":"text","text":""}}`);
  for (let index = 0; index < 1024; index++) open(index);
  assert.throws(() => open(1024), AnswerProblem);
});

const count = fc.option(fc.nat(1000), { nil: undefined });
const usage = fc.record({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  output_tokens_details: fc.option(fc.record({ thinking_tokens: count }), { nil: undefined }),
});

test("the usage reported to a client is the metered usage", () => {
  let calls = 0;
  fc.assert(
    fc.property(
      fc.array(usage, { minLength: 1, maxLength: 2 }),
      fc.array(usage, { maxLength: 3 }),
      (starts, deltas) => {
        const events = [
          ...starts.map((usage) => ({ type: "message_start", message: { id: "msg_01", content: [], usage } })),
          ...deltas.map((usage) => ({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage })),
          { type: "message_stop" },
        ];
        const meter = createStreamUsage("messages", "messages");
        for (const event of events) meter.read(JSON.stringify(event));
        const { frames } = translate([Buffer.from(sseOf(events))], termsOf({ showsUsage: true }));
        const lines = trace(frames).filter((line) => line.startsWith("usage"));
        assert.deepEqual(lines, meter.usage === undefined ? [] : [`usage ${JSON.stringify(compatUsage(meter.usage))}`]);
        calls += lines.length;
      },
    ),
    { numRuns: 500 },
  );
  assert.ok(calls > 0);
});

/** A block of an answer, with its streamed fragments. */
interface Streamed {
  readonly block: object;
  readonly start: object;
  readonly deltas: readonly object[];
}

const pieces = fc.array(fc.string({ unit: "binary", maxLength: 5 }), { maxLength: 4 });
const streamedText = pieces.map(
  (texts): Streamed => ({
    block: { type: "text", text: texts.join("") },
    start: { type: "text", text: "" },
    deltas: texts.map((text) => ({ type: "text_delta", text })),
  }),
);
const streamedThinking = fc.tuple(pieces, fc.string()).map(
  ([texts, signature]): Streamed => ({
    block: { type: "thinking", thinking: texts.join(""), signature },
    start: { type: "thinking", thinking: "", signature: "" },
    deltas: [
      ...texts.map((thinking) => ({ type: "thinking_delta", thinking })),
      ...(signature === "" ? [] : [{ type: "signature_delta", signature }]),
    ],
  }),
);
const redacted = fc.string().map((data): Streamed => {
  const block = { type: "redacted_thinking", data };
  return { block, start: block, deltas: [] };
});
const streamedCall = fc
  .tuple(
    fc.string({ minLength: 1 }),
    fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
    fc.nat(20),
    fc.boolean(),
  )
  .map(([name, input, cut, isWhole]): Streamed => {
    const text = JSON.stringify(input);
    const block = { type: "tool_use", id: "toolu_1", name, input };
    const fragments = text === "{}" ? [""] : ["", text.slice(0, cut), text.slice(cut)];
    if (isWhole) return { block, start: block, deltas: [] };
    const deltas = fragments.map((partial_json) => ({ type: "input_json_delta", partial_json }));
    return { block, start: { ...block, input: {} }, deltas };
  });
const served = fc.constantFrom(
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
  { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
);
const streamedServed = served.map((block): Streamed => ({ block, start: block, deltas: [] }));

test("an answer has the same content as a stream and as a whole", () => {
  const answer = fc.record({
    blocks: fc.array(fc.oneof(streamedText, streamedThinking, redacted, streamedCall, streamedServed), {
      maxLength: 6,
    }),
    stop_reason: fc.constantFrom("end_turn", "max_tokens", "tool_use", "refusal", "pause_turn"),
    explanation: fc.option(fc.string()),
    callsFunctions: fc.boolean(),
  });
  fc.assert(
    fc.property(answer, ({ blocks, stop_reason, explanation, callsFunctions }) => {
      const terms = termsOf({ callsFunctions, showsUsage: true });
      const stop_details = { type: "refusal", category: null, explanation };
      const usage = { input_tokens: 8, output_tokens: 5 };
      const message = { id: "msg_01", model: "model-sent", usage };
      const events = [
        { type: "message_start", message: { ...message, content: [] } },
        ...blocks.flatMap(({ start, deltas }, index) => [
          { type: "content_block_start", index, content_block: start },
          { type: "ping" },
          ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
          { type: "content_block_stop", index },
        ]),
        { type: "message_delta", delta: { stop_reason, stop_details }, usage },
        { type: "message_stop" },
      ];
      const body = JSON.stringify({ ...message, content: blocks.map(({ block }) => block), stop_reason, stop_details });
      const whole = JSON.parse(messageToChat(body, terms, STAMP)) as Completion;
      const { frames } = translate([Buffer.from(sseOf(events))], terms);
      assert.deepEqual(gather(frames), meaningOf(whole));
    }),
    { numRuns: 1000 },
  );
});

const json = fc.jsonValue();
const index = fc.oneof(fc.nat(2), fc.constantFrom(-1, 2 ** 53, 1e300, null, "0"));
const block = fc.oneof(
  json,
  fc.constantFrom(
    { type: "text", text: "Hi" },
    { type: "thinking", thinking: "", signature: "" },
    { type: "redacted_thinking", data: "d" },
    { type: "tool_use", id: "toolu_1", name: "f", input: {} },
    { type: "tool_use", id: "toolu_1", name: "f", input: { 1: 1 } },
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
  ),
);
const delta = fc.oneof(
  json,
  fc.record({
    type: fc.constantFrom("text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta"),
    text: fc.oneof({ weight: 3, arbitrary: fc.string() }, json),
    thinking: fc.string(),
    signature: fc.string(),
    partial_json: fc.string(),
  }),
);
const anyEvent = fc.oneof(
  fc.record({ type: fc.constant("message_start"), message: fc.oneof(json, fc.constant({ id: "msg_01" })) }),
  fc.record({ type: fc.constant("content_block_start"), index, content_block: block }),
  { weight: 3, arbitrary: fc.record({ type: fc.constant("content_block_delta"), index, delta }) },
  fc.record({ type: fc.constant("content_block_stop"), index }),
  fc.record({ type: fc.constant("message_delta"), delta: json, usage: fc.oneof(json, usage) }),
  fc.record({ type: fc.constantFrom("message_stop", "ping", "error", "of_tomorrow"), error: json }),
  json,
);

test("any event gives complete frames or a problem", () => {
  let problems = 0;
  let frames = 0;
  fc.assert(
    fc.property(
      fc.array(anyEvent, { maxLength: 12 }),
      fc.boolean(),
      fc.boolean(),
      (events, isNamed, callsFunctions) => {
        const stream = openChunkStream(termsOf({ callsFunctions, showsUsage: true }), STAMP);
        try {
          frames += trace(stream.translateEvent("message_start", START)).length;
          for (const event of events) {
            const type = typeof event === "object" && event !== null && "type" in event ? event.type : undefined;
            const text = stream.translateEvent(isNamed && typeof type === "string" ? type : "", JSON.stringify(event));
            assert.ok(text === "" || text.endsWith("\n\n"));
            frames += trace(text).length;
          }
          stream.end();
          assert.notEqual(stream.state, "open");
        } catch (error) {
          if (!(error instanceof AnswerProblem)) throw error;
          problems++;
        }
      },
    ),
    { numRuns: 3000 },
  );
  assert.ok(frames > 0 && problems > 0);
});
