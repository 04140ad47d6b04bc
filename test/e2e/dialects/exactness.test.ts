/**
 * JSON that the gateway must not interpret survives translation unchanged: schemas, arguments and inputs of tools, with
 * every digit. Also compressed requests, requests of older clients, and deprecated fields.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { exchange, post } from "../support/raw.ts";
import { reply } from "../support/upstream.ts";
import { tellByAnthropic } from "./support/anthropic.ts";
import { answers, QUESTION, QUESTION_REQUEST } from "./support/features/question.ts";
import { tellByOpenai } from "./support/openai.ts";
import { JSON_TYPE } from "./support/reading.ts";
import { aliasOf, receivedBy, startRig } from "./support/rig.ts";
import { framesOf, sends, startHostile } from "./support/scripted.ts";
import { FORMS } from "./support/sdk-answer.ts";

const file = { after };
const [rig, hostile] = await Promise.all([startRig(file, ["sim-small", "sim-gzip", "sim-open"]), startHostile(file)]);
const { openai, anthropic, classic } = rig.clients;

/** Numbers beyond a double, member names in an unusual order, and one inherited name. */
const SCHEMA =
  '{"type":"object","properties":{"z":{"type":"integer","maximum":12345678901234567890},"a":{"const":1.10},' +
  '"__proto__":{"enum":[1e2,-0.0]},"10":{},"9":{}}}';
const INPUT =
  '{"z":12345678901234567890,"a":1.10,"__proto__":{"x":1e2},"10":1,"9":-0.0,"text":"\\u00e9\\ud83c\\udf0d"}';

const PATHS = { compat: "/v1/messages", messages: "/v1/chat/completions" } as const;

test("a tool schema reaches a provider of the other dialect with every digit", async () => {
  const turn = `"messages":[{"role":"user","content":"Hello."}]`;
  const bodies = {
    messages: `{"model":"messages/sim-small",${turn},"tools":[{"type":"function","function":{"name":"f","parameters":${SCHEMA}}}]}`,
    compat: `{"model":"compat/sim-small","max_tokens":99,${turn},"tools":[{"name":"f","input_schema":${SCHEMA}}]}`,
  };
  for (const upstream of ["compat", "messages"] as const) {
    const answer = await exchange(file, rig.gateway.port, post(PATHS[upstream], bodies[upstream], JSON_TYPE));
    assert.equal(answer.status, 200, answer.body.toString());
    const { text } = await receivedBy(rig.simulators[upstream]);
    assert.ok(text?.includes(SCHEMA), `${text}`);
  }
});

test("call arguments reach a provider of the other dialect with every digit", async () => {
  const chat =
    `{"model":"messages/sim-small","messages":[{"role":"user","content":"Hello."},{"role":"assistant","tool_calls":` +
    `[{"id":"call_1","type":"function","function":{"name":"f","arguments":${JSON.stringify(INPUT)}}}]},` +
    `{"role":"tool","tool_call_id":"call_1","content":"done"}]}`;
  await exchange(file, rig.gateway.port, post(PATHS.messages, chat, JSON_TYPE));
  const blocks = await receivedBy(rig.simulators.messages);
  assert.ok(blocks.text?.includes(`"input":${INPUT}`), `${blocks.text}`);
  const message =
    `{"model":"compat/sim-small","max_tokens":9,"messages":[{"role":"user","content":"Hello."},{"role":"assistant",` +
    `"content":[{"type":"tool_use","id":"toolu_1","name":"f","input":${INPUT}}]},` +
    `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"done"}]}]}`;
  await exchange(file, rig.gateway.port, post(PATHS.compat, message, JSON_TYPE));
  const calls = await receivedBy(rig.simulators.compat);
  const { messages } = calls.body as { messages: { tool_calls?: { function: { arguments: string } }[] }[] };
  const result = messages[1]?.tool_calls?.[0]?.function.arguments ?? "";
  assert.equal(withoutEscapes(result), withoutEscapes(INPUT));
});

test("a provider's tool call reaches a client of the other dialect with every digit, streamed or not", async () => {
  const usage = `"usage":{"input_tokens":1,"output_tokens":1}`;
  const message =
    `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1",` +
    `"name":"f","input":${INPUT}}],"stop_reason":"tool_use","stop_sequence":null,${usage}}`;
  const call = `{"id":"call_1","type":"function","function":{"name":"f","arguments":${JSON.stringify(INPUT)}}}`;
  const completion =
    `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls",` +
    `"message":{"role":"assistant","content":null,"tool_calls":[${call}]}}]}`;
  const wholes = { compat: completion, messages: message };
  for (const upstream of ["compat", "messages"] as const) {
    hostile.upstreams[upstream].script = (socket) => reply(socket, { headers: JSON_TYPE, body: wholes[upstream] });
    for (const stream of [false, true]) {
      const body = `{"model":"${upstream}-m","max_tokens":9,"stream":${stream},"messages":[{"role":"user","content":"x"}]}`;
      const answer = await exchange(file, hostile.gateway.port, post(PATHS[upstream], body, JSON_TYPE));
      assert.equal(answer.status, 200);
      assert.ok(jsonWithin(answer.body.toString()).includes(withoutEscapes(INPUT)), answer.body.toString());
    }
  }
});

