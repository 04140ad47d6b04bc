import assert from "node:assert/strict";
import { test } from "node:test";
import type OpenAI from "openai";
import { toFile } from "openai";
import { openai, post, simulator } from "./clients.ts";

const QUESTION = "What is the capital of France?";
const CHAT = { model: "sim-small", messages: [{ role: "user" as const, content: QUESTION }] };

const WEATHER = {
  type: "function" as const,
  function: {
    name: "get_weather",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", minimum: 2 } },
      required: ["city", "days"],
    },
  },
};

test("the SDK reads a whole chat answer that echoes the question and counts words", async (t) => {
  const answer = await openai(await simulator(t)).chat.completions.create(CHAT);
  const text = answer.choices[0]?.message.content ?? "";
  assert.match(text, /simulated answer.*What is the capital of France\?/);
  assert.equal(answer.choices[0]?.finish_reason, "stop");
  assert.equal(answer.usage?.prompt_tokens, 6);
  assert.equal(answer.usage?.completion_tokens, text.split(" ").length);
  assert.equal(answer._request_id, "req_sim00000001");
});

test("equal questions get equal answers, and ids increase with each request", async (t) => {
  const client = openai(await simulator(t));
  const first = await client.chat.completions.create(CHAT);
  const second = await client.chat.completions.create(CHAT);
  assert.deepEqual(first.choices, second.choices);
  assert.deepEqual([first.id, second.id], ["chatcmpl-sim00000001", "chatcmpl-sim00000002"]);
});

test("the stream helper assembles the same message that a whole answer has", async (t) => {
  const client = openai(await simulator(t));
  const whole = await client.chat.completions.create(CHAT);
  const streamed = await client.chat.completions.stream(CHAT).finalChatCompletion();
  assert.equal(streamed.choices[0]?.message.content, whole.choices[0]?.message.content);
  assert.equal(streamed.choices[0]?.finish_reason, "stop");
});

test("without include_usage no chunk has usage, and every chunk has a choice", async (t) => {
  const stream = await openai(await simulator(t)).chat.completions.create({ ...CHAT, stream: true });
  let chunks = 0;
  for await (const chunk of stream) {
    chunks += 1;
    assert.equal("usage" in chunk, false);
    assert.equal(chunk.choices.length, 1);
  }
  assert.ok(chunks > 10);
});

test("with include_usage only the last chunk has usage and no choices, and the others have null", async (t) => {
  const stream = await openai(await simulator(t)).chat.completions.create({
    ...CHAT,
    stream: true,
    stream_options: { include_usage: true },
  });
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const last = chunks.pop();
  assert.deepEqual(last?.choices, []);
  assert.equal(last?.usage?.prompt_tokens, 6);
  assert.equal(last?.usage?.total_tokens, 6 + (last?.usage?.completion_tokens ?? 0));
  assert.deepEqual(
    chunks.map(({ usage }) => usage),
    chunks.map(() => null),
  );
});

for (const isStreamed of [false, true]) {
  test(`a tool is called with matching arguments, and its result is answered with text (stream: ${isStreamed})`, async (t) => {
    const client = openai(await simulator(t));
    const ask = async (body: OpenAI.ChatCompletionCreateParamsNonStreaming) =>
      isStreamed
        ? client.chat.completions.stream({ ...body, stream: true }).finalChatCompletion()
        : client.chat.completions.create(body);
    const asked = await ask({ ...CHAT, tools: [WEATHER] });
    const choice = asked.choices[0];
    const call = choice?.message.tool_calls?.[0];
    assert.equal(choice?.finish_reason, "tool_calls");
    assert.equal(choice?.message.content, null);
    assert.ok(call?.type === "function");
    assert.equal(call.function.name, "get_weather");
    assert.deepEqual(JSON.parse(call.function.arguments), { city: "simulated city", days: 2 });
    const answered = await ask({
      ...CHAT,
      tools: [WEATHER],
      messages: [
        ...CHAT.messages,
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: call.id, content: "Sunny, 21 degrees" },
      ],
    });
    assert.equal(answered.choices[0]?.finish_reason, "stop");
    assert.match(answered.choices[0]?.message.content ?? "", /Your tool said: "Sunny, 21 degrees"/);
  });
}

