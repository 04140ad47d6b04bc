/** A2A requests: parsing, and refusal of every ambiguous spelling. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type A2aRequest,
  a2aAnswerTexts,
  a2aRequestTexts,
  isLegacyAnswer,
  readA2aRequest,
} from "../../../../../src/server/core/agents/index.ts";

const HEADERS = { "content-type": "application/json", "a2a-version": "1.0" };
const SEND = {
  jsonrpc: "2.0",
  id: 1,
  method: "SendMessage",
  params: { message: { messageId: "m", role: "ROLE_USER", contextId: "c", taskId: "t", parts: [{ text: "hi" }] } },
};

const read = (body: unknown, headers: Record<string, string> = HEADERS, versions: readonly string[] = []) =>
  readA2aRequest({ headers, versions, body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)) });

function request(body: unknown, headers?: Record<string, string>, versions?: readonly string[]): A2aRequest {
  const reading = read(body, headers, versions);
  if (reading.kind !== "read") throw new Error(JSON.stringify(reading));
  return reading.request;
}

const message = (more: object): object => ({ ...SEND, params: { message: { ...SEND.params.message, ...more } } });
const part = (one: object): object => message({ parts: [one] });

test("a message gives role, task, context and parts to rules", () => {
  const parts = [
    { text: "hi", mediaType: "text/plain" },
    { raw: "aGk=", filename: "h.txt", mediaType: "text/plain" },
    { url: "https://f.example/x.pdf" },
    { data: null },
  ];
  const { role, taskId, contextId, parts: seen, id } = request(message({ parts }));
  assert.deepEqual([id, role, taskId, contextId], ["1", "ROLE_USER", "t", "c"]);
  assert.deepEqual(
    seen.map(({ kind, media_type, url, filename }) => [kind, media_type, url, filename]),
    [
      ["text", "text/plain", "", ""],
      ["file", "text/plain", "", "h.txt"],
      ["file", "", "https://f.example/x.pdf", ""],
      ["data", "", "", ""],
    ],
  );
});

test("other methods name their task or context; an unknown method passes", () => {
  assert.equal(request({ ...SEND, method: "GetTask", params: { id: "t9" } }).taskId, "t9");
  assert.equal(request({ ...SEND, method: "ListTasks", params: { contextId: "c9" } }).contextId, "c9");
  assert.equal(request({ ...SEND, method: "GetExtendedAgentCard", params: undefined }).method, "GetExtendedAgentCard");
  assert.equal(request({ ...SEND, method: "example.Own", params: { id: 1 } }).isKnown, false);
});

test("proto field names are sent as canonical names where there is no message, and never beside them", () => {
  const { body, contextId } = request(
    '{"jsonrpc":"2.0","id":7,"method":"ListTasks", "params": {"context_id":"c\\u0039","page_size" : 1e1,"x_y":[{"page_size":1}]}}',
  );
  assert.equal(contextId, "c9");
  assert.equal(
    body?.toString(),
    '{"jsonrpc":"2.0","id":7,"method":"ListTasks", "params": {"contextId":"c\\u0039","pageSize":1e1,"x_y":[{"page_size":1}]}}',
  );
  assert.equal(request({ ...SEND, method: "ListTasks", params: { contextId: "c", own_member: 1 } }).body, undefined);
  for (const params of [
    { context_id: "a", contextId: "b" },
    { contextId: "b", context_id: "a" },
    { context_Id: "a" },
    { CONTEXT_ID: "a" },
    { _context_id: "a" },
    { "context\u{ff3f}id": "a" },
  ]) {
    const reading = read({ ...SEND, method: "ListTasks", params });
    const isIgnored =
      reading.kind === "read" && reading.request.contextId === "" && Object.keys(params)[0]?.includes("\u{ff3f}");
    assert.ok(isIgnored || (reading.kind === "refused" && reading.fault.code === -32602), JSON.stringify(params));
  }
});

test("ids may be any JSON-RPC id or absent", () => {
  assert.equal(request({ ...SEND, id: null }).id, "null");
  assert.equal(request({ ...SEND, id: undefined }).id, "null");
  assert.equal(request({ ...SEND, id: 1.5 }).id, "1.5");
});

test("the version comes from a header or the query, with or without patch digits", () => {
  const json = { "content-type": "application/json" };
  assert.equal(request(SEND, { ...json, "a2a-version": " 1.0.1 " }).method, "SendMessage");
  assert.equal(request(SEND, json, ["1.0"]).method, "SendMessage");
  for (const version of ["", "0.3", "1", "1.1", "2.0", "1.0, 0.3"]) {
    const reading = read(SEND, { ...json, "a2a-version": version });
    assert.ok(reading.kind === "refused" && reading.fault.code === -32009, version);
  }
  assert.ok(read(SEND, json).kind === "refused");
  assert.ok(read(SEND, HEADERS, ["0.3"]).kind === "refused");
});

const REFUSED: readonly (readonly [string, unknown, code: number])[] = [
  ["a push method", { ...SEND, method: "CreateTaskPushNotificationConfig", params: { taskId: "t" } }, -32003],
  [
    "push in a message",
    { ...SEND, params: { ...SEND.params, configuration: { taskPushNotificationConfig: { url: "u" } } } },
    -32003,
  ],
  [
    "push in snake case",
    { ...SEND, params: { ...SEND.params, configuration: { task_push_notification_config: {} } } },
    -32602,
  ],
  ["a method of 0.3", { ...SEND, method: "message/send" }, -32601],
  ["a method in other letter case", { ...SEND, method: "sendMessage" }, -32601],
  ["a numeric role", message({ role: 1 }), -32602],
  ["an old role", message({ role: "user" }), -32602],
  ["an additional role in snake case", message({ context_id: "x" }), -32602],
  ["a task in snake case", { ...SEND, method: "GetTask", params: { id: "t", Id: "u" } }, -32602],
  ["a numeric task", { ...SEND, method: "GetTask", params: { id: 4 } }, -32602],
  ["two contents", part({ text: "a", url: "b" }), -32602],
  ["no content", part({ metadata: {} }), -32602],
  ["a media type in snake case", part({ text: "a", media_type: "x" }), -32602],
  ["a text of another type", part({ text: 4 }), -32602],
  ["no parts", message({ parts: [] }), -32602],
  ["no message", { ...SEND, params: {} }, -32602],
  ["a duplicate name", JSON.stringify(SEND).replace('"text":"hi"', '"text":"hi","text":"ho"'), -32602],
  ["a batch", [SEND], -32600],
  ["no JSON", "{", -32700],
];

for (const [what, body, code] of REFUSED) {
  test(`a request is refused: ${what}`, () => {
    const reading = read(body);
    assert.ok(reading.kind === "refused");
    assert.equal(reading.fault.code, code);
  });
}

test("no mutation of a message is read differently from a plain JSON parser", () => {
  const text = JSON.stringify(SEND);
  fc.assert(
    fc.property(fc.nat(text.length), fc.nat(3), fc.string({ maxLength: 6 }), (at, cut, put) => {
      const mutated = text.slice(0, at) + put + text.slice(at + cut);
      const reading = read(mutated);
      if (reading.kind !== "read" || reading.request.method !== "SendMessage") return;
      const parsed = JSON.parse(mutated) as typeof SEND;
      assert.equal(reading.request.role, parsed.params.message.role);
      assert.equal(reading.request.taskId, parsed.params.message.taskId ?? "");
      assert.equal(reading.request.parts.length, parsed.params.message.parts.length);
    }),
    { numRuns: 3_000 },
  );
});

test("texts of a message are rewritten in place", () => {
  const body = JSON.stringify(
    message({
      parts: [
        { text: "SECRET" },
        { data: { kind: "SECRET", n: [1, "x"] }, metadata: { role: "SECRET" } },
        { raw: "U0VDUkVU", filename: "SECRET.txt", mediaType: "text/plain" },
        { raw: "U0VDUkVU", mediaType: "image/png" },
        { url: "https://SECRET/" },
      ],
    }),
  );
  const texts = a2aRequestTexts(request(body));
  assert.deepEqual(
    texts.texts.map(({ kind, text, isReadOnly }) => [kind, text, isReadOnly]),
    [
      ["user", "SECRET", false],
      ["tool_args", "SECRET", false],
      ["tool_args", "x", false],
      ["tool_args", "SECRET", false],
      ["tool_args", "SECRET", false],
      ["tool_args", "SECRET.txt", false],
      ["tool_args", "https://SECRET/", true],
    ],
  );
  assert.deepEqual(texts.uninspected, ["image"]);
  const rewritten = texts.rewrite(texts.texts.map(({ text }) => text.replaceAll("SECRET", "[x]")));
  assert.doesNotMatch(rewritten.replace("https://SECRET/", ""), /SECRET/);
  assert.equal((rewritten.match(/U0VDUkVU/g) ?? []).length, 1);
});

test("texts of an answer, an event and an error are found", () => {
  const textsOf = (body: string) => a2aAnswerTexts(body)?.texts.map(({ kind, text }) => `${kind}:${text}`);
  assert.deepEqual(
    textsOf(
      '{"jsonrpc":"2.0","id":3,"result":{"artifactUpdate":{"taskId":"457f","contextId":"b","artifact":{"artifactId":"a1",' +
        '"name":"n","parts":[{"text":"out"}]},"lastChunk":true}}}',
    ),
    ["output:n", "output:out"],
  );
  assert.deepEqual(textsOf('{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no","data":[{"reason":"R"}]}}'), [
    "output:no",
    "output:R",
  ]);
  fc.assert(fc.property(fc.json(), (json) => assert.equal(a2aAnswerTexts(json)?.rewrite([]), json)));
  assert.equal(isLegacyAnswer('{"result":{"kind":"task","id":"t"}}'), true);
  assert.equal(isLegacyAnswer('{"result":{"task":{"id":"t"}}}'), false);
});