test("fragments of a call are joined into what the provider said, however they were cut", async () => {
  const fragments = [...INPUT];
  const calls = (it: object): object => ({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...it }] } }] });
  hostile.upstreams.compat.script = sends(
    ...framesOf("compat", [
      calls({ id: "call_1", function: { name: "f", arguments: "" } }),
      ...fragments.map((text) => calls({ function: { arguments: text } })),
      { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
    ]),
  );
  const body = `{"model":"compat-m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"x"}]}`;
  const answer = await exchange(file, hostile.gateway.port, post(PATHS.compat, body, JSON_TYPE));
  const pieces = [...answer.body.toString().matchAll(/"partial_json":("(?:[^"\\]|\\.)*")/g)];
  assert.equal(pieces.map(([, text]) => JSON.parse(String(text)) as string).join(""), INPUT);
});

test("a compressed request and a compressed answer are translated between the dialects", async () => {
  const body = gzipSync(JSON.stringify({ ...QUESTION_REQUEST.openai, model: aliasOf("messages", "sim-small") }));
  const headers = [...JSON_TYPE, "Content-Encoding: gzip"];
  const answer = await exchange(file, rig.gateway.port, post(PATHS.messages, body, headers));
  assert.equal(answer.status, 200, answer.body.toString());
  assert.match(answer.body.toString(), /simulated answer/);
  for (const form of FORMS) {
    const model = aliasOf("messages", "sim-gzip");
    answers(await tellByOpenai(openai, { form, model, params: QUESTION_REQUEST.openai }), "sim-gzip", QUESTION);
    const other = aliasOf("compat", "sim-gzip");
    answers(
      await tellByAnthropic(anthropic, { form, model: other, params: QUESTION_REQUEST.anthropic }),
      "sim-gzip",
      QUESTION,
    );
  }
});

test("an older messages client is served by a compat provider, with the sampling parameters of its version", async () => {
  const params = { ...QUESTION_REQUEST.anthropic, temperature: 0.5, top_k: 5, metadata: { user_id: "u-17" } };
  for (const form of FORMS) {
    const result = await tellByAnthropic(classic, { form, model: aliasOf("compat", "sim-open"), params });
    answers(result, "sim-open", QUESTION);
    const { body } = await receivedBy(rig.simulators.compat);
    assert.deepEqual([body["temperature"], body["top_k"]], [0.5, 5]);
  }
});

test("a request with the deprecated function fields is answered with them", async () => {
  const parameters = { type: "object", properties: { city: { type: "string" } } };
  const request = {
    ...QUESTION_REQUEST.openai,
    model: aliasOf("messages", "sim-small"),
    functions: [{ name: "get_weather", parameters }],
  };
  const whole = await openai.chat.completions.create(request);
  const { message, finish_reason } = whole.choices[0] ?? {};
  assert.equal(finish_reason, "function_call");
  assert.equal(message?.function_call?.name, "get_weather");
  assert.deepEqual(JSON.parse(message.function_call.arguments), { city: "simulated city" });
  assert.equal(message.tool_calls, undefined);
  const streamed = (await openai.chat.completions.stream(request).finalChatCompletion()).choices[0];
  assert.equal(streamed?.finish_reason, "function_call");
  assert.deepEqual(JSON.parse(streamed.message.function_call?.arguments ?? ""), { city: "simulated city" });
});

/** Normalizes two spellings of one text. */
function withoutEscapes(text: string): string {
  return text.replace(/\\u([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Returns the answer's text with JSON inside its strings unwrapped, as far as possible. */
function jsonWithin(text: string): string {
  return withoutEscapes(text.replaceAll("\\\\u", "\\u").replaceAll('\\"', '"'));
}

test("thinking without a signature from a compat provider does not exclude a client from a messages provider", async () => {
  const turns =
    '[{"role":"user","content":"Hello."},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":""},' +
    '{"type":"text","text":"Hi."}]},{"role":"user","content":"Go on."}]';
  const body = `{"model":"messages/sim-small","max_tokens":99,"messages":${turns}}`;
  const version = ["anthropic-version: 2023-06-01"];
  const answer = await exchange(file, rig.gateway.port, post("/v1/messages", body, [...JSON_TYPE, ...version]));
  assert.equal(answer.status, 200, answer.body.toString());
  const { text } = await receivedBy(rig.simulators.messages);
  assert.ok(text?.includes('{"role":"assistant","content":[{"type":"text","text":"Hi."}]}'), `${text}`);
  assert.ok(!text?.includes("Hm."));
});
