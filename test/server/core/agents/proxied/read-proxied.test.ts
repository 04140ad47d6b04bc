/** MCP and A2A messages that another proxy routes: their description, their texts, and their refusals. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { GatewayError } from "../../../../../src/base/index.ts";
import {
  type ProxiedReading,
  proxiedRefusal,
  proxiedStatus,
  readProxied,
  shapeByHeaders,
} from "../../../../../src/server/core/agents/index.ts";

const JSON_TYPE = { "content-type": "application/json" };
const read = (
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
  path = "/any/where",
): ProxiedReading => readProxied({ verb: "POST", path, headers: { ...JSON_TYPE, ...headers } }, Buffer.from(body));

function summaryOf(reading: ProxiedReading) {
  assert.equal(reading.kind, "read", JSON.stringify(reading));
  if (reading.kind !== "read") throw new Error("unreachable");
  const { shape, calls, texts } = reading.request;
  const { texts: all, endIndexes: ends } = texts();
  return { shape, calls, ends, texts: all.map(({ kind, text }) => `${kind} ${text}`) };
}

const rpc = (method: string, params: object, id: unknown = 1): object => ({ jsonrpc: "2.0", id, method, params });
const text = (message: unknown): string => JSON.stringify(message);
const part = (message: string): object => ({ messageId: "m1", role: "ROLE_USER", parts: [{ text: message }] });

const READ: readonly (readonly [string, string, Readonly<Record<string, string>>, string, readonly string[]])[] = [
  [
    "a call of the newest revision",
    text(rpc("tools/call", { name: "send", arguments: { to: "a", n: 1, type: "b c" } })),
    { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "send" },
    "mcp tools/call send",
    ["tool_args send", "tool_args a", "tool_args b c"],
  ],
  [
    "a call of an older one, which has no header",
    text(rpc("tools/call", { name: "send", arguments: { to: "a" } })),
    {},
    "mcp tools/call send",
    ["tool_args send", "tool_args a"],
  ],
  [
    "an older client's first message, whose protocol members are not text",
    text(
      rpc("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c d", title: "T u" } }),
    ),
    {},
    "mcp initialize ",
    ["tool_args c d", "tool_args T u"],
  ],
  [
    "a client's answer to a server",
    text({ jsonrpc: "2.0", id: 7, result: { role: "assistant", content: { type: "text", text: "said so" } } }),
    { "mcp-session-id": "s" },
    "mcp  ",
    ["tool_args said so"],
  ],
  [
    "the same without a header",
    text({ jsonrpc: "2.0", id: 7, error: { code: -1, message: "not so" } }),
    {},
    "mcp  ",
    ["tool_args not so"],
  ],
  [
    "a notification",
    text({ jsonrpc: "2.0", method: "notifications/cancelled", params: { reason: "I left" } }),
    {},
    "mcp notifications/cancelled ",
    ["tool_args I left"],
  ],
  [
    "members besides the protocol's",
    text({ ...rpc("tools/call", { name: "n" }), question: ["in hiding"] }),
    {},
    "mcp tools/call n",
    ["tool_args n", "tool_args in hiding"],
  ],
  [
    "a mirrored header without its argument",
    text(rpc("tools/call", { name: "n", arguments: { a: "x" } })),
    { "mcp-param-b": "=?base64?5Zyw5Zuz?=", "mcp-param-a": "x" },
    "mcp tools/call n",
    ["tool_args n", "tool_args x", "tool_args 地図"],
  ],
  [
    "an extension's method with a header",
    text(rpc("x/own", { cursor: "opaque", said: "words" })),
    { "mcp-method": "x/own" },
    "mcp x/own ",
    ["tool_args words"],
  ],
  [
    "a message to an agent, whatever a header of the other protocol says",
    text(rpc("SendMessage", { message: part("hi there") })),
    { "mcp-method": "SendMessage" },
    "a2a SendMessage ",
    ["user hi there"],
  ],
  [
    "a message of 0.3",
    text(
      rpc("message/send", {
        message: {
          kind: "message",
          messageId: "m1",
          role: "user",
          parts: [
            { kind: "text", text: "hi there" },
            { kind: "file", file: { name: "a b.txt", mimeType: "text/plain", bytes: "c2VjcmV0" } },
          ],
        },
      }),
    ),
    {},
    "a2a message/send ",
    ["user hi there", "tool_args a b.txt", "tool_args secret"],
  ],
  ["a task of either protocol, of A2A 0.3", text(rpc("tasks/get", { id: "t1" })), {}, "a2a tasks/get ", []],
  ["a task of either protocol, of MCP", text(rpc("tasks/get", { taskId: "t1" })), {}, "mcp tasks/get ", []],
  [
    "a name with an escape",
    '{"\\u006asonrpc":"2.0","method":"tools/call","id":1,"params":{"name":"n"}}',
    {},
    "mcp tools/call n",
    ["tool_args n"],
  ],
];

for (const [what, body, headers, expected, texts] of READ) {
  test(`a message is read: ${what}`, () => {
    const { shape, calls, texts: found } = summaryOf(read(body, headers));
    assert.equal(`${shape.protocol} ${calls[0]?.method} ${calls[0]?.name}`, expected);
    assert.deepEqual(found, texts);
  });
}

test("a batch is read message by message, in place", () => {
  const batch = [
    rpc("tools/call", { name: "a", arguments: { x: "one" } }, "i"),
    rpc("ping", {}, 2),
    { jsonrpc: "2.0", method: "notifications/progress", params: { message: "two" } },
  ];
  const reading = read(text(batch));
  const { shape, calls, ends, texts } = summaryOf(reading);
  assert.deepEqual(
    calls.map(({ method }) => method),
    ["tools/call", "ping", "notifications/progress"],
  );
  assert.deepEqual([shape.ids, shape.isBatch, ends], [['"i"', "2"], true, [2, 2, 3]]);
  assert.deepEqual(texts, ["tool_args a", "tool_args one", "tool_args two"]);
  const made = reading.kind === "read" && reading.request.texts().rewrite([undefined, undefined, "2"]).body;
  assert.equal(made, text(batch).replace('"two"', '"2"'));
});

for (const [path, method, texts] of [
  ["/agents/x/v1/message:send", "SendMessage", ["user hi there", "tool_args m n"]],
  ["/message:stream", "SendStreamingMessage", ["user hi there", "tool_args m n"]],
] as const) {
  test(`a path is read: ${path}`, () => {
    const body = text({ message: part("hi there"), metadata: { a: "m n" } });
    const { shape, calls, texts: found } = summaryOf(read(body, { "content-type": "application/a2a+json" }, path));
    assert.deepEqual([shape.binding, calls[0]?.method, found], ["rest", method, texts]);
  });
}

const KEPT: readonly (readonly [string, string | Buffer, Readonly<Record<string, string>>])[] = [
  ["other JSON", '{"question":"why?"}', {}],
  ["JSON-RPC of another protocol", text(rpc("eth_call", { data: "0x" })), {}],
  ["a registration with a header of MCP", '{"client_name":"c"}', { "mcp-protocol-version": "2025-11-25" }],
  [
    "a form with a header of MCP",
    "grant_type=x",
    { "mcp-protocol-version": "2025-11-25", "content-type": "application/x-www-form-urlencoded" },
  ],
  ["no body", "", { "mcp-session-id": "s" }],
  ["an image", Buffer.from([0xff, 0xd8]), { "content-type": "image/jpeg" }],
];

for (const [what, body, headers] of KEPT) {
  test(`a request of neither protocol passes: ${what}`, () => assert.equal(read(body, headers).kind, "other"));
}

const TOO_MANY = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":[${"1,".repeat(200_000)}1]}}`;
const REFUSED: readonly (readonly [
  string,
  string | Buffer,
  Readonly<Record<string, string>>,
  number,
  readonly string[],
])[] = [
  ["a duplicate name", '{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping","params":{}}', {}, -32602, ["1"]],
  ["a name almost like another", '{"jsonrpc":"2.0","id":"a","Method":"x","method":"ping"}', {}, -32602, ['"a"']],
  ["an alias of a parameter", text(rpc("tools/call", { name: "a", Arguments: {} })), {}, -32602, ["1"]],
  [
    "an alias in a message",
    text(rpc("SendMessage", { message: { ...part("x"), message_id: "m" } })),
    {},
    -32602,
    ["1"],
  ],
  [
    "two contents in a part",
    text(rpc("SendMessage", { message: { parts: [{ text: "a", url: "b" }] } })),
    {},
    -32602,
    ["1"],
  ],
  [
    "a header that names another method",
    text(rpc("tools/call", { name: "a" })),
    { "mcp-method": "ping" },
    -32020,
    ["1"],
  ],
  ["a header that names another tool", text(rpc("tools/call", { name: "a" })), { "mcp-name": "b" }, -32020, ["1"]],
  ["more values than have a place", TOO_MANY, {}, -32700, []],
  ["other data than the JSON that a header declares", "{", { "mcp-protocol-version": "2025-11-25" }, -32700, []],
  ["invalid UTF-8 in declared JSON", Buffer.from([0x7b, 0xff]), { "a2a-version": "1.0" }, -32700, []],
  ["an oversized batch", text(Array.from({ length: 101 }, () => rpc("ping", {}))), {}, -32600, []],
  ["a batch with an item that is not a message", text([rpc("ping", {}, 5), "x"]), {}, -32600, ["5", "null"]],
];

for (const [what, body, headers, code, ids] of REFUSED) {
  test(`a message is refused: ${what}`, () => {
    const reading = read(body, headers);
    assert.equal(reading.kind, "refused");
    if (reading.kind === "refused") assert.deepEqual([reading.shape.code, reading.shape.ids], [code, ids]);
  });
}

test("refusals have the format of the request", () => {
  const error = new GatewayError("guardrail_denied", "Not here.");
  const body = (shape: Parameters<typeof proxiedRefusal>[0]): unknown => JSON.parse(proxiedRefusal(shape, error, "r"));
  const denial = { code: -31403, message: "Not here.", data: { code: "guardrail_denied", request_id: "r" } };
  assert.deepEqual(body({ protocol: "mcp", binding: "rpc", ids: ["7"], isBatch: false }), {
    jsonrpc: "2.0",
    id: 7,
    error: denial,
  });
  assert.deepEqual(body({ protocol: "mcp", binding: "rpc", ids: ["7", '"a"'], isBatch: true }), [
    { jsonrpc: "2.0", id: 7, error: denial },
    { jsonrpc: "2.0", id: "a", error: denial },
  ]);
  const fault = { protocol: "a2a", binding: "rpc", ids: [], isBatch: false, code: -32602 } as const;
  assert.deepEqual(body(fault), { jsonrpc: "2.0", id: null, error: { code: -32602, message: "Not here." } });
  assert.deepEqual([proxiedStatus(fault, error), proxiedStatus({ ...fault, protocol: "mcp" }, error)], [200, 403]);
  const rest = body({ protocol: "a2a", binding: "rest", ids: [], isBatch: false }) as {
    readonly error: { readonly status: string; readonly details: readonly { readonly reason: string }[] };
  };
  assert.deepEqual([rest.error.status, rest.error.details[0]?.reason], ["PERMISSION_DENIED", "GUARDRAIL_DENIED"]);
});

test("an unread body is refused in the format its headers suggest", () => {
  const shapeOf = (verb: string, path: string, headers: Readonly<Record<string, string>>): string => {
    const shape = shapeByHeaders({ verb, path, headers });
    return shape === undefined ? "" : `${shape.protocol} ${shape.binding}`;
  };
  assert.equal(shapeOf("GET", "/x", { "mcp-session-id": "s" }), "mcp rpc");
  assert.equal(shapeOf("POST", "/x", { "a2a-version": "1.0" }), "a2a rpc");
  assert.equal(shapeOf("GET", "/x/tasks/t1", { "a2a-version": "1.0" }), "a2a rest");
  assert.equal(shapeOf("GET", "/x/tasks/t1", {}), "");
  assert.equal(shapeOf("POST", "/message:send", {}), "a2a rest");
});

test("every string of a message is inspected, whatever its member name", () => {
  const word = fc.stringMatching(/^[a-z]{1,8}$/);
  const names = fc.oneof(
    word,
    fc.constantFrom("jsonrpc", "method", "params", "text", "parts", "data", "content", "result"),
  );
  const value = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.constant("SECRET words"),
      fc.integer(),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(names, tie("any"), { maxKeys: 3 }),
    ),
  })).any;
  fc.assert(
    fc.property(
      fc.dictionary(names, value, { maxKeys: 4 }),
      fc.dictionary(names, value, { maxKeys: 2 }),
      (params, beside) => {
        for (const method of ["initialize", "tools/call", "SendMessage", "message/send"]) {
          const body = text({ ...beside, jsonrpc: "2.0", id: 1, method, params });
          const reading = read(body);
          if (reading.kind === "refused") continue;
          const { texts } = summaryOf(reading);
          assert.equal(texts.filter((one) => one.includes("SECRET")).length, body.split("SECRET").length - 1, body);
        }
      },
    ),
    { numRuns: 300 },
  );
});
