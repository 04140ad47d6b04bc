/**
 * Answers that deviate from their dialect's API description, for clients of either dialect: arguments in other forms,
 * several choices, unrequested streams, and tools with merged schemas. Source: design decisions, section 20.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { say } from "../governance/support/governed.ts";
import { reply, type Script } from "../support/upstream.ts";
import { completion, data, GOOD, json, MESSAGES, startProviders, stream } from "./support/scripted-providers.ts";
import { chunkOf, started, UNREQUESTED_STREAMS } from "./support/unrequested-streams.ts";

const { oc, am, gateway, key, ask, asMessages, spent } = await startProviders({ after });

type Block = { readonly type: string; readonly text?: string; readonly thinking?: string; readonly input?: unknown };
const contentOf = async (script: Script, facts: object = {}): Promise<readonly Block[]> => {
  oc.script = script;
  const answer = await asMessages(facts);
  assert.equal(answer.status, 200, answer.text);
  return (JSON.parse(answer.text) as { content: readonly Block[] }).content;
};
const ofText = (content: string) => ({ index: 0, message: { role: "assistant", content } });
const called = (written: unknown) => ({
  content: null,
  tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: written } }],
});

test("arguments in other forms reach a messages client as an object", async () => {
  for (const [written, input] of [
    [
      { a: 1, b: { c: [true] } },
      { a: 1, b: { c: [true] } },
    ],
    ['{"a":"x\ny"}', { _raw: '{"a":"x\ny"}' }],
    ["ls -la", { _raw: "ls -la" }],
    ["[1]", { _raw: "[1]" }],
    ["", {}],
  ] as const) {
    const content = await contentOf(json(completion(called(written))));
    assert.deepEqual(content[0]?.input, input);
  }
  oc.script = (socket) =>
    reply(socket, {
      headers: ["Content-Type: application/json"],
      body: JSON.stringify(completion(called("@"))).replace('"@"', '{"n":12345678901234567890}'),
    });
  assert.match((await asMessages()).text, /"input":\{"n":12345678901234567890\}/);
});

test("several choices become one message, and an unrequested stream becomes a whole answer", async () => {
  const [thought, text] = [{ reasoning_content: "hm" }, { content: "fine" }];
  const thinking = { thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 4_096 };
  const parts = {
    ...GOOD,
    choices: [thought, text].map((message, index) => ({ index, message, finish_reason: "stop" })),
  };
  const types = (content: readonly Block[]) => content.map(({ type }) => type);
  assert.deepEqual(types(await contentOf(json(parts), thinking)), ["thinking", "text"]);
  const chunk = (index: number, delta: object, finish_reason: string | null = null) => ({
    choices: [{ index, delta, finish_reason }],
  });
  const events = [
    data(chunk(0, thought)),
    data(chunk(1, { content: "fi" })),
    data(chunk(1, { content: "ne" }, "stop")),
    data({ choices: [], x_groq: { usage: GOOD.usage } }),
    "data: [DONE]\n\n",
  ];
  assert.deepEqual(types(await contentOf(stream(...events), thinking)), ["thinking", "text"]);
  for (const type of ["application/json", "text/plain", "application/octet-stream"]) {
    const script: Script = (socket) => reply(socket, { headers: [`Content-Type: ${type}`], body: events.join("") });
    const content = await contentOf(script, thinking);
    assert.equal(content[1]?.text, "fine");
  }
  for (const end of ["\n", "\r", "\r\n", "\n\n"]) {
    oc.script = stream("\u{feff}", ...events.map((event) => event.trimEnd() + end));
    const streamed = await asMessages({ ...thinking, stream: true });
    assert.match(streamed.text, /thinking_delta.*"text":"fi".*"text":"ne".*message_stop/s, JSON.stringify(end));
    assert.match(streamed.text, /"output_tokens":5/);
  }
});

const TYPES = [
  "text/event-stream",
  "application/json",
  "text/plain; charset=utf-8",
  "application/octet-stream",
  "image/png",
  "",
];
const inOneBody = (type: string, events: readonly string[]): Script => {
  const headers = type === "" ? [] : [`Content-Type: ${type}`];
  return (socket) => reply(socket, { headers, body: events.join("") });
};

for (const [path, body, chunks, units, whole] of UNREQUESTED_STREAMS) {
  test(`an unrequested stream becomes a whole answer on ${path} in its own dialect, and is metered`, async () => {
    const events = chunks.map((event) => (event === "[DONE]" ? "data: [DONE]\n\n" : data(event)));
    for (const type of TYPES) {
      oc.script = inOneBody(type, events);
      am.script = oc.script;
      const used = await spent(async () => {
        const answer = await say(gateway, { key, path, body });
        assert.deepEqual(
          [answer.status, answer.headers.get("content-type")],
          [200, "application/json"],
          `${type}: ${answer.text}`,
        );
        assert.deepEqual(JSON.parse(answer.text), whole, type);
        assert.equal(answer.headers.get("content-length"), String(Buffer.byteLength(answer.text)));
      });
      assert.equal(used, units, type);
    }
    // A client that requests a stream gets it, metered, whatever its content type.
    oc.script = inOneBody("application/json", events);
    am.script = oc.script;
    const counted = path === MESSAGES ? {} : { stream_options: { include_usage: true } };
    const used = await spent(async () => {
      const answer = await say(gateway, { key, path, body: { ...body, stream: true, ...counted } });
      assert.match(String(answer.headers.get("content-type")), /^text\/event-stream/);
      assert.equal(answer.text, events.join(""));
    });
    assert.equal(used, units);
    oc.script = inOneBody("text/event-stream", events.slice(0, 1));
    am.script = oc.script;
    const cut = await say(gateway, { key, path, body });
    assert.equal(cut.status, 502, cut.text);
    assert.match(cut.text, /could not be read: the stream ended before/);
  });
}

test("a whole answer labeled as a stream is read, and an unrequested stream is bounded", async () => {
  oc.script = (socket) => reply(socket, { headers: ["Content-Type: text/event-stream"], body: JSON.stringify(GOOD) });
  const units = await spent(async () => {
    const answer = await ask("oc-1");
    assert.deepEqual([answer.headers.get("content-type"), answer.text], ["application/json", JSON.stringify(GOOD)]);
  });
  assert.equal(units, 15);
  const piece = data(chunkOf(0, { content: "x".repeat(1 << 20) }));
  oc.script = stream(...Array.from({ length: 40 }, () => piece));
  const long = await ask("oc-1");
  assert.equal(long.status, 502);
  assert.match(long.text, /too long/);
  oc.script = stream(piece, data({ error: { message: "m", code: 500 } }));
  assert.match((await ask("oc-1")).text, /upstream_invalid/);
});

test("an answer that its provider could not finish is an error for the client of another dialect", async () => {
  const usage = { prompt_tokens: 300, completion_tokens: 21, total_tokens: 321 };
  for (const reason of ["error", "network_error", "insufficient_system_resource", "abort"]) {
    oc.script = json({
      ...completion({ content: "hal" }, { usage }),
      choices: [{ ...ofText("hal"), finish_reason: reason }],
    });
    const answer = await asMessages();
    assert.deepEqual([answer.status, /upstream_invalid/.test(answer.text)], [502, true], reason);
    oc.script = stream(
      data(chunkOf(0, { content: "hal" })),
      data({ ...chunkOf(0, {}, reason), usage }),
      "data: [DONE]\n\n",
    );
    const streamed = await asMessages({ stream: true });
    assert.match(streamed.text, /event: error/);
    assert.doesNotMatch(streamed.text, /message_stop/);
  }
});

test("parts that only name the source of a text are left out", async () => {
  const [thought, source] = [
    {
      type: "thinking",
      thinking: [
        { type: "text", text: "hm" },
        { type: "tool_reference", tool: "web" },
      ],
    },
    { type: "reference", reference_ids: [1, 2] },
  ];
  const parts = [thought, { type: "text", text: "fi" }, source, { type: "text", text: "ne" }];
  const thinking = { thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 4_096 };
  const content = await contentOf(json(completion({ content: parts })), thinking);
  assert.deepEqual(
    content.map((block) => block.thinking ?? block.text),
    ["hm", "fine"],
  );
  oc.script = stream(
    ...parts.map((part) => data(chunkOf(0, { content: [part] }))),
    data(chunkOf(0, { content: "" }, "stop")),
  );
  const streamed = await asMessages({ ...thinking, stream: true });
  assert.match(streamed.text, /"thinking":"hm".*"text":"fi".*"text":"ne".*message_stop/s);
});

test("thinking and text in parts of another form are thinking and text", async () => {
  const thought = (text: string) => ({ type: "reasoning", summary: [{ type: "summary_text", text }] });
  const parts = [thought("h"), thought("m"), { type: "text", text: "fi" }, { type: "output_text", text: "ne" }];
  const thinking = { thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 4_096 };
  const content = await contentOf(json(completion({ content: parts })), thinking);
  assert.deepEqual(
    content.map((block) => block.thinking ?? block.text),
    ["hm", "fine"],
  );
  oc.script = stream(
    ...parts.map((part) => data(chunkOf(0, { content: [part] }))),
    data(chunkOf(0, { content: [{ type: "reasoning", summary: [] }] }, "stop")),
  );
  const streamed = await asMessages({ ...thinking, stream: true });
  assert.match(streamed.text, /"thinking":"h".*"thinking":"m".*"text":"fi".*"text":"ne".*message_stop/s);
});

test("thinking that a server repeats whole with its signature is thought once", async () => {
  const signed = (text: string, index: number) => ({
    reasoning_details: [{ type: "reasoning.text", text, signature: `s${index}`, index }],
  });
  const deltas = [
    { reasoning_content: "he" },
    { reasoning_content: "llo" },
    signed("hello", 0),
    { reasoning_content: "again" },
    signed("again", 1),
    { content: "fine" },
  ];
  const thinking = { thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 4_096 };
  oc.script = stream(...deltas.map((delta) => data(chunkOf(0, delta))), data(chunkOf(0, {}, "stop")));
  const { text } = await asMessages({ ...thinking, stream: true });
  const found = [...text.matchAll(/"(?:thinking|signature|text)":"([^"]+)"/g)].map(([, piece]) => piece);
  assert.deepEqual(
    found.filter((piece) => piece !== ""),
    ["he", "llo", "s0", "again", "s1", "fine"],
  );
});

test("a tool whose schema has alternatives at the top level is sent without them", async () => {
  am.script = json({
    ...{ id: "m", type: "message", role: "assistant", model: "am-1", stop_reason: "tool_use" },
    content: [{ type: "tool_use", id: "t", name: "f", input: '{"path":"x"}' }],
    usage: { input_tokens: 1, output_tokens: 1 },
  });
  const variant = (name: string) => ({ type: "object", properties: { [name]: { type: "string" } }, required: [name] });
  for (const union of ["anyOf", "oneOf", "allOf"]) {
    const parameters = { [union]: [variant("path"), { $ref: "#/$defs/other" }], $defs: { other: variant("url") } };
    const answer = await ask("am-1", { tools: [{ type: "function", function: { name: "f", parameters } }] });
    assert.equal(answer.status, 200, answer.text);
    // All of `allOf` can be expressed in one object; alternatives cannot.
    const expectedText = union === "allOf" ? null : 'tools;field="tools[0].function.parameters"';
    assert.equal(answer.headers.get("x-gateway-fidelity-losses"), expectedText, union);
    assert.match(answer.text, /"arguments":"\{\\"path\\":\\"x\\"\}"/);
    const sent = JSON.parse(String(am.requests.at(-1)?.body)) as { tools: { input_schema: Record<string, unknown> }[] };
    const schema = sent.tools[0]?.input_schema ?? {};
    assert.equal(schema["type"], "object");
    assert.ok(!(union in schema));
    assert.deepEqual(Object.keys(schema["properties"] as object), ["path", "url"]);
    assert.deepEqual(schema["required"] ?? [], union === "allOf" ? ["path", "url"] : []);
  }
});

test("schema constraints lost by merging alternatives are reported, and nothing else is", async () => {
  am.script = json({ ...started, content: [{ type: "text", text: "fine" }], stop_reason: "end_turn", usage: {} });
  const [a, b] = ["a", "b"].map((name) => ({ properties: { [name]: { type: "string" } }, required: [name] }));
  const object = { type: "object", ...a };
  const LOSSY = [
    { ...object, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    { allOf: [{ ...object, additionalProperties: false }] },
    { allOf: [{ ...object, minProperties: 2 }] },
    { oneOf: [{ ...object, description: "one" }] },
    { $ref: "#/$defs/missing" },
    { $ref: "https://schemas.test/tool.json" },
    { anyOf: [{ allOf: [object, { oneOf: [a, b] }] }, object] },
    { ...object, allOf: [b], additionalProperties: false },
  ];
  const WHOLE_SCHEMAS = [
    { oneOf: [object] },
    { anyOf: [object, { type: "null" }, { type: "string" }] },
    { anyOf: [object, { ...object, title: "again" }] },
    { allOf: [a, b], title: "both", minProperties: 1 },
    { $ref: "#/definitions/a", definitions: { a: object } },
    object,
  ];
  for (const [isLossy, schemas] of [
    [true, LOSSY],
    [false, WHOLE_SCHEMAS],
  ] as const) {
    for (const parameters of schemas) {
      const tool = { name: "f", parameters };
      const input = { model: "am-1", input: "x", tools: [{ type: "function", ...tool }] };
      for (const answer of [
        await ask("am-1", { tools: [{ type: "function", function: tool }] }),
        await say(gateway, { key, path: "/v1/responses", body: input }),
      ]) {
        assert.equal(answer.status, 200, answer.text);
        const losses = answer.headers.get("x-gateway-fidelity-losses") ?? "";
        assert.equal(/\btools;field="tools/.test(losses), isLossy, `${JSON.stringify(parameters)}: ${losses}`);
      }
    }
  }
});

test("images, sound and late sources of a compat provider reach clients of messages and of responses", async () => {
  const url = "data:image/png;base64,aW1n";
  const deltas = [
    { content: "Here:" },
    { images: [{ type: "image_url", image_url: { url } }] },
    { audio: { transcript: "unsaid", data: "aW1n" } },
    { tool_calls: [{ index: 0, id: "call_1", function: { name: "f", arguments: "{}" } }] },
    { annotations: [{ type: "url_citation", url_citation: { url: "https://a.test/", title: "A" } }] },
  ];
  const chunks = deltas.map((delta) => data({ choices: [{ index: 0, delta }] }));
  const end = data({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] });
  const message = Object.assign({}, ...deltas) as object;
  for (const script of [json(completion(message)), stream(...chunks, end, "data: [DONE]\n\n")]) {
    oc.script = script;
    const content = await contentOf(script);
    assert.match(
      content[0]?.text ?? "",
      /^Here:\n\n\[An image \(image\/png, 3 bytes\) is left out.*unsaid\n\n\[Sound \(3 bytes\) is left out/s,
    );
    const answer = await say(gateway, { key, path: "/v1/responses", body: { model: "chat-1", input: "a" } });
    assert.equal(answer.status, 200, answer.text);
    const { output } = JSON.parse(answer.text) as { output: readonly Record<string, unknown>[] };
    const generated = output.find(({ type }) => type === "image_generation_call");
    assert.equal(generated?.["result"], "aW1n");
    assert.match(JSON.stringify(output), /"url":"https:\/\/a.test\/"/);
    assert.match(JSON.stringify(output), /Sound \(3 bytes\) is left out/);
  }
});

test("sources beside the choices are annotations for clients of responses", async () => {
  const sources = { citations: ["https://a.test/"], search_results: [{ url: "https://a.test/", title: "A" }] };
  const chunk = { choices: [{ index: 0, delta: { content: "Yes [1]" }, finish_reason: "stop" }], ...sources };
  for (const script of [json({ ...GOOD, ...sources }), stream(data(chunk), "data: [DONE]\n\n")]) {
    oc.script = script;
    for (const streams of [false, true]) {
      const body = { model: "chat-1", input: "a", stream: streams };
      const { text } = await say(gateway, { key, path: "/v1/responses", body });
      assert.match(
        text,
        /"type":"url_citation","start_index":0,"end_index":\d+,"title":"A","url":"https:\/\/a\.test\/"/,
      );
    }
  }
});

test("arguments that a messages provider repeats in each event are one object for clients of other dialects", async () => {
  const event = (type: string, more: object): string => `event: ${type}\n${data({ type, ...more })}`;
  const pieces = ['{"a"', '{"a":1', '{"a":1}'];
  am.script = stream(
    event("message_start", { message: { id: "m", type: "message", role: "assistant", content: [], usage: {} } }),
    event("content_block_start", { index: 0, content_block: { type: "tool_use", id: "t1", name: "f", input: {} } }),
    ...pieces.map((partial_json) =>
      event("content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json } }),
    ),
    event("content_block_stop", { index: 0 }),
    event("message_delta", { delta: { stop_reason: "tool_use" }, usage: { input_tokens: 1, output_tokens: 1 } }),
    event("message_stop", {}),
  );
  const streamed = await ask("am-1", { stream: true });
  const fragments = [...streamed.text.matchAll(/"arguments":"((?:[^"\\]|\\.)*)"/g)].map(([, text]) =>
    JSON.parse(`"${text}"`),
  );
  assert.equal(fragments.join(""), '{"a":1}');
  assert.match((await ask("am-1")).text, /"arguments":"\{\\"a\\":1\}"/);
  const answer = await say(gateway, { key, path: "/v1/responses", body: { model: "am-1", input: "a" } });
  assert.match(answer.text, /"arguments":"\{\\"a\\":1\}"/);
});

test("the first call of each message in a history is marked for a provider that signs its calls", async () => {
  const tools = [{ name: "f", input_schema: { type: "object" } }];
  const use = (id: string): object => ({ type: "tool_use", id, name: "f", input: {} });
  const result = (tool_use_id: string): object => ({ type: "tool_result", tool_use_id, content: "1" });
  const messages = [
    { role: "user", content: "a" },
    { role: "assistant", content: [use("t1"), use("t2")] },
    { role: "user", content: [result("t1"), result("t2")] },
    { role: "assistant", content: [use("t3")] },
    { role: "user", content: [result("t3")] },
  ];
  const call = (call_id: string): object => ({ type: "function_call", call_id, name: "f", arguments: "{}" });
  const output = (call_id: string): object => ({ type: "function_call_output", call_id, output: "1" });
  const input = [
    { role: "user", content: "a" },
    ...[call("t1"), call("t2"), output("t1"), output("t2"), call("t3"), output("t3")],
  ];
  oc.script = json(GOOD);
  const marksAt = async (model: string, path: string, body: object): Promise<unknown> => {
    const answer = await say(gateway, { key, path, body: { model, ...body } });
    assert.equal(answer.status, 200, answer.text);
    const sent = JSON.parse(String(oc.requests.at(-1)?.body)) as {
      messages: readonly { tool_calls?: readonly { extra_content?: unknown }[] }[];
    };
    return sent.messages.flatMap(({ tool_calls: calls = [] }) => calls.map((each) => each.extra_content));
  };
  const mark = { google: { thought_signature: "skip_thought_signature_validator" } };
  for (const model of ["gemini-3", "chat-1"]) {
    const expected = model === "chat-1" ? [undefined, undefined, undefined] : [mark, undefined, mark];
    assert.deepEqual(await marksAt(model, MESSAGES, { max_tokens: 9, tools, messages }), expected);
    const functions = [{ type: "function", name: "f", parameters: { type: "object" } }];
    assert.deepEqual(await marksAt(model, "/v1/responses", { tools: functions, input }), expected);
  }
});
