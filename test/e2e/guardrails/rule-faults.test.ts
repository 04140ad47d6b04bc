/**
 * A guardrail rule that cannot be evaluated and fails closed is 403 `policy_error`, which no client retries: for every
 * traffic type, in requests and answers, whole and streamed. Also a rule with more values to encrypt than the limit of
 * one message.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { startInspector } from "../inspector/support/inspecting.ts";
import { body, chat, connectFilter, headers, outcomeOf } from "../inspector/support/peer.ts";
import {
  endChunks,
  type Recorded,
  reply,
  type Script,
  scriptedUpstream,
  startEvents,
  writeChunk,
} from "../support/upstream.ts";
import { within } from "../support/wait.ts";
import { blocks, chunks } from "./support/answers.ts";

const file = { after };
/** Makes the rule ask for the score of a missing finding. */
const MAIL = "ada.lovelace@example.com";
const CARD = "4111111111111111";

const upstream = await scriptedUpstream(file);
const webSockets = new WebSocketServer({ host: "127.0.0.1", port: 0 });
await once(webSockets, "listening");
after(() => {
  for (const client of webSockets.clients) client.terminate();
  webSockets.close();
});
const address = webSockets.address();
assert.ok(typeof address === "object" && address !== null);

const state = await mkdtemp(join(tmpdir(), "gateway-rule-faults-"));
after(() => rm(state, { recursive: true, force: true }));
const gateway = await startInspector(
  file,
  {
    version: 1,
    providers: [
      { name: "oc", dialect: "compat", base_url: `${upstream.url}/v1`, api_key: "k", models: ["m"] },
      { name: "am", dialect: "messages", base_url: `${upstream.url}/v1`, api_key: "k", models: ["a"] },
      {
        name: "talk",
        dialect: "compat",
        base_url: `http://127.0.0.1:${address.port}/v1`,
        api_key: "k",
        models: ["talk"],
      },
    ],
    mcp: [{ name: "tools", url: `${upstream.url}/tools` }],
    a2a: [{ name: "helper", url: `${upstream.url}/helper` }],
    guardrails: {
      fpe_key: "2b7e151628aed2a6abf7158809cf4f3c",
      detectors: [
        {
          type: "pii",
          name: "finder",
          prefilter: "pure",
          apply_to: ["user", "tool_args", "tool_result", "output"],
          entities: ["EMAIL_ADDRESS", "CREDIT_CARD", "US_SSN"],
        },
      ],
      rules: [
        { name: "faulty", action: "deny", when: '"pii/EMAIL_ADDRESS" in labels && labels["pii/US_SSN"] > 0.5' },
        { name: "cards", action: "redact", operator: "fpe", select: 'a.label == "CREDIT_CARD"' },
      ],
    },
  },
  {
    extproc: { request_body_mode: "streamed", inspect_responses: "streamed" },
    changes: { listen: "127.0.0.1:0", cluster: { node_id: "n1", bootstrap: true, data_dir: state } },
  },
);

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

async function post(path: string, sent: object, more: Readonly<Record<string, string>> = {}) {
  const response = await fetch(gateway.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...more },
    body: JSON.stringify(sent),
  });
  return { status: response.status, retry: response.headers.get("x-should-retry"), text: await response.text() };
}

const SENDERS: Readonly<Record<string, (text: string, isStreamed?: boolean) => ReturnType<typeof post>>> = {
  compat: (content, stream = false) =>
    post("/v1/chat/completions", { model: "m", stream, messages: [{ role: "user", content }] }),
  messages: (content, stream = false) =>
    post("/v1/messages", { model: "a", max_tokens: 9, stream, messages: [{ role: "user", content }] }, VERSION),
  responses: (input, stream = false) => post("/v1/responses", { model: "m", stream, input }),
  "compat to messages": (content, stream = false) =>
    post("/v1/chat/completions", { model: "a", stream, messages: [{ role: "user", content }] }),
  "messages to compat": (content, stream = false) =>
    post("/v1/messages", { model: "m", max_tokens: 9, stream, messages: [{ role: "user", content }] }, VERSION),
  mcp: (text) =>
    post(
      "/mcp/tools",
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "t", arguments: { text }, _meta: META } },
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "t" },
    ),
  a2a: (text) =>
    post(
      "/a2a/helper",
      {
        jsonrpc: "2.0",
        id: 1,
        method: "SendMessage",
        params: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text }] } },
      },
      { "a2a-version": "1.0" },
    ),
};
const VERSION = { "anthropic-version": "2023-06-01" };
const JSON_TYPE = ["Content-Type: application/json"];

/** An answer of the dialect or protocol with this text. */
function completionWith(text: string): Script {
  return (socket, { target, body: asked }: Recorded) => {
    const { id, stream } = JSON.parse(String(asked)) as { readonly id?: number; readonly stream?: boolean };
    const found = [...text].map((content) => ({ content }));
    if (stream === true && !target.includes("responses")) {
      startEvents(socket);
      for (const frame of target.includes("messages") ? blocks(found) : chunks(found)) writeChunk(socket, frame);
      return endChunks(socket);
    }
    const usage = { input_tokens: 1, output_tokens: 1 };
    const content = [{ type: "text", text }];
    const whole: Readonly<Record<string, object>> = {
      "/v1/chat/completions": {
        id: "c",
        object: "chat.completion",
        created: 1,
        model: "m",
        choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
      },
      "/v1/messages": {
        id: "m1",
        type: "message",
        role: "assistant",
        model: "a",
        content,
        stop_reason: "end_turn",
        usage,
      },
      "/tools": { jsonrpc: "2.0", id, result: { resultType: "complete", content } },
      "/helper": {
        jsonrpc: "2.0",
        id,
        result: { message: { messageId: "m2", role: "ROLE_AGENT", parts: [{ text }] } },
      },
      "/v1/responses": {
        id: "resp_1",
        object: "response",
        status: "completed",
        model: "m",
        output: [
          {
            type: "message",
            id: "i",
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text, annotations: [] }],
          },
        ],
      },
    };
    reply(socket, { headers: JSON_TYPE, body: JSON.stringify(whole[target]) });
  };
}

