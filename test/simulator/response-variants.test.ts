/**
 * Variants of answers that a model name selects besides faults, as the official SDKs read them, complete and streamed.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { parseFault } from "../../src/simulator/fault-table.ts";
import { RESPONSE_VARIANTS, type Simulator } from "../../src/simulator/index.ts";
import { variantOf } from "../../src/simulator/response-variants.ts";
import { ODDITIES } from "../../src/simulator/stream-oddities.ts";
import { anthropic, openai, post, simulator } from "./clients.ts";

const QUESTION = [{ role: "user" as const, content: "Hello there" }];
const SCHEMA = { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] };
const FUNCTIONS = ["one", "two"].map((name) => ({ type: "function" as const, function: { name, parameters: SCHEMA } }));
const TOOLS = ["one", "two"].map((name) => ({ name, input_schema: SCHEMA }));

type Chat = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;
type Message = Partial<Anthropic.MessageCreateParamsNonStreaming>;

const chat = (of: Simulator, model: string, isStreamed: boolean, more: Chat = {}): Promise<OpenAI.ChatCompletion> => {
  const body = { model, messages: QUESTION, ...more };
  const { completions } = openai(of).chat;
  return isStreamed ? completions.stream({ ...body, stream: true }).finalChatCompletion() : completions.create(body);
};

const message = (of: Simulator, model: string, isStreamed: boolean, more: Message = {}): Promise<Anthropic.Message> => {
  const body = { model, messages: QUESTION, max_tokens: 4_000, ...more };
  const { messages } = anthropic(of);
  return isStreamed ? messages.stream(body).finalMessage() : messages.create(body);
};

test("every row of the table is parsed from its example, alone and combined, and is not a fault", () => {
  for (const { name, example } of RESPONSE_VARIANTS) {
    assert.equal(parseFault(`${example}+calls-2:blue`).kind, "none", name);
    assert.notDeepEqual(variantOf(`${example}:blue`), variantOf("sim-small"), name);
  }
  assert.equal(variantOf("sim-odd-no-index+odd-no-id+calls-2").oddities.size, 2);
  assert.equal(variantOf("sim-odd-no-index+calls-2").calls, 2);
  assert.deepEqual(parseFault("sim-calls-2+slow-2s"), { kind: "slow", ms: 2_000 });
});

test("an invalid variant, or a combined unknown name, is refused", async (t) => {
  for (const model of ["sim-calls-x", "sim-calls-2+odd-no-such", "sim-texts-0"]) {
    assert.equal(parseFault(model).kind, "unreadable", model);
    await assert.rejects(chat(await simulator(t), model, false), { status: 400 });
  }
});

for (const isStreamed of [false, true]) {
  const form = isStreamed ? "streamed" : "whole";

  test(`several tools are called at once, after a text if requested (${form})`, async (t) => {
    const of = await simulator(t);
    const [choice] = (await chat(of, "sim-calls-3+text-first", isStreamed, { tools: FUNCTIONS })).choices;
    const calls = choice?.message.tool_calls ?? [];
    assert.deepEqual(
      calls.map((call) => call.type === "function" && [call.function.name, JSON.parse(call.function.arguments).city]),
      ["one", "two", "one"].map((name) => [name, "simulated city"]),
    );
    assert.equal(new Set(calls.map(({ id }) => id)).size, 3);
    assert.equal(choice?.message.content, "The simulated provider calls a tool now.");
    const result = await message(of, "sim-calls-3+text-first", isStreamed, { tools: TOOLS });
    assert.deepEqual(
      result.content.map((block) => (block.type === "tool_use" ? block.name : block.type)),
      ["text", "one", "two", "one"],
    );
    assert.equal(result.stop_reason, "tool_use");
  });

  test(`one tool is called if parallel calls are forbidden, and none for zero (${form})`, async (t) => {
    const of = await simulator(t);
    const alone = await chat(of, "sim-calls-3", isStreamed, { tools: FUNCTIONS, parallel_tool_calls: false });
    assert.equal(alone.choices[0]?.message.tool_calls?.length, 1);
    const choice = { type: "auto" as const, disable_parallel_tool_use: true };
    const result = await message(of, "sim-calls-3", isStreamed, { tools: TOOLS, tool_choice: choice });
    assert.deepEqual(
      result.content.map(({ type }) => type),
      ["tool_use"],
    );
    assert.equal((await message(of, "sim-calls-0", isStreamed, { tools: TOOLS })).stop_reason, "end_turn");
  });

  test(`refusals, filters, pauses and full contexts end an answer as each dialect says it (${form})`, async (t) => {
    const of = await simulator(t);
    const endings = [
      ["sim-refuse", "content_filter", "refusal"],
      ["sim-filtered", "content_filter", "refusal"],
      ["sim-pause", "stop", "pause_turn"],
      ["sim-context-full", "length", "model_context_window_exceeded"],
    ] as const;
    for (const [model, finish, stop] of endings) {
      assert.equal((await chat(of, model, isStreamed)).choices[0]?.finish_reason, finish, model);
      assert.equal((await message(of, model, isStreamed)).stop_reason, stop, model);
    }
    const refused = (await chat(of, "sim-refuse", isStreamed)).choices[0]?.message;
    assert.match(refused?.refusal ?? "", /asked by the model name to refuse/);
    const result = await message(of, "sim-refuse", isStreamed);
    assert.deepEqual(result.content, []);
    assert.match(result.stop_details?.explanation ?? "", /asked by the model name to refuse/);
  });

  test(`a limit cuts a call at its position (${form})`, async (t) => {
    const of = await simulator(t);
    const cut = (await chat(of, "sim-small", isStreamed, { tools: FUNCTIONS, max_completion_tokens: 2 })).choices[0];
    const [call] = cut?.message.tool_calls ?? [];
    assert.deepEqual(
      [cut?.finish_reason, call?.type === "function" && call.function.arguments],
      ["length", '{"city":'],
    );
    const result = await message(of, "sim-small", isStreamed, { tools: TOOLS, max_tokens: 2 });
    assert.deepEqual([result.stop_reason, result.usage.output_tokens], ["max_tokens", 2]);
  });

  test(`redacted and omitted thinking is answered, and accepted when it is returned (${form})`, async (t) => {
    const of = await simulator(t);
    const thinking = { type: "enabled" as const, budget_tokens: 1_024 };
    const more = { thinking, tools: TOOLS };
    for (const [model, asked, type] of [
      ["sim-redacted", thinking, "redacted_thinking"],
      ["sim-small", { ...thinking, display: "omitted" as const }, "thinking"],
    ] as const) {
      const answer = await message(of, model, isStreamed, { ...more, thinking: asked });
      assert.equal(answer.content[0]?.type, type);
      const [, call] = answer.content;
      assert.ok(call?.type === "tool_use");
      const result = { type: "tool_result" as const, tool_use_id: call.id, content: "Sunny" };
      const turns = [
        { role: "assistant" as const, content: answer.content },
        { role: "user" as const, content: [result] },
      ];
      const answered = await message(of, model, isStreamed, { ...more, messages: [...QUESTION, ...turns] });
      assert.equal(answered.stop_reason, "end_turn");
    }
  });

  test(`a text in several blocks is the same text (${form})`, async (t) => {
    const of = await simulator(t);
    const texts = (await message(of, "sim-texts-3", isStreamed)).content.map(
      (block) => block.type === "text" && block.text,
    );
    assert.equal(texts.length, 3);
    const [one] = (await message(of, "sim-texts-1", isStreamed)).content;
    assert.equal(texts.join("").replace("sim-texts-3", "sim-texts-1"), one?.type === "text" && one.text);
  });
}

test("a tool without parameters has only an empty input fragment", async (t) => {
  const of = await simulator(t);
  const tools = [{ name: "now", input_schema: { type: "object" as const, properties: {} } }];
  const fragments: string[] = [];
  const stream = await anthropic(of).messages.create({
    model: "m",
    max_tokens: 9,
    messages: QUESTION,
    tools,
    stream: true,
  });
  for await (const event of stream) {
    if (event.type === "content_block_delta" && event.delta.type === "input_json_delta")
      fragments.push(event.delta.partial_json);
  }
  assert.deepEqual(fragments, [""]);
});

test("a streaming request to the non-streaming model is answered whole", async (t) => {
  const of = await simulator(t);
  const body = { model: "sim-whole", messages: QUESTION, stream: true };
  const response = await post(`${of.url}/v1/chat/completions`, body);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.equal(((await response.json()) as OpenAI.ChatCompletion).object, "chat.completion");
});

interface Line {
  readonly text: string;
  readonly chunk:
    | { [key: string]: unknown; choices?: { delta: Record<string, unknown>; finish_reason: unknown }[] }
    | undefined;
}

/** Lines of the odd stream: a text and then two calls, with thinking. */
async function oddStream(
  of: Simulator,
  kind: string,
  more: object = {},
): Promise<{ readonly raw: string; readonly lines: readonly Line[] }> {
  const body = { messages: QUESTION, tools: FUNCTIONS, reasoning_effort: "low", stream: true, ...more };
  const model = `sim-calls-2+text-first+odd-${kind}`;
  const raw = await (await post(`${of.url}/v1/chat/completions`, { ...body, model })).text();
  const lines = raw
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trim())
    .map((text) => ({ text, chunk: text === "[DONE]" ? undefined : JSON.parse(text) }));
  return { raw, lines };
}

