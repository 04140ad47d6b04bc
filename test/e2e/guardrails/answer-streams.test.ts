// tier: test
/**
 * Guardrails on streamed answers through a running gateway, from a provider that a test scripts byte by byte: the text
 * that clients and official SDKs assemble, however it is cut, and how a denial ends it. Source: specification document
 * 3 (`guardrails.stream`); design decisions, section 11; guardrails reference, 5.
 */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, test } from "node:test";
import Anthropic, { APIError } from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { say } from "../governance/support/governed.ts";
import type { Gateway } from "../support/gateway.ts";
import { idle, readMetrics, sumOf } from "../support/metrics.ts";
import { endChunks } from "../support/upstream.ts";
import { within } from "../support/wait.ts";
import { blocks, chunks, type Delta, pausing, readStream, streaming } from "./support/answers.ts";
import { leaked, MAIL, requestWith, SSN, startInspected } from "./support/inspected.ts";

const file = { after };
const inspected = await startInspected(file);
const { upstream, gateway, buffering, key, answered, recordOf } = inspected;

/** Texts in pieces, and what a client should receive. */
const DELTAS: readonly Delta[] = [
  { reasoning_content: "She is ada.love" },
  { reasoning_content: "lace@example.com, I think." },
  { content: "Write to ada" },
  { content: ".lovelace@exam" },
  { content: "ple.com or pay DE89 3704 0044 05" },
  { content: "32 0130 00, she said." },
  { arguments: '{"iban": "DE\\u0668' },
  { arguments: "\\u0669370400440532013000" },
  { arguments: '", "n": 1.0, "to":"ada.lovelace@' },
  { arguments: 'example.com\\n"}' },
];
const HIDDEN = {
  thinking: "She is <EMAIL_ADDRESS>, I think.",
  content: "Write to <EMAIL_ADDRESS> or pay <IBAN_CODE>, she said.",
  arguments: { iban: "<IBAN_CODE>", n: 1, to: "<EMAIL_ADDRESS>\n" },
};

const compatAt = (on: Gateway) => new OpenAI({ baseURL: `${on.url}/v1`, apiKey: key, maxRetries: 0 });
const messagesAt = (on: Gateway) => new Anthropic({ baseURL: on.url, apiKey: key, maxRetries: 0 });
const TOOLS = { name: "pay", description: "pays", parameters: { type: "object", properties: {} } };

async function throughCompat(model: string, on: Gateway): Promise<void> {
  const stream = compatAt(on).chat.completions.stream({
    model,
    max_tokens: 64,
    messages: [{ role: "user", content: "hello" }],
    tools: [{ type: "function", function: TOOLS }],
  });
  const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0] ?? {};
  const [call] = message?.tool_calls ?? [];
  assert.ok(call?.type === "function");
  assert.deepEqual(
    [message?.content, finish_reason, JSON.parse(call.function.arguments)],
    [HIDDEN.content, "tool_calls", HIDDEN.arguments],
  );
}

async function throughMessages(model: string, on: Gateway): Promise<void> {
  const stream = messagesAt(on).messages.stream({
    model,
    max_tokens: 2_048,
    thinking: { type: "enabled", budget_tokens: 1_024 },
    messages: [{ role: "user", content: "hello" }],
    tools: [{ name: "pay", input_schema: { type: "object" } }],
  });
  const { content, stop_reason } = await stream.finalMessage();
  const made = content.map((block) =>
    block.type === "thinking"
      ? block.thinking
      : block.type === "text"
        ? block.text
        : block.type === "tool_use"
          ? block.input
          : undefined,
  );
  assert.deepEqual([made, stop_reason], [[HIDDEN.thinking, HIDDEN.content, HIDDEN.arguments], "tool_use"]);
}

for (const [policy, on] of [
  ["window", gateway],
  ["buffer", buffering],
] as const) {
  test(`the SDKs' stream helpers assemble a redacted answer, native and translated: ${policy}`, async () => {
    upstream.script = streaming(chunks(DELTAS));
    await throughCompat("m", on);
    await throughMessages("m", on);
    upstream.script = streaming(blocks(DELTAS));
    await throughCompat("other", on);
    await throughMessages("other", on);
  });
}

const short = (content: string, index: number) =>
  `data: ${JSON.stringify({ choices: [{ index, delta: { content } }] })}\n\n`;

test("a stream cut at every byte gives the same result, in either dialect", async () => {
  const frames = [short(`€ ${MAIL.slice(0, 7)}`, 0), short(`${MAIL.slice(7)} ok`, 0), short(MAIL, 1)];
  const compat = Buffer.from(`${frames.join("")}data: [DONE]\n\n`);
  for (let at = 1; at < compat.length; at++) {
    const { text } = await answered(streaming([compat.subarray(0, at), compat.subarray(at)]), { stream: true });
    assert.equal(readStream(text).content, "€ <EMAIL_ADDRESS> ok", `cut at ${at}: ${text}`);
    assert.equal(readStream(text, 1).content, "<EMAIL_ADDRESS>", `cut at ${at}: ${text}`);
    assert.ok(text.endsWith("data: [DONE]\n\n"), `cut at ${at}: ${JSON.stringify(text)}`);
  }
  const bytes = Buffer.from(blocks(DELTAS).join(""));
  for (let at = 1; at < bytes.length; at += 41) {
    upstream.script = streaming([bytes.subarray(0, at), bytes.subarray(at)]);
    const body = { ...requestWith({ model: "other" }), stream: true };
    const { text } = await say(gateway, { key, path: "/v1/messages", body });
    const { content, thinking, arguments: json } = readStream(text);
    assert.deepEqual({ content, thinking, arguments: JSON.parse(json) }, HIDDEN, `cut at ${at}`);
  }
});

