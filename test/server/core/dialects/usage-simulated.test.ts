/** Lesson P13: a call costs the same whether it is streamed or not, and the usage read equals the provider's count. */
import assert from "node:assert/strict";
import { once } from "node:events";
import test, { type TestContext } from "node:test";
import { WebSocket } from "ws";
import {
  createBodyUsage,
  createSessionUsage,
  createStreamUsage,
  type Dialect,
  findRoute,
  normalizeUsage,
  SseSplitter,
  type Usage,
} from "../../../../src/server/core/dialects/index.ts";
import { type Simulator, startSimulator } from "../../../../src/simulator/index.ts";

async function simulated(t: TestContext): Promise<Simulator> {
  const simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  t.after(() => simulator.close());
  return simulator;
}

interface Read {
  readonly usage: Usage | undefined;
  readonly isFinal: boolean;
}

async function read({ url }: Simulator, path: string, body: unknown): Promise<Read> {
  const route = findRoute("POST", path);
  assert.ok(route);
  const dialect: Dialect = route.dialect === "messages" ? "messages" : "compat";
  const init = body instanceof FormData ? { body } : { body: JSON.stringify(body) };
  const headers = {
    "anthropic-version": "2023-06-01",
    ...(body instanceof FormData ? {} : { "content-type": "application/json" }),
  };
  const response = await fetch(url + path, { method: "POST", headers, ...init });
  assert.equal(response.status, 200, await (response.ok ? "" : response.text()));
  assert.ok(response.body);
  const stream = createStreamUsage(dialect, route.name);
  const whole = createBodyUsage(dialect);
  const splitter = new SseSplitter();
  const streams = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  for await (const chunk of response.body) {
    if (!streams) whole.push(Buffer.from(chunk));
    else for (const { data } of splitter.push(Buffer.from(chunk))) if (data !== undefined) stream.read(data);
  }
  return streams ? { usage: stream.usage, isFinal: stream.isFinal } : { usage: whole.end(), isFinal: true };
}

const long = "Tell me of the usage of quotation marks. ".repeat(400);
const messages = [{ role: "user", content: "Hello there, what is your usage?" }];
const cached = [{ role: "user", content: [{ type: "text", text: long, cache_control: { type: "ephemeral" } }] }];
const tool = {
  name: "look",
  description: "looks",
  input_schema: { type: "object", properties: { usage: { type: "object" } } },
};

const CASES: readonly (readonly [string, string, object])[] = [
  ["chat", "/v1/chat/completions", { model: "sim-small", messages }],
  ["chat with two choices", "/v1/chat/completions", { model: "sim-small", messages, n: 2 }],
  ["chat that thinks", "/v1/chat/completions", { model: "sim-small", messages, reasoning_effort: "high" }],
  [
    "completions of two prompts",
    "/v1/completions",
    { model: "sim-small", prompt: ["one two", "three"], max_tokens: 9 },
  ],
  ["responses", "/v1/responses", { model: "sim-small", input: "Hello there" }],
  ["responses cut short", "/v1/responses", { model: "sim-small", input: "Hello there", max_output_tokens: 2 }],
  ["messages", "/v1/messages", { model: "sim-small", messages, max_tokens: 100 }],
  ["messages with a cache", "/v1/messages", { model: "sim-small", messages: cached, max_tokens: 100 }],
  ["messages with a tool", "/v1/messages", { model: "sim-small", messages, max_tokens: 100, tools: [tool] }],
];

for (const [name, path, body] of CASES) {
  test(`${name}: streamed and whole answers give the usage that the provider counted`, async (t) => {
    const simulator = await simulated(t);
    // A first call fills the cache, so that both find the same one.
    await read(simulator, path, body);
    const before = simulator.counts().tokens;
    const whole = await read(simulator, path, body);
    const streamed = await read(simulator, path, {
      ...body,
      stream: true,
      ...(path.includes("completions") && { stream_options: { include_usage: true } }),
    });
    assert.ok(whole.usage && whole.usage.inputTokens > 0 && whole.usage.outputTokens > 0);
    assert.deepEqual(streamed, whole);
    const { tokens } = simulator.counts();
    assert.equal(2 * whole.usage.inputTokens, tokens.input - before.input);
    assert.equal(2 * whole.usage.outputTokens, tokens.output - before.output);
  });
}

test("usage of embeddings, rerank, images and transcriptions equals the provider's counts", async (t) => {
  const simulator = await simulated(t);
  const audio = (fields: Readonly<Record<string, string>>) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set("file", new Blob([Buffer.alloc(5_000)]), "a.wav");
    return form;
  };
  const requests: readonly (readonly [string, unknown])[] = [
    ["/v1/embeddings", { model: "sim-embed", input: ["one two three", "four"] }],
    ["/v1/embeddings", { model: "sim-embed", input: "one two three", encoding_format: "base64" }],
    ["/v1/rerank", { model: "sim-rerank", query: "one", documents: ["one two", "three"] }],
    ["/v1/images/generations", { model: "sim-image", prompt: "a red square", n: 2 }],
    ["/v1/audio/speech", { model: "sim-speech", input: "one two", voice: "a", stream_format: "sse" }],
    ["/v1/audio/transcriptions", audio({ model: "sim-hear" })],
    ["/v1/audio/transcriptions", audio({ model: "sim-hear", stream: "true" })],
  ];
  for (const [path, body] of requests) {
    const before = simulator.counts().tokens;
    const { usage, isFinal } = await read(simulator, path, body);
    const { input, output } = simulator.counts().tokens;
    assert.deepEqual(
      [path, usage?.inputTokens, usage?.outputTokens],
      [path, input - before.input, output - before.output],
    );
    assert.ok(isFinal && usage !== undefined && usage.totalTokens > 0, path);
  }
  const spoken = await read(simulator, "/v1/audio/speech", { model: "sim-speech", input: "one two", voice: "a" });
  assert.equal(spoken.usage, undefined);
  assert.equal(
    (await read(simulator, "/v1/audio/transcriptions", audio({ model: "sim-hear", response_format: "text" }))).usage,
    undefined,
  );
});

for (const [path, events] of [
  ["/v1/realtime?model=sim-realtime", [{ type: "response.create", response: { instructions: "Say one two three" } }]],
  ["/v1/responses", [{ type: "response.create", model: "sim-small", input: "Hello there" }]],
] as const) {
  test(`usage of a session on ${path} equals the provider's counts, once per response`, async (t) => {
    const simulator = await simulated(t);
    const socket = new WebSocket(simulator.url.replace("http", "ws") + path);
    t.after(() => socket.terminate());
    const session = createSessionUsage();
    let read = normalizeUsage("compat", { prompt_tokens: 0 })?.totalTokens ?? 0;
    let responses = 0;
    const ended = new Promise<void>((done) => {
      socket.on("message", (bytes: Buffer, isBinary: boolean) => {
        const answer = session.read(bytes, isBinary);
        if (answer === undefined) return;
        read += answer.usage.totalTokens;
        if (++responses === 2) done();
      });
    });
    await once(socket, "open");
    for (const request of [...events, ...events]) socket.send(JSON.stringify(request));
    await ended;
    socket.close();
    await once(socket, "close");
    const { tokens } = simulator.counts();
    assert.equal(read, tokens.input + tokens.output);
    assert.ok(read > 0);
  });
}