const chunksOf = (lines: readonly Line[]) => lines.flatMap(({ chunk }) => (chunk === undefined ? [] : [chunk]));
const deltasOf = (lines: readonly Line[]) =>
  chunksOf(lines).flatMap(({ choices = [] }) => choices.map(({ delta }) => delta));
const finishesOf = (lines: readonly Line[]) =>
  chunksOf(lines).flatMap(({ choices = [] }) => choices.map((each) => each.finish_reason));
const callsOf = (lines: readonly Line[]) =>
  deltasOf(lines).flatMap(({ tool_calls: calls }) => (Array.isArray(calls) ? calls : []));

/** For each deviation, whether its sign is present. */
const COMPAT_SIGNS: Readonly<Record<string, (lines: readonly Line[], raw: string) => boolean>> = {
  "usage-on-finish": (lines) =>
    chunksOf(lines).at(-1)?.["usage"] !== undefined && finishesOf(lines).at(-1) === "tool_calls",
  "usage-every-chunk": (lines) => chunksOf(lines).every(({ usage }) => typeof Object(usage).prompt_tokens === "number"),
  "usage-unasked": (lines) => chunksOf(lines).at(-1)?.choices?.length === 0,
  "no-usage": (_, raw) => !raw.includes('"usage"'),
  "no-choices-usage": (lines) => {
    const last = chunksOf(lines).at(-1);
    return last?.["usage"] !== undefined && last.choices === undefined;
  },
  "no-done": (_, raw) => !raw.includes("[DONE]"),
  "tool-calls-empty": (_, raw) => raw.includes('"tool_calls":[]'),
  "tool-calls-null": (_, raw) => raw.includes('"tool_calls":null'),
  "whole-arguments": (lines) =>
    callsOf(lines).length === 2 &&
    callsOf(lines).every((call) => call.function.arguments === '{"city":"simulated city"}'),
  interleaved: (lines) =>
    callsOf(lines)
      .map(({ index }) => index)
      .slice(0, 4)
      .join() === "0,1,0,1",
  "text-with-calls": (lines) => deltasOf(lines).some((delta) => delta["content"] && delta["tool_calls"]),
  "no-index": (lines) => callsOf(lines).every((call) => !("index" in call)),
  "no-id": (lines) => callsOf(lines).every((call) => !("id" in call)),
  "id-each": (lines) => callsOf(lines).every((call) => typeof call.id === "string" && call.function.name),
  "finish-stop": (lines) => finishesOf(lines).at(-1) === "stop",
  "finish-empty": (lines) => finishesOf(lines)[0] === "" && finishesOf(lines).at(-1) === "tool_calls",
  "no-finish": (lines) => finishesOf(lines).every((finish) => finish === ""),
  "role-each": (lines) => deltasOf(lines).every(({ role }) => role === "assistant"),
  "no-role": (lines) => deltasOf(lines).every(({ role }) => role === undefined),
  reasoning: (_, raw) => raw.includes('"reasoning":"') && !raw.includes("reasoning_content"),
  "reasoning-details": (_, raw) => raw.includes('"signature":"') && !raw.includes("reasoning_content"),
  comments: (_, raw) => raw.startsWith(": keep-alive\n\n"),
  crlf: (_, raw) => raw.includes("\r\n\r\n") && !/[^\r]\n/.test(raw),
  "no-space": (_, raw) => raw.startsWith('data:{"'),
};