test("tool_choice none gives text, a named choice that tool, and an unknown name is refused", async (t) => {
  const client = openai(await simulator(t));
  const other = { type: "function" as const, function: { name: "other" } };
  const tools = [WEATHER, other];
  const none = await client.chat.completions.create({ ...CHAT, tools, tool_choice: "none" });
  assert.equal(none.choices[0]?.message.tool_calls, undefined);
  const named = await client.chat.completions.create({ ...CHAT, tools, tool_choice: other });
  const call = named.choices[0]?.message.tool_calls?.[0];
  assert.ok(call?.type === "function");
  assert.deepEqual([call.function.name, call.function.arguments], ["other", "{}"]);
  const missing = { type: "function" as const, function: { name: "missing" } };
  await assert.rejects(client.chat.completions.create({ ...CHAT, tools, tool_choice: missing }), { status: 400 });
});

test("each of n choices is complete, and all are counted", async (t) => {
  const client = openai(await simulator(t));
  const one = await client.chat.completions.create(CHAT);
  const three = await client.chat.completions.stream({ ...CHAT, n: 3 }).finalChatCompletion();
  assert.deepEqual(
    three.choices.map(({ message }) => message.content),
    Array.from({ length: 3 }, () => one.choices[0]?.message.content),
  );
  const whole = await client.chat.completions.create({ ...CHAT, n: 3 });
  assert.equal(whole.usage?.completion_tokens, 3 * (one.usage?.completion_tokens ?? 0));
});

test("a token limit cuts the text at that many words, and a stop sequence before itself", async (t) => {
  const client = openai(await simulator(t));
  const cut = await client.chat.completions.create({ ...CHAT, max_completion_tokens: 3 });
  assert.equal(cut.choices[0]?.message.content, "This is a ");
  assert.equal(cut.choices[0]?.finish_reason, "length");
  assert.equal(cut.usage?.completion_tokens, 3);
  const stopped = await client.chat.completions.create({ ...CHAT, stop: [" simulated"] });
  assert.equal(stopped.choices[0]?.message.content, "This is a");
  assert.equal(stopped.choices[0]?.finish_reason, "stop");
});

test("a marked prefix is written to the cache once and read afterwards", async (t) => {
  const { url } = await simulator(t);
  const part = { type: "text", text: "one two three", prompt_cache_breakpoint: { mode: "explicit" } };
  const body = {
    model: "m",
    messages: [
      { role: "system", content: [part] },
      { role: "user", content: "four" },
    ],
  };
  const details = async () => {
    const answer = (await (await post(`${url}/v1/chat/completions`, body)).json()) as OpenAI.ChatCompletion;
    const { prompt_tokens, prompt_tokens_details } = answer.usage ?? {};
    return { prompt_tokens, ...prompt_tokens_details, audio_tokens: undefined };
  };
  const fixed = { prompt_tokens: 4, audio_tokens: undefined };
  assert.deepEqual(await details(), { ...fixed, cached_tokens: 0, cache_write_tokens: 3 });
  assert.deepEqual(await details(), { ...fixed, cached_tokens: 3, cache_write_tokens: 0 });
});

