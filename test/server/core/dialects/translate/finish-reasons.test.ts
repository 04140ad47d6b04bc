import assert from "node:assert/strict";
import { test } from "node:test";
import {
  finishReason,
  isFailedFinish,
  stopReason,
  usualFinish,
} from "../../../../../src/server/core/dialects/translate/finish-reasons.ts";

test("a finish reason in the words of a host has the meaning of the dialect's own", () => {
  const cases: readonly (readonly [unknown, string])[] = [
    ["stop", "end_turn"],
    ["eos", "end_turn"],
    ["COMPLETE", "end_turn"],
    [null, "end_turn"],
    [1, "end_turn"],
    ["length", "max_tokens"],
    ["MAX_TOKENS", "max_tokens"],
    ["model_length", "max_tokens"],
    ["model_context_window_exceeded", "max_tokens"],
    ["content_filter", "refusal"],
    ["content_filter: PROHIBITED_CONTENT", "refusal"],
    ["sensitive", "refusal"],
    ["SAFETY", "refusal"],
  ];
  for (const [reason, expected] of cases) {
    assert.equal(stopReason(reason, false), expected, String(reason));
    assert.equal(stopReason(reason, true), "tool_use");
    assert.equal(isFailedFinish(reason), false);
  }
});

test("a stop reason in the words of the other dialect keeps its meaning", () => {
  for (const [reason, expected] of [
    ["end_turn", "stop"],
    ["pause_turn", "stop"],
    ["tool_use", "tool_calls"],
    ["tool_calls", "tool_calls"],
    ["max_tokens", "length"],
    ["length", "length"],
    ["refusal", "content_filter"],
    ["content_filter", "content_filter"],
    [undefined, "stop"],
  ] as const) {
    assert.equal(finishReason(reason), expected);
  }
  assert.equal(usualFinish(undefined), undefined);
});

test("an answer that the provider could not finish is recognized by its finish reason", () => {
  for (const reason of ["error", "network_error", "insufficient_system_resource", "abort", "Aborted"]) {
    assert.equal(isFailedFinish(reason), true);
  }
  assert.equal(isFailedFinish("function_call_filter: MALFORMED_FUNCTION_CALL"), true);
});