test("every compat deviation is selected by its name and absent from ordinary streams", async (t) => {
  const of = await simulator(t);
  const asked = { stream_options: { include_usage: true } };
  const usual = await oddStream(of, "pings");
  for (const [kind, isMade] of Object.entries(COMPAT_SIGNS)) {
    const { raw, lines } = await oddStream(of, kind, kind === "no-choices-usage" ? asked : {});
    assert.equal(isMade(lines, raw), true, kind);
    if (kind !== "no-usage") assert.equal(isMade(usual.lines, usual.raw), false, `${kind} in a usual stream`);
    const text = deltasOf(lines)
      .map(({ content }) => content ?? "")
      .join("");
    assert.equal(text, "The simulated provider calls a tool now.", kind);
    const toolCalls = callsOf(lines)
      .map((call) => call.function.arguments)
      .join("");
    assert.equal(toolCalls.length, 2 * '{"city":"simulated city"}'.length, kind);
  }
});

test("every messages deviation is selected by its name, and the SDK still reads the message", async (t) => {
  const of = await simulator(t);
  const tools = [...TOOLS, { name: "now", input_schema: { type: "object" as const, properties: {} } }];
  const compatKinds = new Set(Object.keys(COMPAT_SIGNS));
  const kinds = ODDITIES.map(({ kind }) => kind).filter((kind) => kind === "crlf" || !compatKinds.has(kind));
  assert.deepEqual(kinds, [
    "crlf",
    "input-at-start",
    "no-fragments",
    "usage-late",
    "usage-short",
    "pings",
    "unknown-events",
  ]);
  const request = { max_tokens: 400, messages: QUESTION, tools, stream: true };
  const read = async (model: string) =>
    (await post(`${of.url}/v1/messages`, { ...request, model }, { "anthropic-version": "2023-06-01" })).text();
  const usual = await read("sim-calls-3");
  for (const kind of kinds) {
    const model = `sim-calls-3+odd-${kind}`;
    const withoutIds = (text: string) => text.replace(/sim\d{8}/g, "").replaceAll(model, "sim-calls-3");
    assert.notEqual(withoutIds(await read(model)), withoutIds(usual), kind);
    if (kind === "input-at-start") continue;
    const result = await message(of, model, true, { tools });
    assert.deepEqual(
      result.content.map((block) => block.type === "tool_use" && block.input),
      [{ city: "simulated city" }, { city: "simulated city" }, {}],
      kind,
    );
  }
  assert.match(await read("sim-odd-input-at-start"), /"input":\{"city":"simulated city"\}/);
});