test("reasoning is answered and counted if an effort is requested", async (t) => {
  const client = openai(await simulator(t));
  const answer = await client.chat.completions.create({ ...CHAT, reasoning_effort: "low" });
  const reasoning = answer.usage?.completion_tokens_details?.reasoning_tokens ?? 0;
  assert.ok(reasoning > 0 && reasoning < (answer.usage?.completion_tokens ?? 0));
  assert.match(JSON.stringify(answer.choices[0]?.message), /"reasoning_content":"The question is/);
});

test("a structured answer is JSON that matches the schema", async (t) => {
  const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
  const answer = await openai(await simulator(t)).chat.completions.create({
    ...CHAT,
    response_format: { type: "json_schema", json_schema: { name: "x", schema } },
  });
  assert.equal(answer.choices[0]?.message.content, '{"ok":true}');
});

test("legacy completions answer each prompt, whole and streamed", async (t) => {
  const client = openai(await simulator(t));
  const whole = await client.completions.create({ model: "m", prompt: ["one", "two"], max_tokens: 200 });
  assert.match(whole.choices[0]?.text ?? "", /"one"/);
  assert.match(whole.choices[1]?.text ?? "", /"two"/);
  assert.equal(whole.usage?.prompt_tokens, 2);
  let text = "";
  let usage: OpenAI.CompletionUsage | null | undefined;
  const stream = await client.completions.create({
    model: "m",
    prompt: "one",
    max_tokens: 200,
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const chunk of stream) {
    text += chunk.choices[0]?.text ?? "";
    usage = chunk.usage;
  }
  assert.equal(text, whole.choices[0]?.text);
  assert.equal(usage?.completion_tokens, whole.choices[0]?.text.split(" ").length);
});

test("embeddings are the same in base64 and floats, of unit length, and close for texts with common words", async (t) => {
  const client = openai(await simulator(t));
  const input = ["the cat sat", "the cat sat down", "quite another thing"];
  const encoded = await client.embeddings.create({ model: "sim-embed", input });
  const floats = await client.embeddings.create({ model: "sim-embed", input, encoding_format: "float" });
  assert.deepEqual(encoded.data, floats.data);
  assert.equal(encoded.usage.total_tokens, 10);
  const [a = [], b = [], c = []] = encoded.data.map(({ embedding }) => embedding);
  const dot = (x: number[], y: number[]) => x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0);
  assert.equal(a.length, 1_536);
  assert.ok(Math.abs(dot(a, a) - 1) < 1e-5);
  assert.ok(dot(a, b) > 0.5 && dot(a, c) < 0.3);
  const small = await client.embeddings.create({ model: "sim-embed", input: "x", dimensions: 8 });
  assert.equal(small.data[0]?.embedding.length, 8);
  await assert.rejects(client.embeddings.create({ model: "sim-embed", input: "" }), { status: 400, param: "input" });
});

test("responses are read whole and streamed, with text, a tool call and reasoning", async (t) => {
  const client = openai(await simulator(t));
  const body = { model: "sim-large", input: QUESTION };
  const whole = await client.responses.create(body);
  assert.match(whole.output_text, /capital of France/);
  assert.equal(whole.status, "completed");
  const streamed = await client.responses.stream(body).finalResponse();
  assert.equal(streamed.output_text, whole.output_text);
  assert.deepEqual(streamed.usage, whole.usage);
  const { name, parameters } = WEATHER.function;
  const tools = [{ type: "function" as const, name, parameters, strict: false }];
  const called = await client.responses.stream({ ...body, tools, reasoning: { effort: "low" } }).finalResponse();
  const [reasoning, call] = called.output;
  assert.equal(reasoning?.type, "reasoning");
  assert.ok(call?.type === "function_call");
  assert.deepEqual(JSON.parse(call.arguments), { city: "simulated city", days: 2 });
  const cut = await client.responses.create({ ...body, max_output_tokens: 2 });
  assert.deepEqual([cut.status, cut.incomplete_details?.reason], ["incomplete", "max_output_tokens"]);
});

test("multipart routes report the received bytes and model, in any order of parts", async (t) => {
  const client = openai(await simulator(t));
  const bytes = Buffer.alloc(300_000, "--not-the-boundary\r\n\r\n");
  const file = await toFile(bytes, "a.wav");
  const text = await client.audio.transcriptions.create({ file, model: "sim-hear" });
  assert.equal(text.text, "A simulated transcription of 300000 bytes by sim-hear.");
  const image = [await toFile(bytes, "a.png"), await toFile(bytes.subarray(0, 7), "b.png")];
  const edited = await client.images.edit({ image, prompt: "a cat", model: "sim-paint" });
  assert.match(JSON.stringify(edited), /"model":"sim-paint".*"bytes":300000.*"bytes":7/);
  const kept = await client.files.create({ file, purpose: "user_data" });
  assert.deepEqual([kept.bytes, kept.filename], [300_000, "a.wav"]);
});

test("speech is binary, moderation names its matches, and models are listed and found by names with slashes", async (t) => {
  const client = openai(await simulator(t));
  const speech = await client.audio.speech.create({ model: "m", voice: "alloy", input: "two words" });
  assert.equal(speech.headers.get("content-type"), "audio/mpeg");
  assert.equal((await speech.arrayBuffer()).byteLength, 2 * 417);
  const judged = await client.moderations.create({ input: ["Violence!", "kindness"] });
  assert.deepEqual(
    judged.results.map(({ flagged }) => flagged),
    [true, false],
  );
  const names: string[] = [];
  for await (const { id } of client.models.list()) names.push(id);
  assert.ok(names.includes("sim-small") && names.includes("sim-slow-2s"));
  assert.equal((await client.models.retrieve("org/model:1")).id, "org/model:1");
});

test("rerank puts the document with the most common words first", async (t) => {
  const { url } = await simulator(t);
  const body = { model: "m", query: "red apple", documents: ["green pear", "a red apple", "red"], top_n: 2 };
  const answer = (await (await post(`${url}/v1/rerank`, body)).json()) as { results: unknown };
  assert.deepEqual(answer.results, [
    { index: 1, relevance_score: 1 },
    { index: 2, relevance_score: 0.5 },
  ]);
});
