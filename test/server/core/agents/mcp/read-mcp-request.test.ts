/** MCP requests: parsing, and every refusal of the reference's table in order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  argumentsOf,
  decodeHeaderValue,
  encodeHeaderValue,
  isForeignPage,
  listKeyOf,
  type McpHeaders,
  type McpRequest,
  readMcpRequest,
} from "../../../../../src/server/core/agents/index.ts";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const META = { [VERSION]: "2026-07-28", [CAPABILITIES]: {} };
const HEADERS = {
  "content-type": "application/json",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "add",
};
const CALL = {
  jsonrpc: "2.0",
  id: 0,
  method: "tools/call",
  params: { name: "add", arguments: { a: 1, b: "x" }, _meta: META },
};

const read = (headers: McpHeaders, body: unknown) =>
  readMcpRequest(headers, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));

function request(headers: McpHeaders, body: unknown): McpRequest {
  const reading = read(headers, body);
  if (reading.kind !== "read") throw new Error(JSON.stringify(reading));
  return reading.request;
}

test("a call gives its name, its arguments and its original id", () => {
  const call = request(HEADERS, CALL);
  assert.deepEqual([call.kind, call.id, call.method, call.name], ["request", "0", "tools/call", "add"]);
  assert.deepEqual(argumentsOf(call), { a: 1, b: "x" });
  assert.equal(request(HEADERS, { ...CALL, id: "a\u0000é" }).id, '"a\\u0000é"');
});

test("member order, whitespace and charset change nothing", () => {
  const text = ` {"params":${JSON.stringify(CALL.params)},\n"method":"tools\\/call" ,"id":7,"jsonrpc":"2.0"}\n`;
  assert.equal(request({ ...HEADERS, "content-type": "Application/JSON; charset=UTF-8" }, text).id, "7");
});

test("a base64 name, a resource, a task and a list are read", () => {
  const named = { ...HEADERS, "mcp-method": "prompts/get", "mcp-name": "=?base64?5Zyw5Zuz?=" };
  const prompt = { ...CALL, method: "prompts/get", params: { name: "地図", _meta: META } };
  assert.equal(request(named, prompt).name, "地図");
  const task = { ...CALL, method: "tasks/get", params: { taskId: "t1", _meta: META } };
  assert.equal(request({ ...HEADERS, "mcp-method": "tasks/get", "mcp-name": "t1" }, task).name, "");
  const listed = { ...CALL, method: "tools/list", params: { cursor: "", _meta: META } };
  const list = request({ ...HEADERS, "mcp-method": "tools/list", "mcp-name": "ignored" }, listed);
  assert.deepEqual([list.name, listKeyOf(list)], ["", '["\\"\\"",[]]']);
});

const without = (name: string): McpHeaders =>
  Object.fromEntries(Object.entries(HEADERS).filter(([header]) => header !== name));
const params = (more: object): object => ({ ...CALL, params: { ...CALL.params, ...more } });

const REFUSED: readonly (readonly [string, McpHeaders, unknown, status: number, code: number, id: string])[] = [
  ["another media type", { ...HEADERS, "content-type": "text/plain" }, CALL, 415, -32600, "null"],
  [
    "another character set",
    { ...HEADERS, "content-type": "application/json;charset=utf-16" },
    CALL,
    415,
    -32600,
    "null",
  ],
  ["no JSON", HEADERS, "{", 400, -32700, "null"],
  ["a byte order mark", HEADERS, `\ufeff${JSON.stringify(CALL)}`, 400, -32700, "null"],
  [
    "too deep",
    HEADERS,
    params({ arguments: JSON.parse(`${'{"a":'.repeat(600)}1${"}".repeat(600)}`) }),
    400,
    -32700,
    "null",
  ],
  ["a batch", HEADERS, [CALL], 400, -32600, "null"],
  ["a response", HEADERS, { jsonrpc: "2.0", id: 1, result: {} }, 400, -32600, "null"],
  ["a null id", HEADERS, { ...CALL, id: null }, 400, -32600, "null"],
  ["a call without an id", HEADERS, { ...CALL, id: undefined }, 400, -32600, "null"],
  ["a fractional id", HEADERS, { ...CALL, id: 1.5 }, 400, -32600, "null"],
  ["another JSON-RPC", HEADERS, { ...CALL, jsonrpc: "1.0" }, 400, -32600, "0"],
  [
    "a duplicate name",
    HEADERS,
    '{"jsonrpc":"2.0","id":3,"method":"tools/list","meth\\u006fd":"tools/call"}',
    400,
    -32602,
    "3",
  ],
  ["a nested duplicate name", HEADERS, JSON.stringify(CALL).replace('"a":1', '"a":1,"a":2'), 400, -32602, "0"],
  ["an alias", HEADERS, { ...CALL, Method: "tools/list" }, 400, -32602, "0"],
  ["an alias with a long s", HEADERS, { ...CALL, paramſ: {} }, 400, -32602, "0"],
  ["a nested alias", HEADERS, params({ Name: "rm" }), 400, -32602, "0"],
  ["an alias in snake case", HEADERS, params({ input_responses: {} }), 400, -32602, "0"],
  [
    "an old client",
    { "content-type": "application/json" },
    { jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: "2025-11-25" } },
    400,
    -32022,
    "0",
  ],
  [
    "a session of this revision",
    { "content-type": "application/json" },
    { jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: "2026-07-28" } },
    400,
    -32022,
    "0",
  ],
  [
    "an older header",
    { ...HEADERS, "mcp-protocol-version": "2025-11-25" },
    { jsonrpc: "2.0", id: 1, method: "tools/list" },
    400,
    -32022,
    "1",
  ],
  ["no metadata", HEADERS, { ...CALL, params: { name: "add" } }, 400, -32602, "0"],
  ["no version header", without("mcp-protocol-version"), CALL, 400, -32020, "0"],
  ["versions that differ", { ...HEADERS, "mcp-protocol-version": "2026-09-09" }, CALL, 400, -32020, "0"],
  [
    "a newer version",
    { ...HEADERS, "mcp-protocol-version": "2027-01-01" },
    params({ _meta: { ...META, [VERSION]: "2027-01-01" } }),
    400,
    -32022,
    "0",
  ],
  ["no capabilities", HEADERS, params({ _meta: { [VERSION]: "2026-07-28" } }), 400, -32602, "0"],
  ["no method header", without("mcp-method"), CALL, 400, -32020, "0"],
  ["a method header in other letter case", { ...HEADERS, "mcp-method": "Tools/Call" }, CALL, 400, -32020, "0"],
  ["no name header", without("mcp-name"), CALL, 400, -32020, "0"],
  ["a duplicate name header", { ...HEADERS, "mcp-name": "add, add" }, CALL, 400, -32020, "0"],
  ["a name header of bad base64", { ...HEADERS, "mcp-name": "=?base64?YWRk=?=" }, CALL, 400, -32020, "0"],
  ["no name", HEADERS, params({ name: 1 }), 400, -32602, "0"],
  ["arguments in a list", HEADERS, params({ arguments: [] }), 400, -32602, "0"],
];

for (const [what, headers, body, status, code, id] of REFUSED) {
  test(`a request is refused: ${what}`, () => {
    const reading = read(headers, body);
    assert.ok(reading.kind === "refused");
    const { fault } = reading;
    assert.deepEqual([fault.status, fault.code, fault.id], [status, code, id]);
  });
}

test("an unsupported version is named with the supported ones", () => {
  const reading = read({ "content-type": "application/json" }, { jsonrpc: "2.0", id: 0, method: "ping" });
  assert.ok(reading.kind === "refused");
  assert.deepEqual(reading.fault.data, { supported: ["2026-07-28"], requested: "2025-03-26" });
});

test("notifications of old revisions are dropped, and current ones are read without a method header", () => {
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
  assert.equal(read({ "content-type": "application/json" }, cancelled).kind, "dropped");
  assert.equal(request(without("mcp-method"), cancelled).kind, "notification");
});

test("header values are decoded as they were encoded, for any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const encoded = encodeHeaderValue(text);
      assert.match(encoded, /^[\t\x20-\x7e]*$/);
      assert.equal(decodeHeaderValue(encoded), text);
    }),
  );
  assert.equal(encodeHeaderValue("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
  assert.equal(decodeHeaderValue("=?base64?x"), "=?base64?x");
});

test("no mutation of a call is read as a call other than the last of its names", () => {
  const text = JSON.stringify(CALL);
  fc.assert(
    fc.property(fc.nat(text.length), fc.nat(3), fc.string({ maxLength: 6 }), (at, cut, put) => {
      const mutated = text.slice(0, at) + put + text.slice(at + cut);
      const reading = read(HEADERS, mutated);
      if (reading.kind !== "read") return;
      const parsed = JSON.parse(mutated) as typeof CALL;
      assert.equal(reading.request.method, parsed.method);
      assert.equal(reading.request.name, parsed.params.name);
      assert.deepEqual(argumentsOf(reading.request), parsed.params.arguments ?? {});
    }),
    { numRuns: 3_000 },
  );
});

test("a page of a foreign origin is refused", () => {
  const at = (host: string, origin: string | undefined, isLoopback: boolean, publicOrigin?: string) =>
    isForeignPage({ host, origin, isLoopback, publicOrigin });
  assert.equal(at("localhost:80", undefined, true), false);
  assert.equal(at("[::1]:80", "http://127.0.0.1:1", true), false);
  assert.equal(at("evil.example", undefined, true), true);
  assert.equal(at("localhost", "http://evil.example", true), true);
  assert.equal(at("gw.example", undefined, true, "https://gw.example"), false);
  assert.equal(at("gw.example", "https://gw.example", false), false);
  assert.equal(at("gw.example", "https://other.example", false), true);
  assert.equal(at("inner", "https://gw.example", false, "https://gw.example"), false);
  assert.equal(at("inner", "null", false, "https://gw.example"), true);
});
