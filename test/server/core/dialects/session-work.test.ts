/** A session's response is in flight from its request, or its start, to its end; nothing else makes a session busy. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createSessionWork } from "../../../../src/server/core/dialects/index.ts";

type Step = readonly [from: "client" | "upstream", message: unknown, isUnderWay: boolean];

function follow(steps: readonly Step[]): void {
  const work = createSessionWork();
  for (const [index, [from, message, isUnderWay]] of steps.entries()) {
    work.read(from, Buffer.from(typeof message === "string" ? message : JSON.stringify(message)), false);
    assert.equal(work.isInProgress, isUnderWay, `step ${index}`);
  }
}

test("a realtime response is in flight from its request until it is done", () => {
  follow([
    ["upstream", { type: "session.created", session: { type: "realtime" } }, false],
    ["client", { type: "conversation.item.create", item: { content: "say response.create" } }, false],
    ["client", { type: "response.create" }, true],
    ["upstream", { type: "response.created", response: { id: "r1" } }, true],
    ["upstream", { type: "response.output_text.delta", delta: '"response.done"' }, true],
    ["upstream", { type: "error", error: { type: "invalid_request_error" } }, true],
    ["upstream", { event_id: "e", type: "response.done", response: { id: "r1" } }, false],
    ["upstream", { type: "rate_limits.updated" }, false],
  ]);
});

test("with a response started by the provider, or two at once, work ends with the last", () => {
  follow([
    ["client", { type: "input_audio_buffer.append", audio: "AAAA" }, false],
    ["upstream", { type: "response.created", response: { id: "r1" } }, true],
    ["upstream", { type: "response.created", response: { id: "r2" } }, true],
    ["upstream", { type: "response.done", response: { id: "r2" } }, true],
    ["upstream", { type: "response.done", response: { id: "r1" } }, false],
    ["upstream", { type: "response.done", response: { id: "r1" } }, false],
  ]);
});

for (const end of ["response.completed", "response.incomplete", "response.failed"]) {
  test(`in responses over WebSocket ${end} is the end`, () => {
    follow([
      ["client", { type: "response.create", model: "m" }, true],
      ["upstream", { type: "response.created", response: { id: "r1" } }, true],
      ["upstream", { type: end, response: { id: "r1" } }, false],
    ]);
  });
}

test("a request refused with an error is not waited for", () => {
  follow([
    ["client", { type: "response.create" }, true],
    ["upstream", { type: "error", error: { code: "conversation_already_has_active_response" } }, false],
  ]);
});

test("data that is not JSON and audio are not a response", () => {
  follow([
    ["client", '"response.create"', false],
    ["upstream", '{"type":"response.created"', false],
  ]);
  const work = createSessionWork();
  work.read("client", Buffer.from('{"type":"response.create"}'), true);
  assert.equal(work.isInProgress, false);
});
