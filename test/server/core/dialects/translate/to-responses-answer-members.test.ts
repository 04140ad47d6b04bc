/**
 * Single members of responses: ids, usage, errors, log probabilities, echoed settings. Source: responses reference, 5
 * to 7.
 */
import assert from "node:assert/strict";
import test from "node:test";
import type { ResponsesTerms } from "../../../../../src/server/core/dialects/translate/responses-terms.ts";
import { responsesReading } from "../../../../../src/server/core/dialects/translate/to-responses/answer-to-response.ts";
import { AnswerProblem } from "../../../../../src/server/core/dialects/translate/types.ts";
import { begin, call, DONE, piece, START, say, text } from "./to-responses-answer-sources.ts";
import {
  bytesOf,
  eventsOf,
  responseOf,
  type Sent,
  type Source,
  STAMP,
  termsOf,
  translate,
} from "./to-responses-answer-support.ts";

const callIds = (items: readonly Sent[], terms: Partial<ResponsesTerms>, seed: string): readonly unknown[] => {
  const { frames } = translate("chat", [bytesOf(items)], termsOf(terms), { created: 1, seed });
  const output = responseOf(frames)?.["output"] as readonly { readonly call_id: string }[];
  return output.map((item) => item.call_id);
};

test("5.2: call ids are the provider's own if possible, unique in the conversation and never too long", () => {
  const input = [
    say(call(0, "call_0", "f", "{}")),
    say(call(1, "functions.f:1", "f", "{}")),
    say(call(2, "", "f", "{}")),
    say(call(3, "functions.f:1", "f", "{}")),
    say(call(4, "x".repeat(65), "f", "{}")),
    say({}, "tool_calls"),
    DONE,
  ];
  const taken = new Set(["call_0", "call_s_2"]);
  const ids = callIds(input, { takenCallIds: () => taken }, "s");
  assert.deepEqual(ids, ["call_s_0", "functions_f_1", "call_s_2_2", "call_s_3", "call_s_4"]);
  const long = callIds(input, { takenCallIds: () => taken }, "s".repeat(64));
  assert.equal(new Set(long).size, 5);
  for (const id of long) assert.match(String(id), /^[A-Za-z0-9_-]{1,64}$/);
});

test("9.3 #16: usage is reported for a truncated answer, and for a failure as far as known", () => {
  const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 99 };
  const cut = translate("chat", [bytesOf([{ ...say({ content: "a" }, "length"), usage }, DONE])], termsOf());
  const result = {
    input_tokens: 5,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 2,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 7,
  };
  assert.equal((responseOf(cut.frames)?.["usage"] as typeof result | undefined)?.input_tokens, 5);
  const failed = translate("chat", [bytesOf([{ ...say({ content: "a" }), usage }, { error: "No" }])], termsOf());
  assert.equal((responseOf(failed.frames)?.["usage"] as typeof result | undefined)?.output_tokens, 94);
  const none = translate("chat", [bytesOf([say({ content: "a" }, "stop"), DONE])], termsOf());
  assert.equal(responseOf(none.frames)?.["usage"], null);
  const counts = { ...usage, total_tokens: 7 };
  const exact = translate("chat", [bytesOf([{ ...say({ content: "a" }, "stop"), usage: counts }, DONE])], termsOf());
  assert.deepEqual(responseOf(exact.frames)?.["usage"], result);
});

test("7.5: an error has a code that tells an agent what to do, also before any text", () => {
  const rows: readonly (readonly [Source, object, code: string])[] = [
    ["messages", { type: "error", error: { type: "rate_limit_error", message: "Wait." } }, "rate_limit_exceeded"],
    ["messages", { type: "error", error: { type: "billing_error", message: "Pay." } }, "insufficient_quota"],
    [
      "messages",
      { type: "error", error: { type: "invalid_request_error", message: "prompt is too long: 9 tokens" } },
      "context_length_exceeded",
    ],
    ["messages", { type: "error", error: { type: "invalid_request_error", message: "No." } }, "invalid_prompt"],
    ["messages", { type: "error", error: { type: "api_error", message: "No." } }, "server_error"],
    ["chat", { error: { message: "No.", code: "context_length_exceeded" } }, "context_length_exceeded"],
    ["chat", { error: { message: "No.", code: 429 } }, "rate_limit_exceeded"],
    ["chat", { error: { message: "No.", type: "insufficient_quota" } }, "insufficient_quota"],
  ];
  for (const [from, error, code] of rows) {
    const { frames, state } = translate(from, [bytesOf([error])], termsOf());
    assert.equal(state, "failed");
    const response = responseOf(frames) ?? assert.fail();
    assert.equal((response["error"] as { readonly code: string }).code, code);
    const { error: nested, ...flat } = eventsOf(frames).find(({ type }) => type === "error") ?? assert.fail();
    assert.deepEqual([flat["code"], flat["param"]], [code, null]);
    assert.deepEqual(nested, { type: code, code, message: flat["message"], param: null });
  }
});

