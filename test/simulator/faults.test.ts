import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { parseFault } from "../../src/simulator/fault-table.ts";
import { FAULTS, type Simulator } from "../../src/simulator/index.ts";
import { anthropic, openai, post, rawExchange, rawPost, settled, simulator } from "./clients.ts";

const messages = [{ role: "user" as const, content: "Hello there" }];

const chat = (of: Simulator, model: string) => openai(of).chat.completions.create({ model, messages });
const message = (of: Simulator, model: string) => anthropic(of).messages.create({ model, messages, max_tokens: 500 });
const chatStream = (of: Simulator, model: string) =>
  openai(of)
    .chat.completions.stream({ model, messages, stream_options: { include_usage: true } })
    .finalChatCompletion();
const messageStream = (of: Simulator, model: string) =>
  anthropic(of).messages.stream({ model, messages, max_tokens: 500 }).finalMessage();

test("every row of the table parses its own example, with anything after a colon", () => {
  for (const { name, example } of FAULTS) {
    const fault = parseFault(example);
    assert.ok(fault.kind !== "none" && fault.kind !== "unreadable", name);
    assert.deepEqual(parseFault(`${example}:blue`), fault);
  }
});

test("a fault name with an invalid parameter is refused, and other names are no faults", async (t) => {
  for (const name of [
    "sim-slow-soon",
    "sim-long-x",
    "sim-big-9",
    "sim-429-after-1m",
    "sim-slow-99h",
    "sim-close-1006",
  ]) {
    assert.equal(parseFault(name).kind, "unreadable", name);
  }
  for (const name of ["gpt-4o", "sim-small", "sim-", "sim-5000", "x-sim-500", ""]) {
    assert.equal(parseFault(name).kind, "none", name);
  }
  await assert.rejects(chat(await simulator(t), "sim-slow-soon"), { status: 400 });
});

test("every status has the type that both dialects give it", async (t) => {
  const of = await simulator(t);
  const table: [number, string, string][] = [
    [400, "invalid_request_error", "invalid_request_error"],
    [401, "invalid_request_error", "authentication_error"],
    [402, "insufficient_quota", "billing_error"],
    [404, "invalid_request_error", "not_found_error"],
    [413, "invalid_request_error", "request_too_large"],
    [429, "rate_limit_error", "rate_limit_error"],
    [500, "server_error", "api_error"],
    [503, "service_unavailable_error", "api_error"],
    [504, "server_error", "timeout_error"],
    [529, "service_unavailable_error", "overloaded_error"],
  ];
  for (const [status, compatType, messagesType] of table) {
    const model = `sim-${status}`;
    await assert.rejects(chat(of, model), { status, type: compatType, requestID: /^req_sim/ });
    await assert.rejects(message(of, model), { status, type: messagesType, requestID: /^req_sim/ });
  }
});

test("a 429 has a retry time in the header of the dialect", async (t) => {
  const of = await simulator(t);
  const headersOf = async (call: Promise<unknown>): Promise<Headers | undefined> => {
    try {
      await call;
    } catch (error) {
      if (error instanceof OpenAI.APIError || error instanceof Anthropic.APIError) return error.headers;
    }
    return undefined;
  };
  const compat = await headersOf(chat(of, "sim-429"));
  assert.equal(compat?.get("retry-after"), "1");
  assert.equal(compat?.get("x-ratelimit-remaining-requests"), "0");
  const later = await headersOf(message(of, "sim-429-after-30s:x"));
  assert.equal(later?.get("retry-after"), "30");
  assert.match(later?.get("anthropic-ratelimit-requests-reset") ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
});

test("a flaky model fails as often as requested, counted separately for each user", async (t) => {
  const of = await simulator(t);
  const body = { model: "sim-flaky-2", messages, user: "someone" };
  await assert.rejects(openai(of).chat.completions.create(body), { status: 503 });
  await assert.rejects(openai(of).chat.completions.create(body), { status: 503 });
  const answer = await openai(of).chat.completions.create(body);
  assert.equal(answer.choices[0]?.finish_reason, "stop");
  await assert.rejects(openai(of).chat.completions.create({ ...body, user: "another" }), { status: 503 });
});

for (const [dialect, stream] of [
  ["compat", chatStream],
  ["messages", messageStream],
] as const) {
  test(`${dialect}: errors in a stream reach the SDK as errors`, async (t) => {
    const of = await simulator(t);
    await assert.rejects(stream(of, "sim-error-first-event"), /failed within the stream/);
    await assert.rejects(stream(of, "sim-error-mid-stream"), /failed within the stream/);
  });

  test(`${dialect}: a connection dropped at any point is an error, never a short answer`, async (t) => {
    const of = await simulator(t);
    for (const model of ["sim-drop-before-headers", "sim-drop-mid-stream", "sim-drop-mid-body", "sim-bad-http"]) {
      await assert.rejects(stream(of, model), Error, model);
    }
    await settled(of);
    const { dropped, aborted, requests } = of.counts();
    assert.deepEqual({ dropped, aborted, requests }, { dropped: 4, aborted: 0, requests: 4 });
  });

  test(`${dialect}: an empty answer and an empty text are distinguished`, async (t) => {
    const of = await simulator(t);
    await assert.rejects(stream(of, "sim-empty"));
    const silent = await stream(of, "sim-no-text");
    assert.equal(JSON.stringify(silent).includes("simulated answer"), false);
    assert.match(JSON.stringify(silent.usage), /"(completion|output)_tokens":0/);
  });
}

test("a whole answer is truncated within its declared length", async (t) => {
  const of = await simulator(t);
  for (const model of ["sim-drop-mid-body", "sim-drop-mid-stream"]) {
    const text = await rawExchange(of, rawPost("/v1/chat/completions", { model, messages }));
    const [head = "", body = ""] = text.split("\r\n\r\n");
    const declared = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    assert.match(head, /^HTTP\/1\.1 200/);
    assert.equal(Buffer.byteLength(body), Math.ceil(declared / 2));
  }
});

test("a stream dropped between events ends with a whole event, and one dropped inside an event does not", async (t) => {
  const of = await simulator(t);
  const body = (model: string) => ({ model, messages, stream: true });
  const between = await rawExchange(of, rawPost("/v1/chat/completions", body("sim-drop-mid-stream")));
  const within = await rawExchange(of, rawPost("/v1/chat/completions", body("sim-drop-mid-body")));
  assert.match(between, /\}\n\n\r\n$/);
  assert.doesNotMatch(within, /\}\n\n\r\n$/);
  assert.doesNotMatch(between + within, /\[DONE\]|\r\n0\r\n/);
});

