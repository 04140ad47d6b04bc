/** Texts of JSON requests on every route, and that rewriting one changes nothing else. */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { findRoute, readTexts, scanObject } from "../../../../../src/server/core/dialects/index.ts";

const read = (path: string, text: string, contentType = "application/json") => {
  const route = findRoute("POST", path);
  assert.ok(route !== undefined);
  const plain = Buffer.from(text);
  return readTexts(route, "compat", { plain, contentType, isJson: scanObject(plain, [], true).kind === "object" });
};

/** Returns `kind turn text`, followed by `!` for read-only text. */
const shown = (path: string, body: unknown): readonly string[] => {
  const { texts, problem } = read(path, JSON.stringify(body));
  assert.equal(problem, undefined);
  return texts.map(({ kind, turn, text, isReadOnly }) => `${kind} ${turn} ${text}${isReadOnly ? "!" : ""}`);
};

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const RESPONSES = "/v1/responses";
const user = (content: unknown) => ({ messages: [{ role: "user", content }] });

const cases: readonly (readonly [what: string, path: string, body: unknown, texts: readonly string[]])[] = [
  [
    "roles and turns",
    CHAT,
    {
      model: "m",
      messages: [
        { role: "system", content: "a" },
        { role: "developer", content: [{ type: "text", text: "b" }] },
        { content: "c", role: "user", name: "Eve" },
        { role: "assistant", content: null, refusal: "d", reasoning_content: "e" },
        { role: "tool", tool_call_id: "call_1", content: "f" },
        { role: "function", name: "g", content: "h" },
      ],
      user: "u",
      metadata: { key: "v" },
      stop: ["s"],
    },
    [
      "system 5 a",
      "system 4 b",
      "user 3 c",
      "user 3 Eve!",
      "assistant 2 d",
      "assistant 2 e",
      "tool_result 1 f",
      "tool_result 0 g!",
      "tool_result 0 h",
    ],
  ],
  [
    "arguments of calls",
    CHAT,
    {
      messages: [
        {
          role: "assistant",
          tool_calls: [
            {
              id: "call_1",
              type: "function",
              function: { name: "f", arguments: '{"a": "x\\u0034", "b": [{"c": "y"}]}' },
            },
            { id: "call_2", type: "custom", custom: { name: "g", input: "free {text" } },
          ],
          function_call: { name: "h", arguments: "not JSON" },
        },
      ],
    },
    ["tool_args 0 x4", "tool_args 0 y", "tool_args 0 free {text", "tool_args 0 not JSON"],
  ],
  ["an unknown part", CHAT, user([{ type: "txt", Text: "a", more: { deep: ["b"] } }]), ["user 0 a", "user 0 b"]],
  ["an unknown member", CHAT, { Messages: [{ role: "user", content: "a" }] }, ["user 0 a"]],
  [
    "prose beside the turns",
    CHAT,
    {
      ...user("a"),
      tools: [
        {
          type: "function",
          function: {
            name: "f",
            description: "b",
            parameters: {
              type: "object",
              required: ["type"],
              properties: { type: { type: "string", description: "c", pattern: "^d$", enum: ["e"] } },
            },
          },
        },
      ],
      response_format: { type: "json_schema", json_schema: { name: "n", schema: { description: "g" } } },
      prediction: { type: "content", content: "h" },
    },
    ["user 0 a", "system 1 b", "system 1 c", "system 1 ^d$!", "system 1 e", "system 1 g", "user 0 h"],
  ],
  [
    "blocks of messages",
    MESSAGES,
    {
      system: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }],
      messages: [
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "b", signature: "c2ln" },
            { type: "redacted_thinking", data: "c2ln" },
            { type: "tool_use", id: "toolu_1", name: "f", input: { name: "c", id: "d" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "e" }] },
            { type: "tool_result", tool_use_id: "toolu_2", content: "f" },
            {
              type: "document",
              title: "g",
              context: "h",
              source: { type: "text", media_type: "text/plain", data: "i" },
            },
            { type: "document", source: { type: "base64", media_type: "text/plain", data: base64("j") } },
            { type: "document", source: { type: "content", content: [{ type: "text", text: "k" }] } },
            { type: "search_result", source: "l", title: "m", content: [{ type: "text", text: "n" }] },
            { type: "text", text: "o", citations: [{ type: "char_location", cited_text: "p" }] },
          ],
        },
      ],
    },
    [
      "system 2 a",
      "assistant 1 b",
      "tool_args 1 c",
      "tool_args 1 d",
      "tool_result 0 e",
      "tool_result 0 f",
      "user 0 g",
      "user 0 h",
      "user 0 i",
      "user 0 j",
      "user 0 k",
      "user 0 l",
      "user 0 m",
      "user 0 n",
      "user 0 o",
      "user 0 p",
    ],
  ],
  [
    "completions",
    "/v1/completions",
    { model: "m", prompt: ["a", "b"], suffix: "c" },
    ["user 0 a", "user 0 b", "user 0 c"],
  ],
  ["complete", "/v1/complete", { prompt: "a" }, ["user 0 a"]],
  ["embeddings", "/v1/embeddings", { input: ["a", "b"] }, ["user 0 a", "user 0 b"]],
  ["rerank", "/v1/rerank", { query: "a", documents: ["b", { text: "c" }] }, ["user 0 a", "user 0 b", "user 0 c"]],
  ["images", "/v1/images/generations", { prompt: "a" }, ["user 0 a"]],
  ["speech", "/v1/audio/speech", { input: "a", instructions: "b" }, ["user 0 a", "system 0 b"]],
  ["moderations", "/v1/moderations", { input: [{ type: "text", text: "a" }] }, ["user 0 a"]],
  [
    "items of responses",
    RESPONSES,
    {
      instructions: "a",
      input: [
        { role: "user", content: [{ type: "input_text", text: "b" }] },
        { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "c" }], encrypted_content: "c2ln" },
        { type: "function_call", call_id: "call_1", name: "f", arguments: '{"a":"d"}' },
        { type: "function_call_output", call_id: "call_1", output: "e" },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "f" }] },
      ],
      text: { format: { type: "json_schema", name: "n", schema: { description: "g" } } },
    },
    ["system 5 a", "user 4 b", "assistant 3 c", "tool_args 2 d", "tool_result 1 e", "assistant 0 f", "system 5 g"],
  ],
  ["text of responses", RESPONSES, { input: "a" }, ["user 0 a"]],
  [
    "batches of messages",
    "/v1/messages/batches",
    { requests: [{ custom_id: "1", params: { model: "m", system: "a", ...user("b") } }] },
    ["system 1 a", "user 0 b"],
  ],
  [
    "a thread that is made with its run",
    "/v1/threads/runs",
    {
      assistant_id: "asst_1",
      instructions: "a",
      thread: {
        messages: [
          { role: "user", content: "b", metadata: { note: "c d" } },
          { role: "assistant", content: [{ type: "text", text: "e" }] },
        ],
        metadata: { kept: "beside" },
      },
      tool_choice: { type: "function", function: { name: "f" } },
      reasoning: { effort: "low", note: "g h" },
      thinking: "i j",
    },
    ["system 2 a", "user 1 b", "user 1 c d", "assistant 0 e", "user 0 g h", "user 0 i j"],
  ],
  ["an unknown route", "/v1/other", { model: "a", b: [{ type: "c" }] }, ["user 0 a", "user 0 c"]],
  ["a route without a model", "/v1/conversations", { items: [{ role: "assistant", content: "a" }] }, ["assistant 0 a"]],
];
for (const [what, path, body, texts] of cases) test(what, () => assert.deepEqual(shown(path, body), texts));

