/** Faults of the simulated MCP server and agent, selected by name in the path, a tool or a message. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { deviationsOf } from "../../src/simulator/agents/quirks.ts";
import { FAULTS, QUIRKS } from "../../src/simulator/index.ts";
import { a2a, answerOf, callTool, mcp, messageOf, refusal, resultOf, textOf } from "./agent-clients.ts";
import { rawExchange, settled, simulator } from "./clients.ts";

const ECHO = { text: "hello" };

test("every row is parsed, alone and combined, and no name matches another", () => {
  for (const { of, kind } of QUIRKS) {
    for (const protocol of of === "both" ? (["mcp", "a2a"] as const) : [of]) {
      assert.ok(deviationsOf(protocol, `sim-${kind}:blue`)?.quirks.has(kind), kind);
    }
  }
  for (const { example } of FAULTS)
    assert.notEqual(deviationsOf("mcp", example)?.fault.kind ?? "none", "none", example);
  const joined = deviationsOf("mcp", "sim-stream+cr+slow-20ms");
  assert.deepEqual([[...(joined?.quirks ?? [])], joined?.fault], [["stream", "cr"], { kind: "slow", ms: 20 }]);
  for (const name of ["sim-nothing", "sim-tampered"]) assert.equal(deviationsOf("mcp", name), undefined);
  assert.equal(deviationsOf("a2a", "sim-slow-soon"), undefined);
  assert.equal(deviationsOf("mcp", "library")?.fault.kind, "none");
});

test("the path decides first, then the tool or the message; an unknown name is refused only in the path", async (t) => {
  const { url } = await simulator(t);
  assert.deepEqual(await refusal(callTool(`${url}/mcp/sim-503`, "echo", ECHO)), [503, -32_603]);
  assert.deepEqual(await refusal(callTool(`${url}/mcp`, "sim-429-after-9s")), [429, -32_600]);
  assert.deepEqual(await refusal(a2a(`${url}/a2a`, "SendMessage", messageOf("sim-500 please"))), [500, -32_603]);
  assert.deepEqual(await refusal(callTool(`${url}/mcp/sim-nothing`, "echo", ECHO)), [404, -32_600]);
  assert.deepEqual(await refusal(callTool(`${url}/mcp`, "sim-nothing")), [200, -32_602]);
  assert.equal(
    textOf(await answerOf(a2a(`${url}/a2a`, "SendMessage", messageOf("sim-nothing")))),
    'You said: "sim-nothing"',
  );
  assert.equal(textOf(await answerOf(callTool(`${url}/mcp/sim-big-2k`, "echo", ECHO))).length, 2_048);
});

test("bodies and streams are changed as requested", async (t) => {
  const { url } = await simulator(t);
  const bytes = async (name: string) => {
    const response = await callTool(`${url}/mcp/${name}`, "echo", ECHO);
    return { type: response.headers.get("content-type") ?? "", body: Buffer.from(await response.arrayBuffer()) };
  };
  const whole = (await bytes("sound")).body.toString();
  assert.equal((await bytes("sim-malformed")).body.toString(), whole.slice(0, Math.ceil((2 * whole.length) / 3)));
  assert.equal((await bytes("sim-bom")).body.toString(), `\uFEFF${whole}`);
  assert.equal((await bytes("sim-no-answer")).body.toString(), "{}");
  assert.match((await bytes("sim-other-id")).body.toString(), /"id":"another"/);
  assert.match((await bytes("sim-deep")).body.toString(), /"nested":\[{5000}\]{5000}\}\}$/);
  assert.match((await bytes("sim-html")).type, /^text\/html/);
  assert.ok((await bytes("sim-bad-utf8")).body.includes(Buffer.from([0xff, 0x68])));
  const stream = (await bytes("sim-stream")).body.toString();
  assert.equal(stream, `event: message\ndata: ${whole}\n\n`);
  assert.equal((await bytes("sim-stream+cr")).body.toString(), stream.replaceAll("\n", "\r"));
  assert.equal((await bytes("sim-stream+crlf")).body.toString(), stream.replaceAll("\n", "\r\n"));
  assert.equal((await bytes("sim-stream+bom")).body.toString(), `\uFEFF${stream}`);
  assert.equal((await bytes("sim-twice")).body.toString(), stream + stream);
  assert.equal((await bytes("sim-stream+no-answer")).body.toString(), "");
  assert.equal((await bytes("sim-split")).body.toString(), stream.replace(',"result"', '\ndata: ,"result"'));
});

test("old servers and agents answer in their own way, and a leak repeats what it received", async (t) => {
  const { url } = await simulator(t);
  assert.deepEqual(await refusal(mcp(`${url}/mcp/sim-old-session`, "tools/list")), [400, -32_000]);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: {} });
  const begun = await fetch(`${url}/mcp/sim-old-session`, { method: "POST", body });
  assert.equal(begun.headers.get("mcp-session-id"), "simulated-session");
  const executed = (await answerOf(callTool(`${url}/mcp/sim-old-result`, "echo", ECHO))).result;
  assert.deepEqual([executed?.["resultType"], textOf({ result: executed ?? {} })], [undefined, "echo was called."]);
  assert.deepEqual(await refusal(a2a(`${url}/a2a/sim-old`, "SendMessage", messageOf("x"))), [200, -32_601]);
  const kind = (await answerOf(a2a(`${url}/a2a/sim-old-result`, "SendMessage", messageOf("x")))).result?.["kind"];
  assert.equal(kind, "message");
  const leaked = await answerOf(
    callTool(`${url}/mcp/sim-leak`, "echo", ECHO, { headers: { authorization: "Bearer k" } }),
  );
  assert.match(leaked.error?.message ?? "", /refuses Bearer k\./);
});

test("lists can change, be shared, be paged, or contain instructions to the reader", async (t) => {
  const { url } = await simulator(t);
  const list = (name: string, params = {}) => resultOf(mcp(`${url}/mcp/${name}`, "tools/list", params));
  const names = (result: Readonly<Record<string, unknown>>) =>
    (result["tools"] as readonly { readonly name: string }[]).map(({ name }) => name);
  assert.notDeepEqual(names(await list("sim-list-changes")), names(await list("sim-list-changes")));
  assert.equal((await list("sim-shared"))["cacheScope"], "public");
  const page = await list("sim-paged");
  assert.deepEqual([names(page), page["nextCursor"]], [["search"], "1"]);
  assert.deepEqual(names(await list("sim-paged", { cursor: "1" })), ["weather"]);
  assert.match(JSON.stringify(await list("sim-poison")), /id_rsa/);
});

test("connections are reset or stall, and a stalled one ends when its client disconnects", async (t) => {
  const of = await simulator(t);
  const reset = await callTool(`${of.url}/mcp/sim-reset`, "echo", ECHO).catch((error: Error) => error.cause);
  assert.equal((reset as { readonly code?: string }).code, "ECONNRESET");
  const text = '{"jsonrpc":"2.0"}';
  const head = `POST /mcp/sim-drop-mid-body HTTP/1.1\r\nhost: sim\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
  assert.match(await rawExchange(of, head), /^HTTP\/1\.1 400 /);
  const leaving = new AbortController();
  const stalled = await callTool(`${of.url}/mcp/sim-stall-mid-stream`, "echo", ECHO, { signal: leaving.signal });
  const reader = (stalled.body as ReadableStream<Uint8Array>).getReader();
  assert.ok(((await reader.read()).value?.length ?? 0) > 0);
  leaving.abort();
  await settled(of);
  assert.deepEqual([of.counts().aborted, of.counts().dropped], [1, 2]);
});
