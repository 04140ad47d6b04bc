/**
 * Responses of the simulated provider: the grammar of streams, each kind of item, items sent back, and failing streams.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type OpenAI from "openai";
import type { Simulator } from "../../src/simulator/index.ts";
import { openai, post, simulator } from "./clients.ts";

type Event = { readonly type: string; readonly sequence_number: number } & Readonly<Record<string, unknown>>;

const QUESTION = "What is the weather in Paris?";
const WEATHER = {
  type: "function",
  name: "weather",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: false,
};
const PATCH = { type: "custom", name: "apply_patch" };

async function streamed({ url }: Simulator, body: object): Promise<readonly Event[]> {
  const answer = await post(`${url}/v1/responses`, { model: "sim-large", input: QUESTION, ...body, stream: true });
  assert.equal(answer.status, 200);
  const frames = (await answer.text()).trim().split("\n\n");
  return frames.map((frame) => {
    const [, type = "", data = ""] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? [];
    const event = JSON.parse(data) as Event;
    assert.equal(event.type, type);
    return event;
  });
}

/** Drops what differs between requests. */
function comparable(response: unknown): unknown {
  const text = JSON.stringify(response, (name, value) =>
    name === "encrypted_content" || name.endsWith("_at") ? null : value,
  );
  return JSON.parse(text.replaceAll(/sim\d{8}/g, "id"));
}

const CASES: Readonly<Record<string, { readonly request: object; readonly types: string; readonly status?: string }>> =
  {
    text: { request: {}, types: "message" },
    reasoning: { request: { reasoning: { effort: "low", summary: "auto" } }, types: "reasoning message" },
    "reasoning without a summary": { request: { reasoning: { effort: "low" } }, types: "reasoning message" },
    calls: {
      request: { model: "sim-calls-2+text-first", tools: [WEATHER] },
      types: "message function_call function_call",
    },
    "a custom tool": { request: { tools: [PATCH] }, types: "custom_tool_call" },
    "tools of a namespace": {
      request: { model: "sim-calls-2", tools: [{ type: "namespace", name: "crm", tools: [WEATHER, PATCH] }] },
      types: "function_call custom_tool_call",
    },
    refusal: { request: { model: "sim-refuse" }, types: "message", status: "incomplete" },
    filtered: { request: { model: "sim-filtered" }, types: "message", status: "incomplete" },
    limit: { request: { max_output_tokens: 3 }, types: "message", status: "incomplete" },
    "a cut call": { request: { max_output_tokens: 3, tools: [WEATHER] }, types: "function_call", status: "incomplete" },
  };

test("every kind of answer is the same streamed and whole, and the client's stream reader accepts it", async (t) => {
  const of = await simulator(t);
  const client = openai(of);
  for (const [title, { request, types, status = "completed" }] of Object.entries(CASES)) {
    const asked = {
      model: "sim-large",
      input: QUESTION,
      ...request,
    } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
    const whole = await client.responses.create(asked);
    assert.deepEqual([whole.output.map(({ type }) => type).join(" "), whole.status], [types, status], title);
    const events = await streamed(of, request);
    assert.deepEqual(
      events.map(({ sequence_number }) => sequence_number),
      events.map((_, index) => index),
    );
    const { output_text: _, ...plain } = whole;
    assert.deepEqual(comparable(events.at(-1)?.["response"]), comparable(plain), title);
    const { response } = events[0] as unknown as { readonly response: OpenAI.Responses.Response };
    assert.deepEqual([response.status, response.output, response.usage], ["in_progress", [], null], title);
    const read = await client.responses.stream({ ...asked, stream: true }).finalResponse();
    assert.equal(read.status, status, title);
  }
});

test("reasoning is sent as summary events if requested, and encrypted only at its end", async (t) => {
  const of = await simulator(t);
  const result = await streamed(of, { reasoning: { effort: "low", summary: "auto" } });
  const kinds = [...new Set(result.map(({ type }) => type))].filter((type) => type.includes("reasoning"));
  assert.deepEqual(
    kinds,
    ["part.added", "text.delta", "text.done", "part.done"].map((end) => `response.reasoning_summary_${end}`),
  );
  const [added, done] = ["added", "done"].map(
    (end) => result.find(({ type }) => type === `response.output_item.${end}`)?.["item"] as object,
  );
  assert.deepEqual([added && "encrypted_content" in added, done && "encrypted_content" in done], [false, true]);
  const untold = await streamed(of, { reasoning: { effort: "low" } });
  assert.ok(!untold.some(({ type }) => type.includes("reasoning")));
});

