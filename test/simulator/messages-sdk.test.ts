import assert from "node:assert/strict";
import { test } from "node:test";
import type Anthropic from "@anthropic-ai/sdk";
import { anthropic, anthropicClassic, post, simulator } from "./clients.ts";

const BASE_REQUEST = {
  model: "sim-small",
  max_tokens: 1_000,
  messages: [{ role: "user" as const, content: "What is the capital of France?" }],
};

const VERSION = { "anthropic-version": "2023-06-01" };

const WEATHER = {
  name: "get_weather",
  input_schema: { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] },
};

function textOf(message: { readonly content: readonly { readonly type: string }[] }): string {
  return message.content.map((block) => ("text" in block ? String(block.text) : "")).join("");
}

test("the newest SDK reads the same message whole and streamed", async (t) => {
  const { messages } = anthropic(await simulator(t));
  assertSame(await messages.create(BASE_REQUEST), await messages.stream(BASE_REQUEST).finalMessage());
});

test("the older SDK, with its other credential header and version, reads the same", async (t) => {
  const { messages } = anthropicClassic(await simulator(t, { requireKey: "test-key" }));
  assertSame(await messages.create(BASE_REQUEST), await messages.stream(BASE_REQUEST).finalMessage());
});

interface Read {
  readonly content: readonly { readonly type: string }[];
  readonly stop_reason: string | null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  readonly _request_id?: string | null | undefined;
}

function assertSame(whole: Read, streamed: Read): void {
  assert.match(textOf(whole), /simulated answer.*What is the capital of France\?/);
  assert.equal(textOf(streamed), textOf(whole));
  assert.equal(streamed.stop_reason, "end_turn");
  assert.equal(streamed.usage.input_tokens, 6);
  assert.equal(streamed.usage.output_tokens, textOf(whole).split(" ").length);
  assert.deepEqual(streamed.usage, whole.usage);
  assert.equal(whole._request_id, "req_sim00000001");
}

test("a stream has every event, in the order of the grammar", async (t) => {
  const types: string[] = [];
  const response = await post(`${(await simulator(t)).url}/v1/messages`, { ...BASE_REQUEST, stream: true }, VERSION);
  for (const line of (await response.text()).split("\n")) {
    if (line.startsWith("event: ")) types.push(line.slice(7));
  }
  const runs = types.filter((type, at) => type !== types[at - 1]);
  assert.deepEqual(runs, [
    "message_start",
    "ping",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
});

for (const isStreamed of [false, true]) {
  test(`thinking comes first with its signature, then a tool call, and a replay of both is answered (stream: ${isStreamed})`, async (t) => {
    const client = anthropic(await simulator(t));
    const ask = (body: Anthropic.MessageCreateParamsNonStreaming) =>
      isStreamed ? client.messages.stream(body).finalMessage() : client.messages.create(body);
    const body = { ...BASE_REQUEST, max_tokens: 4_000, tools: [WEATHER], thinking: { type: "adaptive" as const } };
    const asked = await ask(body);
    const [thinking, call] = asked.content;
    assert.equal(asked.stop_reason, "tool_use");
    assert.ok(thinking?.type === "thinking" && thinking.signature.length > 20 && thinking.thinking !== "");
    assert.ok(call?.type === "tool_use");
    assert.deepEqual(call.input, { city: "simulated city" });
    const details = asked.usage.output_tokens_details;
    assert.equal(details?.thinking_tokens, thinking.thinking.split(" ").length);
    const answered = await ask({
      ...body,
      messages: [
        ...BASE_REQUEST.messages,
        { role: "assistant", content: asked.content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "Sunny" }] },
      ],
    });
    assert.equal(answered.stop_reason, "end_turn");
    assert.match(textOf(answered), /Your tool said: "Sunny"/);
  });
}

test("usage excludes the cached prefix, which is written once and read afterwards", async (t) => {
  const client = anthropic(await simulator(t));
  const system = [{ type: "text" as const, text: "one two three", cache_control: { type: "ephemeral" as const } }];
  const counts = async () => {
    const { usage } = await client.messages.stream({ ...BASE_REQUEST, system }).finalMessage();
    return [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
  };
  assert.deepEqual(await counts(), [6, 3, 0]);
  assert.deepEqual(await counts(), [6, 0, 3]);
});

test("limits and stop sequences end the text and give the reason", async (t) => {
  const client = anthropic(await simulator(t));
  const cut = await client.messages.create({ ...BASE_REQUEST, max_tokens: 2 });
  assert.deepEqual([textOf(cut), cut.stop_reason, cut.usage.output_tokens], ["This is ", "max_tokens", 2]);
  const warmed = await client.messages.create({ ...BASE_REQUEST, max_tokens: 0 });
  assert.deepEqual([warmed.content, warmed.stop_reason, warmed.usage.output_tokens], [[], "max_tokens", 0]);
  const stopped = await client.messages.stream({ ...BASE_REQUEST, stop_sequences: ["simulated"] }).finalMessage();
  assert.deepEqual([stopped.stop_reason, stopped.stop_sequence], ["stop_sequence", "simulated"]);
});

test("tokens are counted without an answer, with the count that an answer would have", async (t) => {
  const client = anthropic(await simulator(t));
  const { model, messages } = BASE_REQUEST;
  assert.equal((await client.messages.countTokens({ model, messages })).input_tokens, 6);
});

test("models and files have the format of the dialect if its version header is present", async (t) => {
  const client = anthropic(await simulator(t));
  const page = await client.models.list();
  assert.deepEqual([page.data[0]?.type, page.data[0]?.id, page.has_more], ["model", "sim-small", false]);
  assert.equal((await client.models.retrieve("a/b")).display_name, "Simulated a/b");
});
