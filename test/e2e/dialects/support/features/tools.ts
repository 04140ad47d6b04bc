/** Tool calls, and the turns with their results. */
import assert from "node:assert/strict";
import type { ToolResultBlockParam } from "@anthropic-ai/sdk/resources/messages";
import type { Cell, Feature, RequestByClient } from "../cell.ts";
import { join, results, type SdkAnswer, user } from "../sdk-answer.ts";
import { answers, ends, QUESTION, QUESTION_REQUEST, requestOf } from "./question.ts";

const PARAMETERS = { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] };

const weather: RequestByClient = {
  openai: {
    ...QUESTION_REQUEST.openai,
    tools: [{ type: "function", function: { name: "get_weather", description: "Now.", parameters: PARAMETERS } }],
  },
  anthropic: {
    ...QUESTION_REQUEST.anthropic,
    tools: [{ name: "get_weather", description: "Now.", input_schema: PARAMETERS }],
  },
};

const STRICT = { ...PARAMETERS, additionalProperties: false };

const called = [
  { role: "user" as const, content: QUESTION },
  {
    role: "assistant" as const,
    content: [{ type: "tool_use" as const, id: "toolu_1", name: "get_weather", input: { city: "Paris" } }],
  },
];

const resulting = (result: Omit<ToolResultBlockParam, "type" | "tool_use_id">) => ({
  role: "user" as const,
  content: [{ ...result, type: "tool_result" as const, tool_use_id: "toolu_1" }],
});

/** The same tools in another conversation. */
const withTurns = (request: RequestByClient, turns: Parameters<typeof requestOf>[0]): RequestByClient => ({
  openai: { ...request.openai, ...requestOf(turns).openai },
  anthropic: { ...request.anthropic, ...requestOf(turns).anthropic },
});

/** Asserts that the provider receives every call and its result, under one id each. */
async function sentResults(cell: Cell, first: SdkAnswer, texts: readonly string[]): Promise<void> {
  const calls = first.calls.map(({ id, name, input }, at) => ({ id, name, input, text: texts[at] }));
  await cell.sent({
    compat: {
      messages: [
        { role: "user" },
        {
          role: "assistant",
          tool_calls: calls.map(({ id, name, input }) => ({
            id,
            type: "function",
            function: { name, arguments: (text: string) => assert.deepEqual(JSON.parse(text), input) },
          })),
        },
        ...calls.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text })),
      ],
    },
    messages: {
      messages: [
        { role: "user" },
        {
          role: "assistant",
          content: [
            ...(first.text === "" ? [] : [{ type: "text", text: first.text }]),
            ...calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
          ],
        },
        {
          role: "user",
          content: calls.map(({ id, text }) => ({ type: "tool_result", tool_use_id: id, content: text })),
        },
      ],
    },
  });
}

async function answeredInTurn(first: SdkAnswer, cell: Cell, texts: readonly string[]): Promise<void> {
  const turns = join(user(QUESTION), first.turn, results(first, texts));
  const second = await cell.ask(withTurns(weather, turns));
  await sentResults(cell, first, texts);
  assert.match(second.text, new RegExp(`Your tool said: ".*${texts.at(-1)}`));
  ends(second, cell, "end");
}

