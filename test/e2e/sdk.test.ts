// tier: test
/**
 * The official SDKs, pointed at the gateway instead of the provider: no visible difference to a program, except for the
 * headers that the gateway owns.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { toFile } from "openai";
import { startWithFiles, twoDialects } from "./support/config.ts";
import { idle } from "./support/metrics.ts";
import { drain, outcomeOf, raisedBy } from "./support/outcome.ts";
import { type Clients, clientsOf, simulated } from "./support/simulated.ts";
import { eventually } from "./support/wait.ts";

const file = { after };
const provider = await simulated(file);
const gateway = await startWithFiles(file, {
  catalog_overlays: [twoDialects("simulator", provider.url)],
  providers: [{ preset: "simulator", models: ["sim-*"] }],
});
const direct = clientsOf(provider.url);
const proxied = clientsOf(gateway.url);

/** A call made directly and through the gateway has the same outcome; `expected` matches a part of it. */
function same(name: string, expected: RegExp, run: (clients: Clients) => Promise<unknown>): void {
  test(`${name}: the result through the gateway equals the direct one`, async () => {
    await forget();
    const answer = await outcomeOf(direct, run);
    await forget();
    const through = await outcomeOf(proxied, run);
    assert.match(JSON.stringify(answer), expected);
    assert.deepEqual(through, answer);
  });
}

/** Resets the provider's counters once it has finished every request. */
async function forget(): Promise<void> {
  await eventually("the end of what went before", () => {
    const { requests, answered, aborted, dropped } = provider.counts();
    return requests === answered + aborted + dropped;
  });
  await fetch(`${provider.url}/sim/reset`, { method: "POST" });
}

const QUESTION = "What is the capital of France?";
const chat = (model = "sim-small") => ({ model, messages: [{ role: "user" as const, content: QUESTION }] });
const ask = (model = "sim-small") => ({ ...chat(model), max_tokens: 1_000 });
const SCHEMA = { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] };
const CHAT_TOOL = { type: "function" as const, function: { name: "get_weather", parameters: SCHEMA } };
const MESSAGES_TOOL = { name: "get_weather", input_schema: SCHEMA };

same("a chat answer", /simulated answer/, ({ openai }) => openai.chat.completions.create(chat()));
same("a chat stream, chunk by chunk", /"finish_reason":"stop"/, async ({ openai }) =>
  drain(await openai.chat.completions.create({ ...chat(), stream: true })),
);
same("a chat stream with usage", /"total_tokens":\d/, async ({ openai }) =>
  drain(await openai.chat.completions.create({ ...chat(), stream: true, stream_options: { include_usage: true } })),
);
same("a chat stream assembled by the helper", /simulated answer/, ({ openai }) =>
  openai.chat.completions.stream(chat()).finalChatCompletion(),
);
same("a chat answer of 256 KiB", /simulated-simulated/, ({ openai }) =>
  openai.chat.completions.create(chat("sim-big-256k")),
);
same("a compressed chat answer", /"content-encoding":"gzip"/, ({ openai }) =>
  openai.chat.completions.create(chat("sim-gzip")),
);
same("a compressed chat stream", /"content-encoding":"gzip"/, async ({ openai }) =>
  drain(await openai.chat.completions.create({ ...chat("sim-gzip"), stream: true })),
);

for (const isStreamed of [false, true]) {
  const how = isStreamed ? "streamed" : "whole";
  same(`a chat tool call and the turn with its result, ${how}`, /Your tool said: /, async ({ openai }) => {
    const complete = (body: OpenAI.ChatCompletionCreateParamsNonStreaming) =>
      isStreamed
        ? openai.chat.completions.stream({ ...body, stream: true }).finalChatCompletion()
        : openai.chat.completions.create(body);
    const answer = await complete({ ...chat(), tools: [CHAT_TOOL] });
    const message = answer.choices[0]?.message;
    const call = message?.tool_calls?.[0];
    assert.ok(message !== undefined && call !== undefined);
    const turns: OpenAI.ChatCompletionMessageParam[] = [
      ...chat().messages,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: call.id, content: "Sunny" },
    ];
    return [answer, await complete({ ...chat(), messages: turns, tools: [CHAT_TOOL] })];
  });

  for (const sdk of ["anthropic", "classic"] as const) {
    same(`a message with tool call and result, ${how}, by ${sdk}`, /Your tool said: /, async (clients) => {
      const client = clients[sdk];
      const complete = (body: Anthropic.MessageCreateParamsNonStreaming) =>
        isStreamed ? client.messages.stream(body).finalMessage() : client.messages.create(body);
      const answer = await complete({ ...ask(), tools: [MESSAGES_TOOL] });
      const call = answer.content.find((block) => block.type === "tool_use");
      assert.ok(call?.type === "tool_use");
      const { id, name, input } = call;
      const turns: Anthropic.MessageParam[] = [
        ...ask().messages,
        { role: "assistant", content: [{ type: "tool_use", id, name, input }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "Sunny" }] },
      ];
      return [answer, await complete({ ...ask(), messages: turns, tools: [MESSAGES_TOOL] })];
    });
  }
}