test("images, audio and files are counted, and text under their types is read", () => {
  const { texts, uninspected } = read(
    CHAT,
    JSON.stringify(
      user([
        { type: "image_url", image_url: { url: "https://host.example/a.png", detail: "low" } },
        { type: "image_url", image_url: { url: `data:image/png;base64,${base64("\u0000")}` } },
        { type: "input_audio", input_audio: { data: base64("\u0000"), format: "wav" } },
        { type: "file", file: { filename: "a b.pdf", file_data: `data:application/pdf;base64,${base64("x")}` } },
        { type: "file", file: { file_data: `data:text/plain;base64,${base64("plain")}` } },
        { type: "image_url", image_url: { url: "is no address" } },
        { type: "image_url", image_url: { url: "data:text/plain,per%20cent" } },
        { type: "input_file", file_id: "file-1" },
      ]),
    ),
  );
  assert.deepEqual(uninspected, ["image", "image", "audio", "file", "file"]);
  assert.deepEqual(
    texts.map(({ text }) => text),
    ["a b.pdf", "plain", "is no address", "per cent"],
  );
});

const changed = (path: string, text: string, contentType?: string): string => {
  const { texts, problem, rewrite } = read(path, text, contentType);
  assert.equal(problem, undefined);
  return rewrite(texts.map((each) => (each.text.includes("secret") ? "<é\ud800>" : undefined))).toString();
};
const NEW = "<é\\ud800>";

test("a number is read unless it is an id or encoded media", () => {
  const number = "4111111111111111";
  const holders: readonly unknown[] = [
    { type: number },
    { type: "text", id: number },
    { type: "file", data: number },
    { type: "image_url", image_url: { url: number } },
    { type: "image_url", image_url: { url: `https://host.example/ ${number}` } },
    { type: "tool_result", tool_use_id: number, signature: `${number} ` },
    { type: "redacted_thinking", data: `${number} ` },
  ];
  for (const holder of holders) {
    const { texts } = read(CHAT, JSON.stringify(user([holder])));
    assert.ok(
      texts.some(({ text }) => text.includes(number)),
      JSON.stringify(holder),
    );
  }
});

