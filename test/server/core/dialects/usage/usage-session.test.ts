import assert from "node:assert/strict";
import test from "node:test";
import { createSessionUsage } from "../../../../../src/server/core/dialects/index.ts";

const usage = { total_tokens: 30, input_tokens: 20, output_tokens: 10, input_token_details: { cached_tokens: 8 } };

const session = () => {
  const of = createSessionUsage();
  return (event: unknown, isBinary = false) => of.read(Buffer.from(JSON.stringify(event)), isBinary)?.usage.totalTokens;
};

test("each finished response counts once, by its id", () => {
  const read = session();
  assert.equal(read({ type: "response.created", response: { id: "r1", usage: null } }), undefined);
  assert.equal(read({ type: "response.output_text.delta", delta: 'my "usage":{}' }), undefined);
  assert.equal(read({ type: "response.done", response: { id: "r1", status: "completed", usage } }), 30);
  assert.equal(read({ type: "response.done", response: { id: "r1", status: "completed", usage } }), undefined);
  assert.equal(read({ type: "response.done", response: { id: "r2", status: "cancelled", usage } }), 30);
  assert.equal(read({ type: "response.done", response: { id: "r3", status: "failed", usage: null } }), undefined);
});

test("responses over WebSocket count when they end", () => {
  const read = session();
  assert.equal(read({ type: "response.in_progress", response: { id: "r1", usage } }), undefined);
  assert.equal(read({ type: "response.completed", response: { id: "r1", usage } }), 30);
  assert.equal(read({ type: "response.incomplete", response: { id: "r2", usage } }), 30);
});

test("transcriptions count separately if they are billed by tokens", () => {
  const read = session();
  const type = "conversation.item.input_audio_transcription.completed";
  const tokens = { type: "tokens", total_tokens: 9, input_tokens: 5, output_tokens: 4 };
  assert.equal(read({ type, item_id: "i1", content_index: 0, transcript: "hi", usage: tokens }), 9);
  assert.equal(read({ type, item_id: "i1", content_index: 0, transcript: "hi", usage: tokens }), undefined);
  assert.equal(read({ type, item_id: "i1", content_index: 1, transcript: "ho", usage: tokens }), 9);
  assert.equal(read({ type, item_id: "i2", content_index: 0, usage: { type: "duration", seconds: 3 } }), undefined);
});

test("a response without an id counts each time, since it cannot be distinguished from another", () => {
  const read = session();
  assert.equal(read({ type: "response.done", response: { usage } }), 30);
  assert.equal(read({ type: "response.done", response: { usage } }), 30);
});

test("binary messages and messages that are not events are skipped", () => {
  const read = session();
  assert.equal(read({ type: "response.done", response: { id: "r", usage } }, true), undefined);
  const of = createSessionUsage();
  for (const text of [
    '{"usage":{',
    '"usage":{',
    "[]",
    '{"type":5,"usage":{}}',
    '{"type":"response.done","response":7,"usage":{}}',
  ]) {
    assert.equal(of.read(Buffer.from(text), false), undefined);
  }
});

test("the oldest ids of a long session are forgotten first", () => {
  const read = session();
  for (let id = 0; id < 300; id++) assert.equal(read({ type: "response.done", response: { id: `r${id}`, usage } }), 30);
  assert.equal(read({ type: "response.done", response: { id: "r299", usage } }), undefined);
  assert.equal(read({ type: "response.done", response: { id: "r0", usage } }), 30);
});