for (const sdk of ["anthropic", "classic"] as const) {
  same(`a message by ${sdk}`, /simulated answer/, (clients) => clients[sdk].messages.create(ask()));
  same(`a message stream, event by event, by ${sdk}`, /"type":"message_stop"/, async (clients) =>
    drain(await clients[sdk].messages.create({ ...ask(), stream: true })),
  );
  same(`a message stream assembled by the helper of ${sdk}`, /"stop_reason":"end_turn"/, (clients) =>
    clients[sdk].messages.stream(ask()).finalMessage(),
  );
  same(`the models list of ${sdk}`, /"display_name":"Simulated sim-small"/, async (clients) =>
    drain(clients[sdk].models.list()),
  );
  same(`one model of ${sdk}`, /"display_name":"Simulated a\/b"/, (clients) => clients[sdk].models.retrieve("a/b"));
  same(`a count of tokens by ${sdk}`, /"input_tokens":6/, (clients) => clients[sdk].messages.countTokens(chat()));
}

same("embeddings, which the SDK asks for in base64", /"embedding":\[-?\d/, ({ openai }) =>
  openai.embeddings.create({ model: "sim-embed", input: ["one", "two"] }),
);
same("embeddings as numbers", /"embedding":\[-?\d/, ({ openai }) =>
  openai.embeddings.create({ model: "sim-embed", input: "one", encoding_format: "float" }),
);
same("the models list", /"object":"model"/, async ({ openai }) => drain(openai.models.list()));
same("one model", /"id":"a\/b"/, ({ openai }) => openai.models.retrieve("a/b"));
same("a response", /simulated answer/, ({ openai }) =>
  openai.responses.create({ model: "sim-small", input: QUESTION }),
);
same("a response stream", /response\.completed/, async ({ openai }) =>
  drain(await openai.responses.create({ model: "sim-small", input: QUESTION, stream: true })),
);
same("a completion", /"object":"text_completion"/, ({ openai }) =>
  openai.completions.create({ model: "sim-small", prompt: QUESTION }),
);
same("a transcription whose file precedes its model", /"text":"/, async ({ openai }) =>
  openai.audio.transcriptions.create({
    file: await toFile(Buffer.from("RIFF\0\xff\r\n--not-a-boundary", "latin1"), "speech.wav"),
    model: "sim-small",
  }),
);

const STATUSES = [400, 401, 403, 404, 409, 413, 422, 429, 500, 503, 529];
for (const status of STATUSES) {
  same(`a ${status} raises the SDK's own error`, new RegExp(`"status":${status}`), async (clients) => [
    await raisedBy(clients.openai.chat.completions.create(chat(`sim-${status}`))),
    await raisedBy(clients.openai.responses.create({ model: `sim-${status}`, input: QUESTION })),
    await raisedBy(clients.anthropic.messages.create(ask(`sim-${status}`))),
    await raisedBy(clients.classic.messages.stream(ask(`sim-${status}`)).finalMessage()),
  ]);
}
test("an error as the first event of a stream raises the status it would have had", async () => {
  const { openai, anthropic } = proxied;
  const ofChat = await raisedBy(openai.chat.completions.create({ ...chat("sim-error-first-event"), stream: true }));
  assert.deepEqual([ofChat.raised, ofChat.status, ofChat.code], ["InternalServerError", 500, "internal_error"]);
  const ofMessages = await raisedBy(anthropic.messages.create({ ...ask("sim-error-first-event"), stream: true }));
  assert.deepEqual([ofMessages.raised, ofMessages.status], ["OverloadedError", 529]);
});
same("an error within a stream is raised after what came before it", /"raised":/, async ({ openai, anthropic }) => [
  await drain(await openai.chat.completions.create({ ...chat("sim-error-mid-stream"), stream: true })),
  await drain(await anthropic.messages.create({ ...ask("sim-error-mid-stream"), stream: true })),
]);
test("an answer that is a web page is an error that names the provider", async () => {
  const { raised, status, code, message } = await raisedBy(proxied.openai.chat.completions.create(chat("sim-garbage")));
  assert.deepEqual([raised, status, code], ["InternalServerError", 502, "upstream_invalid"]);
  assert.match(String(message), /Provider simulator's answer .* a web page/);
});

same("the SDK's own repetitions, until the provider has recovered", /"status":503.*"status":200/, async (clients) => [
  await clients.openai.chat.completions.create({ ...chat("sim-flaky-1"), user: "a" }, { maxRetries: 1 }),
  await clients.anthropic.messages.create({ ...ask("sim-flaky-1"), metadata: { user_id: "b" } }, { maxRetries: 1 }),
]);
same("the SDK's own timeout", /APIConnectionTimeoutError/, async ({ openai, anthropic }) =>
  Promise.all([
    raisedBy(openai.chat.completions.create(chat("sim-never"), { timeout: 300 })),
    raisedBy(anthropic.messages.create(ask("sim-never"), { timeout: 300 })),
  ]),
);

same("a call aborted before the headers", /APIUserAbortError/, async ({ openai, anthropic }) => {
  const leaving = new AbortController();
  const calls = [
    raisedBy(openai.chat.completions.create(chat("sim-never"), { signal: leaving.signal })),
    raisedBy(anthropic.messages.create(ask("sim-never"), { signal: leaving.signal })),
  ];
  await eventually("both requests at the provider", () => provider.counts().byModel["sim-never"] === 2);
  leaving.abort();
  const raised = await Promise.all(calls);
  await eventually("both requests abandoned at the provider", () => provider.counts().aborted === 2);
  return raised;
});
same("a stream aborted after its first event", /"aborted":2/, async ({ openai, anthropic }) => {
  const first: unknown[] = [];
  const chunks = await openai.chat.completions.create({ ...chat("sim-slow-stream-30s"), stream: true });
  for await (const chunk of chunks) {
    first.push(chunk);
    chunks.controller.abort();
  }
  const events = await anthropic.messages.create({ ...ask("sim-slow-stream-30s"), stream: true });
  for await (const event of events) {
    first.push(event);
    events.controller.abort();
  }
  const aborted = await eventually("both streams abandoned", () => provider.counts().aborted === 2 && 2);
  return { first, aborted };
});

test("a stream that breaks off is an error in the SDK and never a finished answer", async () => {
  // If it is cut inside an event, the first half has already been sent, and the SDK fails to parse it.
  const cuts = { "sim-drop-mid-stream": "APIError", "sim-drop-mid-body": "SyntaxError" };
  for (const [model, raised] of Object.entries(cuts)) {
    const chunks = await drain(await proxied.openai.chat.completions.create({ ...chat(model), stream: true }));
    assert.equal(chunks.raised?.raised, raised);
    assert.doesNotMatch(JSON.stringify(chunks.items), /"finish_reason":"/);
    const events = await drain(await proxied.anthropic.messages.create({ ...ask(model), stream: true }));
    assert.equal(events.raised?.raised, raised);
    assert.doesNotMatch(JSON.stringify(events.items), /message_stop/);
    if (raised !== "APIError") continue;
    assert.equal(chunks.raised.code, "upstream_incomplete");
    assert.match(String(events.raised.message), /upstream_incomplete/);
  }
});

test("the gateway's own refusals raise the SDKs' typed errors with the gateway's code", async () => {
  const compat = await raisedBy(proxied.openai.chat.completions.create(chat("sim-drop-before-headers")));
  assert.deepEqual([compat.raised, compat.status, compat.code], ["InternalServerError", 502, "upstream_unreachable"]);
  const messages = await raisedBy(proxied.anthropic.messages.create(ask("sim-drop-before-headers")));
  assert.deepEqual([messages.raised, messages.status, messages.type], ["InternalServerError", 502, "api_error"]);
  const { anthropic } = proxied;
  const wrong = await raisedBy(anthropic.messages.create({ ...ask(), model: "" }));
  assert.equal(wrong.status, 400);
  const unknown = await raisedBy(proxied.openai.get("/organizations/x"));
  assert.deepEqual([unknown.raised, unknown.code], ["NotFoundError", "not_found"]);
  assert.equal(typeof unknown.requestId, "string");
});

test("every proxied answer has headers for its provider, attempts, overhead and request id", async () => {
  const { response } = await proxied.openai.chat.completions.create(chat()).withResponse();
  assert.equal(response.headers.get("x-gateway-provider"), "simulator");
  assert.equal(response.headers.get("x-gateway-attempts"), "1");
  assert.match(response.headers.get("x-gateway-overhead") ?? "", /^\d+\.\d+$/);
  assert.match(response.headers.get("x-gateway-request-id") ?? "", /^[0-9a-f-]{36}$/);
  const headers = { "x-request-id": "mine-1" };
  const named = await proxied.openai.chat.completions.create(chat(), { headers }).withResponse();
  assert.equal(named.response.headers.get("x-gateway-request-id"), "mine-1");
});

test("nothing is in flight at the end", async () => {
  await idle(gateway);
});