for (const [name, send] of Object.entries(SENDERS)) {
  test(`a failing rule refuses a request and a whole answer: ${name}`, async () => {
    upstream.script = completionWith("well");
    const before = upstream.requests.length;
    const asked = await send(`write to ${MAIL}`);
    assert.deepEqual([asked.status, asked.retry, upstream.requests.length], [403, "false", before], asked.text);
    assert.match(asked.text, /policy_error/);
    upstream.script = completionWith(`write to ${MAIL}`);
    const answered = await send("who is it?");
    assert.deepEqual([answered.status, answered.retry], [403, "false"], answered.text);
    assert.match(answered.text, /policy_error.*|guardrail rule faulty could not be evaluated/);
    assert.ok(!answered.text.includes(MAIL));
    upstream.script = completionWith("well");
    assert.equal((await send("who is it?")).status, 200);
  });
}

for (const name of ["compat", "messages", "compat to messages", "messages to compat"]) {
  test(`a failing rule ends a streamed answer with the code, before its first text and after: ${name}`, async () => {
    for (const before of ["", "a long beginning that nothing holds back, ".repeat(20)]) {
      upstream.script = completionWith(`${before}write to ${MAIL}, if you please`);
      const { status, retry, text } = await SENDERS[name]!("who is it?", true);
      assert.match(text, /policy_error/, name);
      assert.ok(!text.includes("@example.com") && !text.includes("[DONE]"), text);
      if (status !== 200) assert.deepEqual([status, retry], [403, "false"]);
    }
  });
}

test("a failing rule closes a session as a policy would, from either side", async () => {
  for (const side of ["client", "provider"] as const) {
    const connected = once(webSockets, "connection");
    const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/realtime?model=talk`);
    after(() => socket.terminate());
    const texts: string[] = [];
    socket.on("message", (data) => texts.push(String(data)));
    const closed = once(socket, "close");
    await within("the session", once(socket, "open"));
    const [far] = (await within("the provider's end", connected)) as [WebSocket];
    const content = [{ type: "input_text", text: `write to ${MAIL}` }];
    if (side === "client") {
      socket.send(
        JSON.stringify({ type: "conversation.item.create", item: { type: "message", role: "user", content } }),
      );
    } else {
      const place = { response_id: "r", item_id: "i", output_index: 0, content_index: 0 };
      far.send(JSON.stringify({ type: "response.output_text.delta", ...place, delta: `write to ${MAIL} now` }));
      far.send(JSON.stringify({ type: "response.output_text.done", ...place, text: `write to ${MAIL} now` }));
    }
    const [code, reason] = await within("the end", closed);
    assert.deepEqual([code, String(reason)], [1008, "policy_error"], side);
    assert.match(texts.join("\n"), /policy_error/);
  }
});

test("a failing rule refuses requests and answers of the inspector", async () => {
  const filter = connectFilter(gateway.inspector);
  after(() => filter.close());
  const asking = filter.openStream();
  asking.send(headers());
  await asking.nextAnswer();
  asking.send(body(chat(`write to ${MAIL}`)));
  const { immediate_response: refused } = (await asking.nextAnswer()) ?? {};
  const pairs = new Map(
    (refused?.headers?.set_headers ?? []).map(({ header }) => [
      header?.key,
      String(header?.raw_value || header?.value),
    ]),
  );
  assert.deepEqual([Number(refused?.status?.code), pairs.get("x-should-retry")], [403, "false"]);
  assert.match(String(refused?.body), /policy_error/);
  const answering = filter.openStream();
  assert.equal(await outcomeOf(answering, chat("who is it?")), "allowed");
  const choices = [{ index: 0, message: { role: "assistant", content: `write to ${MAIL}` }, finish_reason: "stop" }];
  const answer = JSON.stringify({ object: "chat.completion", choices });
  const pair = (key: string, value: string) => ({ key, raw_value: Buffer.from(value) });
  const head = [pair(":status", "200"), pair("content-type", "application/json")];
  answering.send({ response_headers: { headers: { headers: head } } });
  await answering.nextAnswer();
  answering.send({ response_body: { body: Buffer.from(answer), end_of_stream: true } });
  const { header_mutation: changed, body_mutation: found } =
    (await answering.nextAnswer())?.response_body?.response ?? {};
  const seen = new Map((changed?.set_headers ?? []).map(({ header }) => [header?.key, String(header?.raw_value)]));
  assert.deepEqual([seen.get(":status"), seen.get("x-should-retry")], ["403", "false"]);
  assert.match(String(found?.body), /policy_error/);
});

test("a request with more values than the encryption limit of one message is refused with 413 and their number", async () => {
  for (const [name, send] of Object.entries(SENDERS)) {
    upstream.script = completionWith("well");
    const { status, text } = await send(`${CARD}; `.repeat(3_000));
    assert.equal(status, 413, `${name}: ${text.slice(0, 300)}`);
    assert.match(
      text,
      /rule cards selects 3000 values, and `fpe` encrypts at most 2000 in one message: send it in parts/,
    );
    upstream.script = completionWith(`${CARD}; `.repeat(3_000));
    const answered = await send("which?");
    assert.deepEqual([answered.status, answered.retry], [403, "false"], `${name}: ${answered.text.slice(0, 300)}`);
    assert.match(answered.text, /selects 3000 values/);
  }
});
