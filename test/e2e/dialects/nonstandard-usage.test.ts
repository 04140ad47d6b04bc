/**
 * Usage in the forms and places that providers have for it: what the budget is charged, and what a client of either dialect
 * receives. Source: design decisions, section 20.
 */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, test } from "node:test";
import { say } from "../governance/support/governed.ts";
import { endChunks, type Script, startEvents, writeChunk } from "../support/upstream.ts";
import { assertIncludes } from "./support/includes.ts";
import { completion, data, json, MESSAGES, startProviders, stream } from "./support/scripted-providers.ts";
import { chunkOf } from "./support/unrequested-streams.ts";

const { oc, am, gateway, key, ask, asMessages, spent } = await startProviders({ after });

const USED = { stream_options: { include_usage: true } };
const TEXTS = { prompt_tokens: "12", completion_tokens: "5", total_tokens: "17" };
const FLOATS = { prompt_tokens: 12.0, completion_tokens: 4.92, total_tokens: 16.92 };

test("counts written as texts or fractions are charged, whole and streamed, in either dialect", async () => {
  for (const usage of [TEXTS, FLOATS]) {
    oc.script = json(completion({ content: "fine" }, { usage }));
    assert.equal(await spent(() => ask("oc-1")), 17);
    const whole = await spent(async () =>
      assert.match((await asMessages()).text, /"input_tokens":12.*"output_tokens":5/),
    );
    assert.equal(whole, 17);
    oc.script = stream(data(chunkOf(0, { content: "fine" }, "stop")), data({ choices: [], usage }), "data: [DONE]\n\n");
    assert.equal(await spent(() => ask("oc-1", { stream: true, ...USED })), 17);
    const streamed = await spent(async () => {
      assert.match((await asMessages({ stream: true })).text, /message_delta.*"input_tokens":12.*"output_tokens":5/);
    });
    assert.equal(streamed, 17);
  }
  const usage = { input_tokens: "12", cache_read_input_tokens: "8.0", output_tokens: "5" };
  const message = {
    ...{ id: "m", type: "message", role: "assistant", model: "am-1", stop_reason: "end_turn" },
    content: [{ type: "text", text: "fine" }],
    usage,
  };
  am.script = json(message);
  assert.equal(await spent(() => ask("am-1", { max_tokens: 9 }, MESSAGES)), 25);
  assert.match((await ask("am-1")).text, /"prompt_tokens":20,"completion_tokens":5,"total_tokens":25/);
  am.script = json({ input_tokens: "12" });
  const counted = await say(gateway, { key, path: "/v1/responses/input_tokens", body: { model: "am-1", input: "a" } });
  assert.match(counted.text, /"input_tokens":12\b/);
});

test("usage after `[DONE]` is charged and shown, at once or later, and its absence delays no end for long", async () => {
  const usage = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 };
  const text = [data(chunkOf(0, { content: "fine" }, "stop")), "data: [DONE]\n\n"];
  const begin = (socket: Socket): void => {
    startEvents(socket);
    for (const event of text) writeChunk(socket, event);
  };
  const late: Script = (socket) => {
    begin(socket);
    setTimeout(() => {
      writeChunk(socket, data({ choices: [], usage }));
      endChunks(socket);
    }, 100);
  };
  const shown = /"text":"fine".*message_delta.*"input_tokens":12.*"output_tokens":5.*message_stop/s;
  for (const script of [
    stream(...text, data({ choices: [], usage })),
    stream(`${text.join("")}${data({ usage })}`),
    late,
  ]) {
    oc.script = script;
    assert.equal(await spent(() => ask("oc-1", { stream: true, ...USED })), 17);
    assert.equal(await spent(async () => assert.match((await asMessages({ stream: true })).text, shown)), 17);
    const responding = async (): Promise<void> => {
      const answer = await say(gateway, {
        ...{ key, path: "/v1/responses" },
        body: { model: "chat-1", input: "a", stream: true },
      });
      assert.match(answer.text, /response\.completed.*"input_tokens":12.*"output_tokens":5/);
    };
    assert.equal(await spent(responding), 17);
  }
  const endless: Script = (socket) => {
    begin(socket);
    const timer = setInterval(() => writeChunk(socket, ": waiting\n\n"), 50);
    socket.once("close", () => clearInterval(timer));
  };
  const cut: Script = (socket) => {
    begin(socket);
    setTimeout(() => socket.destroy(), 100);
  };
  const flooding: Script = (socket) => {
    begin(socket);
    for (let at = 0; at < 100; at += 1) writeChunk(socket, data({ choices: [], more: "x".repeat(2_000) }));
  };
  for (const script of [stream(...text), begin, endless, cut, flooding]) {
    oc.script = script;
    const { text: answer } = await asMessages({ stream: true });
    assert.match(answer, /"text":"fine".*event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/s);
    assert.doesNotMatch(answer, /event: error/);
  }
});

test("tokens that only the total shows are output, and the cache that a bridge leaves out is input", async () => {
  const hidden = { prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 };
  oc.script = json(completion({ content: "fine" }, { usage: hidden }));
  assert.equal(await spent(() => ask("oc-1")), 623);
  const thought = JSON.parse((await asMessages()).text) as { usage: object };
  assertIncludes(thought.usage, {
    input_tokens: 20,
    output_tokens: 603,
    output_tokens_details: { thinking_tokens: 405 },
  });
  const beside = {
    ...{ prompt_tokens: 8, completion_tokens: 5, total_tokens: 1_013 },
    prompt_tokens_details: { cached_tokens: 1_000 },
  };
  oc.script = json(completion({ content: "fine" }, { usage: beside }));
  const cached = JSON.parse((await asMessages()).text) as { usage: object };
  assertIncludes(cached.usage, { input_tokens: 8, cache_read_input_tokens: 1_000, output_tokens: 5 });
});

test("a reranker is charged the tokens that it reports in `meta`, and nothing for search units", async () => {
  const results = Array.from({ length: 200 }, (_, index) => ({ index, document: { text: "x".repeat(100) } }));
  const rerank = () =>
    say(gateway, { key, path: "/v1/rerank", body: { model: "oc-1", query: "q", documents: ["a", "b"] } });
  const cases: readonly (readonly [object, number])[] = [
    [{ tokens: { input_tokens: 12, output_tokens: 0 }, billed_units: null }, 12],
    [{ billed_units: { input_tokens: 12.0, search_units: 1 } }, 12],
    [{ billed_units: { total_tokens: "12" } }, 12],
    [{ billed_units: { search_units: 1 } }, 0],
  ];
  for (const [meta, units] of cases) {
    for (const body of [
      { id: "r", results: results.slice(0, 1), meta },
      { id: "r", results, meta },
      { meta, results },
    ]) {
      oc.script = json(body);
      assert.equal(await spent(rerank), units, JSON.stringify(meta));
    }
  }
});
