/**
 * A continued conversation: what a client sends back of our answer becomes what its provider said. Source: responses
 * reference, 5.3 and 12 (E4).
 */
import assert from "node:assert/strict";
import test from "node:test";
import { readJson } from "../../../../../src/server/core/dialects/json/json-source.ts";
import {
  responsesToChat,
  responsesToMessages,
} from "../../../../../src/server/core/dialects/translate/from-responses/request.ts";
import { responsesReading } from "../../../../../src/server/core/dialects/translate/to-responses/answer-to-response.ts";
import type { ChannelTerms } from "../../../../../src/server/core/dialects/translate/types.ts";
import { OPEN_SEAL, STAMP, type Values } from "./to-responses-answer-support.ts";

const MODEL = { sent: "m1", requested: "m1" };
const CHANNEL: ChannelTerms = {
  claims: () => true,
  endUserField: "user",
  acceptsStreamUsage: true,
  seal: OPEN_SEAL,
};

const REQUEST = {
  model: "m1",
  reasoning: { effort: "medium", summary: "auto" },
  tools: [
    { type: "function", name: "f", parameters: { type: "object", properties: {} } },
    { type: "custom", name: "apply_patch", description: "Edit." },
    {
      type: "namespace",
      name: "mcp__fs",
      description: "d",
      tools: [{ type: "function", name: "read", parameters: {} }],
    },
  ],
};

const QUESTION = { role: "user", content: "Go." };

/** Returns the second request, after the provider's `answer` to the first. */
function replayed(translate: typeof responsesToChat, from: "messages" | "chat", answer: object): Values {
  const first = translate(readJson(JSON.stringify({ ...REQUEST, input: [QUESTION] })), MODEL, CHANNEL);
  const text = responsesReading(from, first.answer).translateWhole(JSON.stringify(answer), STAMP, false);
  const { output } = JSON.parse(text) as { readonly output: readonly Values[] };
  const calls = output.filter((item) => typeof item["call_id"] === "string");
  const outputs = calls.map(({ type, call_id }) => ({ type: `${type}_output`, call_id, output: "ok" }));
  const input = [QUESTION, ...output, ...outputs];
  const { body } = translate(readJson(JSON.stringify({ ...REQUEST, input })), MODEL, CHANNEL);
  const { messages } = JSON.parse(body) as { readonly messages: readonly Values[] };
  return messages.find(({ role }) => role === "assistant") ?? assert.fail("the answer is in the history");
}

test("a messages provider receives its own blocks: thinking with its signature, redacted thinking, text and calls", () => {
  const content = [
    { type: "thinking", thinking: "", signature: "sig0" },
    { type: "thinking", thinking: "Hm.", signature: "sig1" },
    { type: "redacted_thinking", data: "enc" },
    { type: "text", text: "I shall." },
    { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } },
    { type: "tool_use", id: "toolu_2", name: "apply_patch", input: { input: "*** Begin" } },
    { type: "tool_use", id: "toolu_3", name: "mcp__fs__read", input: {} },
  ];
  const turn = replayed(responsesToMessages, "messages", { content, stop_reason: "tool_use" });
  assert.deepEqual(turn["content"], content);
});

test("a chat provider receives its own message: reasoning, text and calls", () => {
  const message = {
    role: "assistant",
    content: "I shall.",
    reasoning_content: "Hm.",
    tool_calls: [
      { id: "call_1", type: "function", function: { name: "f", arguments: '{"a":1}' } },
      { id: "call_2", type: "function", function: { name: "apply_patch", arguments: '{"input":"*** Begin"}' } },
      { id: "call_3", type: "function", function: { name: "mcp__fs__read", arguments: "{}" } },
    ],
  };
  const turn = replayed(responsesToChat, "chat", { choices: [{ message, finish_reason: "tool_calls" }] });
  assert.deepEqual(turn, message);
});