test("bytes that are not HTTP are sent as such", async (t) => {
  const answer = await rawExchange(
    await simulator(t),
    rawPost("/v1/chat/completions", { model: "sim-bad-http", messages }),
  );
  assert.equal(answer, "THIS IS NOT HTTP\r\n\r\n");
});

test("garbage is an HTML page with status 200", async (t) => {
  const { url } = await simulator(t);
  const response = await post(`${url}/v1/messages`, { model: "sim-garbage" });
  assert.deepEqual([response.status, response.headers.get("content-type")], [200, "text/html; charset=utf-8"]);
  assert.match(await response.text(), /^<!doctype html>/);
});

test("a long answer has the requested number of words and chunks, and a big one of bytes", async (t) => {
  const of = await simulator(t);
  const long = await chat(of, "sim-long-50");
  assert.equal(long.choices[0]?.message.content?.split(" ").length, 50);
  assert.equal(long.usage?.completion_tokens, 50);
  const stream = await openai(of).chat.completions.create({ model: "sim-long-50", messages, stream: true });
  let chunks = 0;
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content) chunks += 1;
  assert.equal(chunks, 50);
  const big = await chat(of, "sim-big-300k");
  assert.equal(big.choices[0]?.message.content?.length, 300 * 1_024);
  const streamed = await chatStream(of, "sim-big-3000k"); // larger than every buffer, so the stream must wait for its reader
  assert.equal(streamed.choices[0]?.message.content?.length, 3_000 * 1_024);
});

test("gzip is used only for a client that accepts it, whole and streamed", async (t) => {
  const of = await simulator(t);
  const body = { model: "sim-gzip", messages };
  for (const stream of [false, true]) {
    const coded = await post(`${of.url}/v1/chat/completions`, { ...body, stream });
    assert.equal(coded.headers.get("content-encoding"), "gzip");
    assert.match(await coded.text(), /simulated/);
    const plain = await post(`${of.url}/v1/chat/completions`, { ...body, stream }, { "accept-encoding": "identity" });
    assert.equal(plain.headers.get("content-encoding"), null);
    assert.match(await plain.text(), /simulated/);
  }
});

test("slow answers wait before the first byte, slow streams between the chunks", async (t) => {
  const { url } = await simulator(t);
  const arrivals = async (body: object): Promise<number[]> => {
    const startedMs = performance.now();
    const response = await post(`${url}/v1/chat/completions`, { messages, ...body });
    const times = [performance.now() - startedMs];
    for await (const _ of response.body ?? []) times.push(performance.now() - startedMs);
    return times;
  };
  const [headers = 0] = await arrivals({ model: "sim-slow-60ms" });
  assert.ok(headers >= 58, `${headers} ms`); // a timer may fire up to a millisecond early
  const slow = await arrivals({ model: "sim-slow-stream-5ms", stream: true, max_tokens: 8 });
  assert.ok(slow.length > 8, "each chunk arrives by itself");
  assert.ok((slow.at(-1) ?? 0) >= 8 * 4);
  const [, ...pieces] = await arrivals({ model: "sim-slow-stream-5ms" });
  assert.ok(pieces.length >= 3, "a whole body comes in pieces");
});

test("a client that disconnects is counted as aborted, while waiting and during a stream", async (t) => {
  const of = await simulator(t);
  for (const model of ["sim-never", "sim-slow-1h", "sim-slow-stream-1h", "sim-long-1000000"]) {
    const body = rawBody(model);
    await new Promise<void>((done) => {
      const call = request(`${of.url}/v1/chat/completions`, { method: "POST", headers: { connection: "close" } });
      call.on("error", () => done());
      call.on("response", (response) => {
        response.once("data", () => call.destroy());
        response.on("error", () => done());
      });
      call.end(body, () => {
        if (model === "sim-never" || model === "sim-slow-1h") leaveOnceReceived(of, model, () => call.destroy());
      });
    });
  }
  await settled(of);
  const { aborted, answered, dropped, tokens } = of.counts();
  assert.deepEqual(
    { aborted, answered, dropped, tokens },
    { aborted: 4, answered: 0, dropped: 0, tokens: { input: 0, output: 0 } },
  );
});

function rawBody(model: string): string {
  return JSON.stringify({ model, messages, stream: model !== "sim-slow-1h" });
}

function leaveOnceReceived(of: Simulator, model: string, leave: () => void): void {
  if (of.counts().byModel[model] === 1) leave();
  else setImmediate(() => leaveOnceReceived(of, model, leave));
}