test("a custom tool is called with a text, and a namespaced tool by both of its names", async (t) => {
  const tools = [{ type: "namespace", name: "crm", tools: [WEATHER, PATCH] }];
  const events = await streamed(await simulator(t), { model: "sim-calls-2", tools });
  const items = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
  const [called, patched] = items as Readonly<Record<string, unknown>>[];
  assert.deepEqual([called?.["name"], called?.["namespace"]], ["weather", "crm"]);
  assert.deepEqual([patched?.["name"], patched?.["namespace"]], ["apply_patch", "crm"]);
  assert.match(String(patched?.["input"]), /^simulated/);
  const pieces = events.filter(({ type }) => type === "response.custom_tool_call_input.delta");
  assert.equal(pieces.map(({ delta }) => delta).join(""), patched?.["input"]);
});

test("a choice leaves the tools it names, and an unknown one is refused", async (t) => {
  const of = await simulator(t);
  const request = { tools: [WEATHER, PATCH, { type: "web_search" }] };
  const called = async (choice: unknown): Promise<unknown> => {
    const events = await streamed(of, { ...request, tool_choice: choice });
    const done = events.find(({ type }) => type === "response.output_item.done");
    return (done?.["item"] as { readonly name?: string } | undefined)?.name;
  };
  assert.equal(await called({ type: "custom", name: "apply_patch" }), "apply_patch");
  const allowed = { type: "allowed_tools", mode: "auto", tools: [{ type: "custom", name: "apply_patch" }] };
  assert.equal(await called(allowed), "apply_patch");
  assert.equal(await called("none"), undefined);
  const refused = await post(`${of.url}/v1/responses`, {
    model: "sim-large",
    input: QUESTION,
    ...request,
    tool_choice: { type: "function", name: "apply_patch" },
  });
  assert.equal(refused.status, 400);
});

test("encrypted reasoning is accepted unchanged for its own item, and refused otherwise", async (t) => {
  const client = openai(await simulator(t));
  const reasoning = { effort: "low" as const };
  const { output } = await client.responses.create({ model: "sim-large", input: QUESTION, reasoning });
  const [item] = output;
  assert.ok(item?.type === "reasoning" && item.encrypted_content);
  const again = (sent: object) =>
    client.responses.create({
      model: "sim-large",
      input: [{ role: "user", content: QUESTION }, sent, ...output.slice(1)] as OpenAI.Responses.ResponseInput,
    });
  assert.equal((await again(item)).status, "completed");
  const { id: _, ...withoutId } = item;
  assert.equal((await again(withoutId)).status, "completed");
  for (const changed of [
    { ...item, id: "rs_another" },
    { ...item, encrypted_content: `${item.encrypted_content.slice(0, -2)}AA` },
    { ...item, encrypted_content: "gwr1.key.AAAA" },
    { ...item, encrypted_content: "" },
  ]) {
    await assert.rejects(again(changed), { status: 400, code: "invalid_encrypted_content" });
  }
});

test("a stream fails with the error in both of its forms, and the response has what was complete by then", async (t) => {
  const of = await simulator(t);
  for (const [model, request] of [
    ["sim-error-first-event", {}],
    ["sim-error-mid-stream", {}],
    ["sim-error-mid-stream", { reasoning: { effort: "low" } }],
  ] as const) {
    const events = await streamed(of, { ...request, model });
    assert.deepEqual(
      events.map(({ sequence_number }) => sequence_number),
      events.map((_, index) => index),
    );
    const [error, failed] = events.slice(-2) as [Event, Event];
    const facts = { code: "server_error", message: error["message"], param: null };
    assert.deepEqual(error, {
      ...facts,
      type: "error",
      error: { ...facts, type: "server_error" },
      sequence_number: error.sequence_number,
    });
    const response = failed["response"] as { status: string; error: object; output: { type: string }[] };
    assert.deepEqual([failed.type, response.status], ["response.failed", "failed"]);
    assert.deepEqual(response.error, { code: "server_error", message: error["message"] });
    const done = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
    assert.deepEqual(response.output, done);
    assert.equal(done.length, "reasoning" in request ? 1 : 0);
  }
});

test("the response echoes its request settings", async (t) => {
  const request = {
    temperature: 0.5,
    top_p: 0.9,
    parallel_tool_calls: false,
    metadata: { a: "b" },
    max_tool_calls: 3,
    prompt_cache_key: "k",
    truncation: "auto",
    user: "u",
    text: { verbosity: "low" },
    reasoning: { effort: "none", summary: null },
    tools: [{ type: "web_search" }],
  };
  const events = await streamed(await simulator(t), request);
  const response = events.at(-1)?.["response"] as Readonly<Record<string, unknown>>;
  const repeated = Object.fromEntries(Object.keys(request).map((name) => [name, response[name]]));
  assert.deepEqual(repeated, { ...request, text: { verbosity: "low", format: { type: "text" } } });
  assert.deepEqual([response["store"], response["background"], response["top_logprobs"]], [false, false, 0]);
});