test("requested log probabilities are at their text and at its end", () => {
  const of = (token: string) => ({
    token,
    logprob: -1,
    bytes: [97],
    top_logprobs: [{ token, logprob: -1, bytes: null }],
  });
  const shown = (token: string) => ({ ...of(token), top_logprobs: [{ token, logprob: -1, bytes: [] }] });
  const input = [
    say({ content: "a" }, null, { logprobs: { content: [of("a")] } }),
    say({ content: "" }, null, { logprobs: { content: [of("b"), { token: 1 }] } }),
    say({ content: "c" }, "stop", { logprobs: { content: [of("c")] } }),
    DONE,
  ];
  const { frames } = translate("chat", [bytesOf(input)], termsOf({ wantsLogprobs: true }));
  const deltas = eventsOf(frames).filter(({ type }) => type === "response.output_text.delta");
  assert.deepEqual(
    deltas.map((delta) => delta["logprobs"]),
    [[shown("a")], [shown("b"), shown("c")]],
  );
  const done = eventsOf(frames).find(({ type }) => type === "response.content_part.done");
  assert.deepEqual(done?.part?.["logprobs"], ["a", "b", "c"].map(shown));
});

test("the response echoes the request, with its schemas as spelled, and never its own fields", () => {
  const echo = { tools: [], metadata: { a: "b" }, store: true, id: "theirs", status: "completed" };
  const { frames } = translate("chat", [bytesOf([say({ content: "a" }, "stop"), DONE])], termsOf({ echo }));
  for (const { response } of eventsOf(frames)) {
    if (response === undefined) continue;
    assert.deepEqual([response["id"], response["store"], response["metadata"]], ["resp_01", false, { a: "b" }]);
  }
  assert.equal(frames.match(/"store"/g)?.length, 3);
});

test("the model and the tier are shown as requested unless another answered", () => {
  const model = { sent: "model-sent", requested: "model-asked" };
  const shown = (from: Source, body: object): readonly unknown[] => {
    const reading = responsesReading(from, termsOf({ model }));
    const response = JSON.parse(reading.translateWhole(JSON.stringify(body), STAMP, false));
    return [response.model, response.service_tier];
  };
  const choices = [{ message: { content: "a" }, finish_reason: "stop" }];
  assert.deepEqual(shown("chat", { model: "model-sent", choices }), ["model-asked", "default"]);
  assert.deepEqual(shown("chat", { model: "other", service_tier: "flex", choices }), ["other", "flex"]);
  const usage = { service_tier: "priority" };
  assert.deepEqual(shown("messages", { content: [], usage }), ["model-asked", "priority"]);
});

test("input that is not an answer is a problem: deltas of a closed block, no message", () => {
  const broken: readonly (readonly [Source, readonly Sent[]])[] = [
    ["chat", [say({ content: "a" }, "error")]],
    [
      "messages",
      [
        START,
        begin(0, { type: "text", text: "" }),
        begin(1, { type: "text", text: "" }),
        piece(0, { type: "text_delta", text: "a" }),
      ],
    ],
    ["messages", [...text(0, "a")]],
  ];
  for (const [from, given] of broken) {
    const { problem, frames, failure } = translate(from, [bytesOf(given)], termsOf());
    assert.ok(problem);
    assert.equal(responseOf(frames + failure)?.["status"], "failed");
  }
  for (const [from, body] of [
    ["chat", '{"choices":[]}'],
    ["chat", "<html>"],
    ["messages", '{"type":"message"}'],
  ] as const) {
    assert.throws(() => responsesReading(from, termsOf()).translateWhole(body, STAMP, false), AnswerProblem);
  }
});
