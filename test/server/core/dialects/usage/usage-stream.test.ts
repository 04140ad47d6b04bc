import assert from "node:assert/strict";
import test from "node:test";
import { createStreamUsage, type Dialect } from "../../../../../src/server/core/dialects/index.ts";

const reader = (dialect: Dialect, route: string) => {
  const stream = createStreamUsage(dialect, route);
  return {
    stream,
    known: () => stream.usage,
    read: (event: unknown) => stream.read(typeof event === "string" ? event : JSON.stringify(event)),
  };
};

test("a chat stream has its usage in the chunk after the last choice", () => {
  const { stream, known, read } = reader("compat", "chat_completions");
  assert.equal(read({ choices: [{ index: 0, delta: { content: 'the "usage":{' } }], usage: null }), false);
  assert.equal(read({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: null }), false);
  assert.equal(known(), undefined);
  assert.equal(read({ choices: [], usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 } }), true);
  assert.equal(stream.isFinal, true);
  assert.equal(read("[DONE]"), false);
  assert.deepEqual([known()?.inputTokens, known()?.outputTokens], [20, 5]);
});

test("running totals replace each other and are final when the stream is done", () => {
  const { stream, known, read } = reader("compat", "chat_completions");
  for (let calls = 0; calls < 5; calls++) {
    const changed = read({
      choices: [{ index: 0, delta: { content: "x" } }],
      usage: { prompt_tokens: 20, completion_tokens: calls, total_tokens: 20 + calls },
    });
    assert.equal(changed, true);
    assert.deepEqual([known()?.outputTokens, stream.isFinal], [calls, false]);
  }
  const same = {
    choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
    usage: { prompt_tokens: 20, completion_tokens: 4 },
  };
  assert.equal(read(same), false);
  read("[DONE]");
  assert.deepEqual([known()?.totalTokens, stream.isFinal], [24, true]);
});

test("usage in a media stream is in its final event", () => {
  const { stream, known, read } = reader("compat", "audio_speech");
  assert.equal(read({ type: "speech.audio.delta", audio: "AAAA" }), false);
  assert.equal(
    read({ type: "speech.audio.done", usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12 } }),
    true,
  );
  assert.deepEqual([known()?.totalTokens, stream.isFinal], [12, true]);
});

test("a response that a provider answers with chat chunks has their usage", () => {
  const { stream, known, read } = reader("compat", "responses");
  assert.equal(read({ choices: [{ index: 0, delta: { content: "x" } }], usage: null }), false);
  assert.equal(read({ choices: [], usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 } }), true);
  assert.deepEqual([known()?.totalTokens, stream.isFinal], [25, true]);
});

test("further model calls of a message are counted once, however often they are reported", () => {
  const { known, read } = reader("messages", "messages");
  const [call, summary] = [
    { type: "message", input_tokens: 10, output_tokens: 5 },
    { type: "compaction", input_tokens: 100, output_tokens: 20, cache_read_input_tokens: 30 },
  ];
  read({ type: "message_start", message: { usage: { input_tokens: 10, output_tokens: 1, iterations: [summary] } } });
  assert.deepEqual([known()?.inputTokens, known()?.outputTokens], [140, 21]);
  read({ type: "message_delta", usage: { output_tokens: 5, iterations: [summary, call] } });
  assert.deepEqual([known()?.inputTokens, known()?.outputTokens, known()?.cachedInputTokens], [140, 25, 30]);
  read({ type: "message_delta", usage: { output_tokens: 6 } });
  assert.deepEqual([known()?.inputTokens, known()?.outputTokens], [140, 26]);
});

test("a response has its usage at its end, however it ends, and not before", () => {
  const usage = { input_tokens: 20, output_tokens: 5, total_tokens: 25 };
  for (const end of ["completed", "incomplete", "failed", "cancelled", "done"]) {
    const type = `response.${end}`;
    const { stream, known, read } = reader("compat", "responses");
    read({ type: "response.created", response: { id: "r", tools: [{ parameters: { usage: {} } }], usage: null } });
    read({ type: "response.output_item.done", item: { usage: { input_tokens: 1 } }, usage: { input_tokens: 9 } });
    assert.equal(known(), undefined);
    assert.equal(read({ type, response: { output: [{ usage: { input_tokens: 7 } }], usage } }), true);
    assert.deepEqual([known()?.inputTokens, known()?.totalTokens, stream.isFinal], [20, 25, true]);
  }
  const { stream, known, read } = reader("compat", "responses");
  assert.equal(read({ type: "response.failed", response: { usage: null } }), false);
  assert.deepEqual([known(), stream.isFinal], [undefined, false]);
});

test("a message's counts are set by its start and replaced by a delta that names them", () => {
  const start = { input_tokens: 8, cache_read_input_tokens: 12, cache_creation_input_tokens: 2, output_tokens: 1 };
  const { stream, known, read } = reader("messages", "messages");
  assert.equal(read({ type: "message_start", message: { content: [], usage: start } }), true);
  assert.deepEqual([known()?.inputTokens, known()?.outputTokens, stream.isFinal], [22, 1, false]);
  assert.equal(read({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hi" } }), false);
  assert.equal(read({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } }), true);
  assert.deepEqual([known()?.inputTokens, known()?.outputTokens, stream.isFinal], [22, 5, true]);
  // A correction: all of the input was read from the cache.
  read({ type: "message_delta", delta: {}, usage: { input_tokens: 0, cache_read_input_tokens: 20, output_tokens: 6 } });
  assert.deepEqual([known()?.inputTokens, known()?.cachedInputTokens, known()?.totalTokens], [22, 20, 28]);
});

test("zeros at the start of a message are unknown, and zeros at its end are known", () => {
  const zeros = { input_tokens: 0, output_tokens: 0 };
  const { known, read } = reader("messages", "messages");
  read({ type: "message_start", message: { usage: zeros } });
  assert.equal(known(), undefined);
  read({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: zeros });
  assert.equal(known()?.totalTokens, 0);
});

test("data that is not usage keeps the known counts", () => {
  for (const route of ["chat_completions", "responses", "messages"]) {
    const dialect = route === "messages" ? "messages" : "compat";
    const { stream, known, read } = reader(dialect, route);
    const bad = [
      '{"usage":{',
      '"usage":{}',
      '[{"usage":{"prompt_tokens":3}}]',
      '{"usage":{"prompt_tokens":-3}}',
      '{"usage":{"prompt_tokens":"\\x"}}',
      `{"usage":{"prompt_tokens":3,"x":"${"y".repeat(70_000)}"}}`,
      '{"message":5,"response":[],"type":{},"x":{"usage":{}}}',
      "",
    ];
    for (const data of bad) assert.equal(read(data), false, data.slice(0, 40));
    assert.deepEqual([known(), stream.isFinal], [undefined, false]);
  }
});
