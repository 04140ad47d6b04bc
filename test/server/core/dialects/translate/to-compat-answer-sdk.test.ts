/**
 * The official client reads the translated answers: its raw iterator, and its stream helper, which is the stricter
 * parser.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import test, { after, before } from "node:test";
import OpenAI from "openai";
import {
  messageAsChunks,
  messageToChat,
} from "../../../../../src/server/core/dialects/translate/to-compat/message-to-chat.ts";
import { bodyOf, STAMP, STREAMS, sseOf, termsOf, trace, translate, WHOLE } from "./to-compat-answer-golden.ts";

/** The scripted answer of the provider. */
let answer: { readonly type: string; readonly body: string };

/** Small pieces, so that the client's parser gets frames cut anywhere. */
const PIECE_BYTES = 61;

const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": answer.type });
  const bytes = Buffer.from(answer.body);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) response.write(bytes.subarray(at, at + PIECE_BYTES));
  response.end();
});

let client: OpenAI;

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  client = new OpenAI({ apiKey: "key", baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0, logLevel: "off" });
});

after(() => {
  server.closeAllConnections();
  server.close();
});

const QUESTION = { model: "model-asked", messages: [{ role: "user" as const, content: "?" }] };

interface Call {
  id?: string | undefined;
  name: string;
  arguments: string;
}

/** An answer as the client's user sees it. */
interface Seen {
  readonly content: string;
  readonly refusal: string;
  readonly calls: readonly Call[];
  readonly finish: string | null | undefined;
  readonly usage: unknown;
}

async function iterated(): Promise<Seen> {
  let content = "";
  let refusal = "";
  let finish: string | null | undefined;
  let usage: unknown;
  const calls: Call[] = [];
  for await (const chunk of await client.chat.completions.create({ ...QUESTION, stream: true })) {
    usage = chunk.usage ?? usage;
    for (const { delta, finish_reason } of chunk.choices) {
      content += delta.content ?? "";
      refusal += delta.refusal ?? "";
      finish = finish_reason ?? finish;
      for (const { index, id, function: called } of delta.tool_calls ?? []) {
        calls[index] ??= { id, name: called?.name ?? "", arguments: "" };
        calls[index].arguments += called?.arguments ?? "";
      }
      if (delta.function_call) {
        calls[0] ??= { name: delta.function_call.name ?? "", arguments: "" };
        calls[0].arguments += delta.function_call.arguments ?? "";
      }
    }
  }
  return { content, refusal, calls, finish, usage };
}

async function helped(): Promise<Seen> {
  return seen(await client.chat.completions.stream(QUESTION).finalChatCompletion());
}

function seen({ choices, usage }: OpenAI.Chat.ChatCompletion): Seen {
  const [choice] = choices;
  assert.ok(choice);
  const { content, refusal, tool_calls = [], function_call } = choice.message;
  const calls: Call[] = tool_calls.map((call) => {
    assert.ok(call.type === "function");
    return { id: call.id, name: call.function.name, arguments: call.function.arguments };
  });
  if (function_call) calls.push({ name: function_call.name, arguments: function_call.arguments });
  return { content: content ?? "", refusal: refusal ?? "", calls, finish: choice.finish_reason, usage };
}

interface Line {
  readonly content?: string;
  readonly refusal?: string;
  readonly tool_calls?: readonly [{ readonly index: number; readonly id?: string; readonly function: Partial<Call> }];
  readonly function_call?: Partial<Call>;
}

/** Returns the result of a golden stream's expected lines. */
function meant(lines: readonly string[]): Seen {
  const deltas = lines.flatMap((line) => (line.startsWith("delta ") ? [JSON.parse(line.slice(6)) as Line] : []));
  const calls: Call[] = [];
  for (const { tool_calls: [call] = [], function_call } of deltas) {
    const called = call?.function ?? function_call;
    if (called === undefined) continue;
    const index = call?.index ?? 0;
    calls[index] ??= { ...(call && { id: call.id }), name: called.name ?? "", arguments: "" };
    calls[index].arguments += called.arguments ?? "";
  }
  const usage = lines.find((line) => line.startsWith("usage "));
  return {
    content: deltas.map(({ content = "" }) => content).join(""),
    refusal: deltas.map(({ refusal = "" }) => refusal).join(""),
    calls,
    finish: lines.find((line) => line.startsWith("finish "))?.slice(7),
    usage: usage && (JSON.parse(usage.slice(6)) as unknown),
  };
}

/** A null usage counts as none, since chunks before the reporting one have null. */
const shown = (of: Seen): Seen => ({ ...of, usage: of.usage ?? undefined });

for (const { row, given, terms, expect, state = "ended" } of STREAMS) {
  if (state !== "ended") continue;
  test(`the client reads the stream: ${row}`, async () => {
    answer = { type: "text/event-stream", body: translate([Buffer.from(sseOf(given))], termsOf(terms)).frames };
    assert.deepEqual(shown(await iterated()), meant(expect));
    assert.deepEqual(shown(await helped()), meant(expect));
  });
}

for (const { row, given, terms } of STREAMS.filter(({ state }) => state === "failed")) {
  test(`the client throws the provider's error: ${row}`, async () => {
    answer = { type: "text/event-stream", body: translate([Buffer.from(sseOf(given))], termsOf(terms)).frames };
    const isError = (error: unknown) => {
      assert.ok(error instanceof OpenAI.APIError);
      assert.equal(error.type, "service_unavailable_error");
      assert.equal(error.code, "server_is_overloaded");
      return true;
    };
    await assert.rejects(iterated(), isError);
    await assert.rejects(helped(), isError);
  });
}

for (const { row, given, terms } of WHOLE) {
  test(`the client reads the whole answer and the same answer as a stream: ${row}`, async () => {
    const result = termsOf({ ...terms, showsUsage: true });
    answer = { type: "application/json", body: messageToChat(bodyOf(given), result, STAMP) };
    const whole = shown(seen(await client.chat.completions.create(QUESTION)));
    const frames = messageAsChunks(bodyOf(given), result, STAMP);
    assert.deepEqual(whole, meant(trace(frames)));
    answer = { type: "text/event-stream", body: frames };
    assert.deepEqual(shown(await iterated()), whole);
    assert.deepEqual(shown(await helped()), whole);
  });
}

interface Reasoned {
  readonly reasoning_details?: readonly unknown[];
}

test("the stream helper, which keeps the last unknown delta, keeps thinking and signature together", async () => {
  const content = [
    { type: "thinking", thinking: "Hm.", signature: "sig1" },
    { type: "text", text: "Hi" },
  ];
  answer = { type: "text/event-stream", body: messageAsChunks(JSON.stringify({ content }), termsOf(), STAMP) };
  const message: object = await client.chat.completions.stream(QUESTION).finalMessage();
  assert.deepEqual((message as Reasoned).reasoning_details, [
    { type: "reasoning.text", text: "Hm.", signature: "sig1", index: 0 },
  ]);
});