test("only changed strings are rewritten", () => {
  const text =
    '{ "model":"m","n":1.0, "messages":[ {"role":"user","content":"\\u0073ecret"},{"role":"user","content":"\\u0041"}]\n}';
  assert.equal(changed(CHAT, text), text.replace("\\u0073ecret", NEW));
});

test("inside arguments only the changed parts are rewritten", () => {
  const inner = '{ "a":1.0, "b" : "\\u0073ecret","c":"d"}';
  const body = (written: string) =>
    `{"messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":${JSON.stringify(written)}}}]}]}`;
  assert.equal(changed(CHAT, body(inner)), body(inner.replace("\\u0073ecret", NEW)));
});

test("base64 text is rewritten as base64", () => {
  const block = (data: string) =>
    JSON.stringify(user([{ type: "document", source: { type: "base64", media_type: "text/plain", data } }]));
  assert.equal(changed(MESSAGES, block(base64("a secret"))), block(base64("<é\ufffd>")));
});

test("all texts of duplicate or escaped member names are read and rewritten", () => {
  const text =
    '{"messages":[{"role":"user","content":"secret 1","c\\u006fntent":"secret 2"}],"messages":[{"role":"user","content":"secret 3"}]}';
  assert.equal(changed(CHAT, text), text.replaceAll(/secret \d/g, NEW));
});

test("two roles or two types of one message are a problem", () => {
  for (const name of ["role", "type"]) {
    const { problem, texts } = read(CHAT, `{"messages":[{"role":"user","type":"a","${name}":"system","content":"x"}]}`);
    assert.match(problem ?? "", /twice/);
    assert.deepEqual(texts, []);
  }
});

test("raw control characters are read, and invalid escapes are a problem", () => {
  assert.equal(read(CHAT, '{"messages":[{"role":"user","content":"a\n\\u0062"}]}').texts[0]?.text, "a\nb");
  assert.match(read(CHAT, '{"messages":[{"role":"user","content":"\\x"}]}').problem ?? "", /escape/);
  assert.match(read(CHAT, '{"messages":[{"role":"user","cont\\xent":"a"}]}').problem ?? "", /not JSON/);
});

test("a body that is not an object or not JSON is read or is a problem", () => {
  assert.equal(read("/v1/conversations", '["a"]').texts[0]?.text, "a");
  for (const text of ["[1", "{]", `${"[".repeat(600)}${"]".repeat(600)}`, "\ufeff{}"])
    assert.notEqual(read("/v1/conversations", text).problem, undefined, text.slice(0, 9));
});

test("every string of any JSON is read on unknown routes, and rewriting changes nothing else", () => {
  const mark = (value: unknown): unknown => {
    if (typeof value === "string") return value.length % 2 === 1 ? `${value}"\n` : value;
    if (Array.isArray(value)) return value.map(mark);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mark(each)]));
  };
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1, 2), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      const { texts, problem, rewrite } = read("/v1/other", text);
      assert.equal(problem, undefined);
      const written = rewrite(texts.map((each) => (each.text.length % 2 === 1 ? `${each.text}"\n` : undefined)));
      assert.equal(written.toString(), JSON.stringify(mark(JSON.parse(text)), undefined, indent));
      assert.equal(rewrite([]).toString(), text);
    }),
    { numRuns: 500 },
  );
});

test("any text in messages can be rewritten, and values that are not strings stay", () => {
  const shape = (value: unknown): unknown => {
    if (typeof value === "string") return "";
    if (Array.isArray(value)) return value.map(shape);
    if (typeof value !== "object" || value === null) return value;
    return Object.entries(value).map(([name, each]) => [name, shape(each)]);
  };
  const names = fc.constantFrom(
    "role",
    "content",
    "text",
    "input",
    "arguments",
    "source",
    "data",
    "output",
    "tool_calls",
  );
  const text = fc.constantFrom("user", "tool", "a b", '{"a":"b c"}', "image", "function_call", "ZGF0YQ==", "data:,x");
  const { part } = fc.letrec<{ part: unknown }>((tie) => ({
    part: fc.oneof(
      { maxDepth: 4 },
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.array(tie("part"), { maxLength: 3 }),
      fc.dictionary(fc.oneof(names, fc.constant("type")), tie("part"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), fc.constantFrom(CHAT, MESSAGES, RESPONSES), (items, path) => {
      const text = JSON.stringify({ [path === RESPONSES ? "input" : "messages"]: items });
      const { texts, problem, rewrite } = read(path, text);
      assert.equal(problem, undefined);
      const written = rewrite(texts.map(({ isReadOnly }) => (isReadOnly ? undefined : "new words!"))).toString();
      assert.deepEqual(shape(JSON.parse(written)), shape(JSON.parse(text)));
      const again = read(path, written).texts;
      assert.ok(again.every((each) => each.isReadOnly || each.text === "new words!"));
      assert.equal(again.length, texts.length);
    }),
    { numRuns: 500 },
  );
});