test("the last requests are listed with their parsed content and without credentials", async (t) => {
  const of = await simulator(t);
  assert.equal(await (await fetch(`${of.url}/sim/last`)).json(), null);
  const system = "You are terse";
  await chat(of, "m", false, {
    messages: [{ role: "system", content: system }, ...QUESTION],
    tools: FUNCTIONS,
    temperature: 0.5,
  });
  await message(of, "m", false, { system, tools: TOOLS, max_tokens: 9, metadata: { user_id: "u" } });
  const list = (await (await fetch(`${of.url}/sim/last?n=5`)).json()) as {
    readonly dialect: string;
    readonly path: string;
    readonly status: number;
    readonly text: string;
    readonly headers: Record<string, string>;
    readonly body: { readonly model: string };
    readonly understood: Record<string, unknown>;
  }[];
  assert.deepEqual(
    list.map(({ dialect, path, status }) => [dialect, path, status]),
    [
      ["compat", "/v1/chat/completions", 200],
      ["messages", "/v1/messages", 200],
    ],
  );
  const [compat, messages] = list;
  assert.equal(JSON.parse(compat?.text ?? "").temperature, 0.5);
  assert.equal(messages?.headers["anthropic-version"], "2026-10-21");
  assert.equal(messages?.headers["authorization"], "(not told)");
  assert.equal(JSON.stringify(list).includes("test-key"), false);
  for (const { understood } of list) {
    assert.deepEqual(
      [understood["systemWords"], understood["turns"], understood["tools"]],
      [3, ["user"], ["one", "two"]],
    );
  }
  assert.equal(compat?.understood["temperature"], 0.5);
  const newest = (await (await fetch(`${of.url}/sim/last`)).json()) as { readonly dialect: string };
  assert.equal(newest.dialect, "messages");
  await post(`${of.url}/sim/reset`, {});
  assert.deepEqual(await (await fetch(`${of.url}/sim/last?n=5`)).json(), []);
});

test("the echoes of a request and of its translation are equal", async (t) => {
  const of = await simulator(t);
  const image = "aGk=";
  const asCompat = await chat(of, "sim-echo", false, {
    messages: [
      { role: "system", content: "Be terse" },
      {
        role: "user",
        content: [
          { type: "text", text: "See this" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${image}` } },
        ],
      },
    ],
    max_completion_tokens: 500,
  });
  const source = { type: "base64" as const, media_type: "image/png" as const, data: image };
  const asMessages = await message(of, "sim-echo", false, {
    system: "Be terse",
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "See this" },
          { type: "image", source },
        ],
      },
    ],
    max_tokens: 500,
  });
  const [block] = asMessages.content;
  const echoed = JSON.parse(asCompat.choices[0]?.message.content ?? "");
  assert.deepEqual(echoed, JSON.parse(block?.type === "text" ? block.text : ""));
  assert.deepEqual([echoed.images, echoed.systemWords, echoed.maxTokens], [["image/png"], 2, 500]);
});
