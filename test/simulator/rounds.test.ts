/** Tool loops with as many rounds as the model name asks for, in all three request forms. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { anthropic, openai, simulator } from "./clients.ts";

const QUESTION = [{ role: "user" as const, content: "Hello there" }];
const SCHEMA = { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] };
const MODEL = "sim-calls-2+rounds-3";

test("tools are called again after their results, as often as requested", async (t) => {
  const of = await simulator(t);
  const { chat, responses } = openai(of);
  const result: OpenAI.ChatCompletionMessageParam[] = [...QUESTION];
  const asked: Anthropic.MessageParam[] = [...QUESTION];
  const input: OpenAI.Responses.ResponseInputItem[] = [...QUESTION];
  const tool = { name: "look", parameters: SCHEMA };
  for (const calls of [2, 2, 2, 0]) {
    const tools = [{ type: "function" as const, function: tool }];
    const [choice] = (await chat.completions.create({ model: MODEL, messages: result, tools })).choices;
    assert.ok(choice);
    const made = choice.message.tool_calls ?? [];
    result.push(choice.message, ...made.map(({ id }) => ({ role: "tool" as const, tool_call_id: id, content: "21" })));
    const message = await anthropic(of).messages.create({
      model: MODEL,
      max_tokens: 400,
      messages: asked,
      tools: [{ name: "look", input_schema: SCHEMA }],
    });
    const uses = message.content.filter((block) => block.type === "tool_use");
    const results = uses.map(({ id }) => ({ type: "tool_result" as const, tool_use_id: id, content: "21" }));
    asked.push({ role: "assistant", content: message.content }, { role: "user", content: results });
    const flat = [{ type: "function" as const, ...tool, strict: false }];
    const { output } = await responses.stream({ model: MODEL, input, tools: flat }).finalResponse();
    const wanted = output.filter((item) => item.type === "function_call");
    for (const { name, call_id, arguments: text } of wanted) {
      input.push({ type: "function_call", name, call_id, arguments: text });
    }
    for (const { call_id } of wanted) input.push({ type: "function_call_output", call_id, output: "21" });
    assert.deepEqual([made.length, uses.length, wanted.length], [calls, calls, calls]);
  }
});