/** Spaces behind a sentence prove its end. */
const SPACES = " ".repeat(40);
const FILTERED: readonly Delta[] = [
  { content: `Nothing of note in this sentence, nor here.${SPACES}` },
  { content: `It is ${SSN}, you know.${SPACES}` },
];

test("a denial during a stream ends it in the dialect's format, aborts the provider, and is reported to the caller", async () => {
  const [begin = "", first = "", later = ""] = chunks(FILTERED);
  const { script, go, closed } = pausing([begin, first], [later]);
  upstream.script = script;
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(requestWith({ stream: true })),
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    text += Buffer.from(read.value).toString();
    if (readStream(text).content.startsWith("Nothing of note")) go();
  }
  assert.equal(response.status, 200);
  assert.equal(readStream(text).finish, "content_filter");
  assert.match(text, /"gateway":\{"code":"guardrail_denied".*\n\ndata: \[DONE\]\n\n$/s);
  await within("the end of the provider's work", closed);
  const { data } = await recordOf("guardrail.decision", response);
  assert.deepEqual([data["decision"], data["direction"], data["rule"]], ["deny", "response", "no-ssn"]);
});

test("the SDKs raise or end a filtered answer as they do for a provider's filter", async () => {
  const messages = [{ role: "user" as const, content: "x" }];
  const compat = chunks(FILTERED);
  const first = pausing(compat.slice(0, 2), compat.slice(2));
  upstream.script = first.script;
  const stream = compatAt(gateway).chat.completions.stream({ model: "m", messages });
  stream.on("content", first.go);
  assert.equal((await stream.finalChatCompletion()).choices[0]?.finish_reason, "content_filter");
  const native = blocks(FILTERED);
  const second = pausing(native.slice(0, 3), native.slice(3));
  upstream.script = second.script;
  const asking = messagesAt(gateway).messages.stream({ model: "other", max_tokens: 9, messages });
  asking.on("text", second.go);
  await assert.rejects(
    asking.finalMessage(),
    (error) => error instanceof APIError && /Numbers of persons stay here/.test(error.message),
  );
  upstream.script = streaming(compat);
  const denied = compatAt(buffering).chat.completions.stream({ model: "m", messages });
  await assert.rejects(denied.finalChatCompletion(), OpenAI.PermissionDeniedError);
});

test("a denial before the first byte is sent becomes a status, whatever the provider is doing", async () => {
  const all = chunks([{ content: `It is ${SSN}, you know.` }]).join("");
  const answer = await answered(streaming([all]), { stream: true });
  assert.deepEqual(
    [answer.status, answer.code, answer.headers.get("x-gateway-guardrails")],
    [403, "guardrail_denied", "no-ssn=deny"],
  );
});

test("a stream that breaks off shows what was proven safe so far, and its error", async () => {
  const answer = await answered(
    streaming(chunks([{ content: `Ask ${MAIL}` }]).slice(0, 2), (socket) => socket.destroy()),
    { stream: true },
  );
  assert.equal(readStream(answer.text).content, "Ask <EMAIL_ADDRESS>");
  assert.match(answer.text, /upstream_incomplete/);
  assert.ok(!answer.text.includes("DONE"));
});

test("an event that breaks off is not shown, whether the stream then ends or the connection does", async () => {
  const frames = [short("It is ", 0), short("said here.", 0).slice(0, -12)];
  for (const [end, error] of [
    [endChunks, undefined],
    [(socket: Socket) => void socket.end(), "upstream_incomplete"],
  ] as const) {
    const { text } = await answered(streaming(frames, end), { stream: true });
    assert.equal(readStream(text).content, "It is ", text);
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
    assert.equal(events.at(-1).error?.code, error, text);
  }
});

test("a client that disconnects ends everything", async () => {
  const { script, closed } = pausing(chunks([{ content: `Ask ${MAIL}, please.${SPACES}` }]).slice(0, 2), []);
  upstream.script = script;
  const leaving = new AbortController();
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(requestWith({ stream: true })),
    signal: leaving.signal,
  });
  await response.body?.getReader().read();
  leaving.abort();
  await within("the end of the provider's work", closed);
});

test("usage of a stream that guardrails rewrite is counted as without them", async () => {
  const spent = async () => sumOf(await idle(gateway), "gateway_tokens_total");
  const before = await spent();
  const usage = `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } })}\n\n`;
  const frames = chunks([{ content: MAIL }]);
  const answer = await answered(streaming([...frames.slice(0, -1), usage, ...frames.slice(-1)]), {
    stream: true,
    stream_options: { include_usage: true },
  });
  assert.ok(answer.text.includes('"total_tokens":18'));
  assert.equal((await spent()) - before, 18);
});

test("a missing end, CR line endings and multi-line data are read", async () => {
  const nonstandard = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":\rdata: [{"index":0,"delta":{"content":"to ${MAIL}"},"finish_reason":null}]}\r\rdata: [DONE]`;
  const answer = await answered(streaming([nonstandard], endChunks), { stream: true });
  assert.equal(readStream(`${answer.text}\n\n`).content, "to <EMAIL_ADDRESS>");
});

test("no matched text is in logs, records or metrics", async () => {
  await idle(gateway);
  assert.deepEqual(await leaked(inspected), []);
  assert.ok(sumOf(await readMetrics(gateway), "gateway_guardrail_stream_held_bytes_count") > 0);
});
