import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CAPABILITY_NAMES,
  capabilitiesOf,
  defaultClaims,
  isCapability,
  ruleOf,
} from "../../../../../src/server/core/dialects/index.ts";

test("the vocabulary's soft capabilities are those whose loss never refuses a request", () => {
  assert.deepEqual(CAPABILITY_NAMES.filter((name) => ruleOf(name).class === "soft").sort(), [
    "cache_prewarm",
    "cache_ttl",
    "citation_replay",
    "effort",
    "hint",
    "hosted_history",
    "hosted_tools",
    "metadata",
    "mid_system",
    "parallel_tool_calls",
    "prediction",
    "prompt_caching",
    "service_tier",
    "store",
    "stream_usage",
    "strict_tools",
    "thinking_budget",
    "thinking_forced_tool",
    "thread",
    "tool_errors",
    "tool_grammar",
    "top_p_pair",
    "user_id",
    "verbosity",
  ]);
});

test("losses are named in table order, tools first and routes last", () => {
  assert.deepEqual(CAPABILITY_NAMES.slice(0, 3), ["tools", "tool_choice", "allowed_tools"]);
  const firstRoute = CAPABILITY_NAMES.findIndex((name) => ruleOf(name).kind === "route");
  assert.ok(CAPABILITY_NAMES.slice(firstRoute).every((name) => ruleOf(name).kind === "route"));
});

test("a dialect can use what it can express, and no route", () => {
  assert.ok(capabilitiesOf("compat").has("logprobs") && !capabilitiesOf("messages").has("logprobs"));
  assert.ok(capabilitiesOf("messages").has("citations") && !capabilitiesOf("compat").has("citations"));
  assert.ok(!capabilitiesOf("compat").has("chat_completions"));
});

test("a channel without a list claims the routes of its own dialect only", () => {
  assert.ok(defaultClaims("compat").has("chat_completions") && !defaultClaims("compat").has("messages"));
  assert.ok(defaultClaims("messages").has("count_tokens") && !defaultClaims("messages").has("rerank"));
  assert.ok(defaultClaims("compat").has("models") && defaultClaims("messages").has("models"));
});

test("names of the object prototype are not capabilities", () => {
  assert.equal(isCapability("toString"), false);
  assert.equal(isCapability("tools"), true);
});
