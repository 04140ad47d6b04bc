/** The end of a stream that the gateway refuses after its first byte. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../../../src/base/index.ts";
import { openStreamTexts, refusalEvent, SseSplitter } from "../../../../src/server/core/dialects/index.ts";

const denied = new GatewayError("guardrail_denied", "A rule refused it.");
const chunk = (index: number, finish: string | null): string =>
  `data: {"id":"c9","object":"chat.completion.chunk","created":1790000000,"model":"m","choices":[{"index":${index},"delta":{"content":"x"},"finish_reason":${JSON.stringify(finish)}}]}\n\n`;

test("a denial within chat chunks filters the running choices and ends the stream", () => {
  const stream = openStreamTexts("compat", "chat_completions");
  const events = new SseSplitter().push(Buffer.from(chunk(0, null) + chunk(1, null) + chunk(0, "stop")));
  for (const event of events) stream.read(event);
  const shown = new SseSplitter().push(Buffer.from(refusalEvent("compat", denied, "r1", stream.stamp)));
  assert.deepEqual(JSON.parse(shown[0]?.data ?? ""), {
    id: "c9",
    object: "chat.completion.chunk",
    created: 1_790_000_000,
    model: "m",
    choices: [{ index: 1, delta: {}, logprobs: null, finish_reason: "content_filter" }],
    gateway: { code: "guardrail_denied", message: "A rule refused it.", request_id: "r1" },
  });
  assert.equal(shown[1]?.data, "[DONE]");
});

test("a denial within messages is a permission error event", () => {
  const [event] = new SseSplitter().push(Buffer.from(refusalEvent("messages", denied, "r1")));
  assert.equal(event?.event, "error");
  const { error } = JSON.parse(event?.data ?? "");
  assert.deepEqual([error.type, error.details.error_code], ["permission_error", "guardrail_denied"]);
});

test("a denied response ends as filtered, and a broken one as failed", () => {
  const created = { id: "resp_1", object: "response", status: "in_progress", model: "m", output: [] };
  const frames = [
    { type: "response.created", response: created, sequence_number: 0 },
    {
      type: "response.output_text.delta",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: "x",
      sequence_number: 7,
    },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  const stream = openStreamTexts("compat", "responses");
  for (const event of new SseSplitter().push(Buffer.from(frames.join("")))) {
    const texts = stream.read(event);
    stream.rewrite(
      texts,
      texts.pieces.map(({ text }) => text),
    );
  }
  const ended = (error: GatewayError) =>
    new SseSplitter()
      .push(Buffer.from(refusalEvent("compat", error, "r1", stream.stamp)))
      .map(({ event, data }) => ({ event, data: JSON.parse(data ?? "") }));
  const [filtered, ...more] = ended(denied);
  assert.deepEqual([filtered?.event, filtered?.data.sequence_number, more], ["response.incomplete", 8, []]);
  assert.deepEqual(filtered?.data.response, {
    ...created,
    status: "incomplete",
    incomplete_details: { reason: "content_filter" },
    usage: null,
    gateway: { code: "guardrail_denied", message: "A rule refused it.", request_id: "r1" },
  });
  const failed = ended(new GatewayError("upstream_incomplete", "It broke off."));
  assert.deepEqual(
    failed.map(({ event, data }) => [event, data.sequence_number]),
    [
      ["error", 8],
      ["response.failed", 9],
    ],
  );
  assert.deepEqual([failed[1]?.data.response.id, failed[1]?.data.response.status], ["resp_1", "failed"]);
});

test("any other refusal, and one before any output, is an error event without an end", () => {
  const other = new GatewayError("upstream_incomplete", "It broke off.");
  const stamp = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [0] };
  for (const text of [refusalEvent("compat", other, "r1", stamp), refusalEvent("compat", denied, "r1")]) {
    assert.match(text, /^data: \{"error":\{.*\}\}\n\n$/);
  }
});