export const TOOL_FEATURES: readonly Feature[] = [
  {
    name: "a tool call, and the turn with its result",
    request: weather,
    sent: {
      compat: { tools: [{ type: "function", function: { name: "get_weather", parameters: PARAMETERS } }] },
      messages: { tools: [{ name: "get_weather", description: "Now.", input_schema: PARAMETERS }] },
    },
    async check(answer, cell) {
      assert.deepEqual(
        answer.calls.map(({ name, input }) => [name, input]),
        [["get_weather", { city: "simulated city" }]],
      );
      ends(answer, cell, "call");
      await answeredInTurn(answer, cell, ["Sunny"]);
    },
  },
  {
    name: "three tool calls at once, and the turn with their results",
    model: "sim-calls-3",
    request: weather,
    async check(answer, cell) {
      assert.deepEqual(
        answer.calls.map(({ name }) => name),
        ["get_weather", "get_weather", "get_weather"],
      );
      assert.equal(new Set(answer.calls.map(({ id }) => id)).size, 3);
      for (const { input } of answer.calls) assert.equal(typeof Object(input)["city"], "string");
      ends(answer, cell, "call");
      await answeredInTurn(answer, cell, ["Sunny", "Rainy", "Foggy"]);
    },
  },
  {
    name: "a text before a tool call",
    model: "sim-text-first",
    request: weather,
    async check(answer, cell) {
      assert.notEqual(answer.text, "");
      assert.equal(answer.calls.length, 1);
      ends(answer, cell, "call");
      await answeredInTurn(answer, cell, ["Sunny"]);
    },
  },
  {
    name: "a tool without parameters",
    request: {
      openai: { ...QUESTION_REQUEST.openai, tools: [{ type: "function", function: { name: "now" } }] },
      anthropic: {
        ...QUESTION_REQUEST.anthropic,
        tools: [{ name: "now", input_schema: { type: "object", properties: {} } }],
      },
    },
    sent: {
      compat: { tools: [{ type: "function", function: { name: "now" } }] },
      messages: { tools: [{ name: "now", input_schema: { type: "object" } }] },
    },
    check(answer, cell) {
      assert.deepEqual(
        answer.calls.map(({ name, input }) => [name, input]),
        [["now", {}]],
      );
      ends(answer, cell, "call");
    },
  },
  {
    name: "the choice of a tool, one call at a time",
    request: {
      openai: {
        ...weather.openai,
        tool_choice: { type: "function", function: { name: "get_weather" } },
        parallel_tool_calls: false,
      },
      anthropic: {
        ...weather.anthropic,
        tool_choice: { type: "tool", name: "get_weather", disable_parallel_tool_use: true },
      },
    },
    sent: {
      compat: {
        tool_choice: { type: "function", function: { name: "get_weather" } },
        parallel_tool_calls: false,
      },
      messages: { tool_choice: { type: "tool", name: "get_weather", disable_parallel_tool_use: true } },
    },
    check: (answer, cell) => ends(answer, cell, "call"),
  },
  {
    name: "a tool that must be called, and one that must not",
    request: {
      openai: { ...weather.openai, tool_choice: "required" },
      anthropic: { ...weather.anthropic, tool_choice: { type: "any" } },
    },
    sent: { compat: { tool_choice: "required" }, messages: { tool_choice: { type: "any" } } },
    async check(answer, cell) {
      ends(answer, cell, "call");
      const none = await cell.ask({
        openai: { ...weather.openai, tool_choice: "none" },
        anthropic: { ...weather.anthropic, tool_choice: { type: "none" } },
      });
      await cell.sent({ compat: { tool_choice: "none" }, messages: { tool_choice: { type: "none" } } });
      answers(none, "sim-small", QUESTION);
    },
  },
  {
    name: "a tool with a strict schema",
    request: {
      openai: {
        ...QUESTION_REQUEST.openai,
        tools: [{ type: "function", function: { name: "get_weather", parameters: STRICT, strict: true } }],
      },
      anthropic: {
        ...QUESTION_REQUEST.anthropic,
        tools: [{ name: "get_weather", input_schema: STRICT, strict: true }],
      },
    },
    sent: {
      compat: { tools: [{ type: "function", function: { name: "get_weather", parameters: STRICT, strict: true } }] },
      messages: { tools: [{ name: "get_weather", input_schema: STRICT, strict: true }] },
    },
    check: (answer, cell) => ends(answer, cell, "call"),
  },
  {
    name: "a choice among some of the tools",
    request: {
      openai: {
        ...QUESTION_REQUEST.openai,
        tools: ["one", "two"].map((name) => ({ type: "function", function: { name, parameters: PARAMETERS } })),
        tool_choice: {
          type: "allowed_tools",
          allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "two" } }] },
        },
      },
    },
    sent: { messages: { tools: [{ name: "two" }], tool_choice: { type: "any" } } },
    check: (answer, cell) => ends(answer, cell, "call"),
  },
  {
    name: "a tool's failure, reported by its message",
    request: { anthropic: { messages: [...called, resulting({ is_error: true, content: "No such city." })] } },
    sent: {
      compat: {
        messages: [{ role: "user" }, { role: "assistant" }, { role: "tool", content: /^Error: No such city/ }],
      },
      messages: { messages: [{ role: "user" }, { role: "assistant" }, { content: [{ is_error: true }] }] },
    },
    check: (answer) => assert.match(answer.text, /No such city/),
  },
  {
    name: "an image in a tool's result",
    request: {
      anthropic: {
        messages: [
          ...called,
          resulting({
            content: [
              { type: "text", text: "Here it is:" },
              { type: "image", source: { type: "url", url: "https://example.com/map.png" } },
            ],
          }),
        ],
      },
    },
    // A result has only text there; its images follow in a user turn.
    sent: {
      compat: {
        messages: [
          { role: "user" },
          { role: "assistant" },
          { role: "tool", tool_call_id: "toolu_1" },
          { role: "user", content: shows },
        ],
      },
    },
    check: (answer) => assert.notEqual(answer.text, ""),
  },
];

function shows(content: unknown): void {
  assert.match(JSON.stringify(content), /"image_url":\{"url":"https:\/\/example\.com\/map\.png"/);
}
