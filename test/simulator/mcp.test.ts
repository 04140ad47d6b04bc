/** The simulated MCP server's answers and refusals. Source: mcp reference, 2 to 8. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf, answersOf, callTool, MCP_VERSION, mcp, metaOf, refusal, resultOf, textOf } from "./agent-clients.ts";
import { settled, simulator } from "./clients.ts";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

test("the server lists, reads, prompts, completes and describes itself", async (t) => {
  const { url } = await simulator(t);
  const at = `${url}/mcp`;
  const found = (await answerOf(mcp(at, "server/discover"))).result;
  assert.deepEqual([found?.["supportedVersions"], found?.["resultType"]], [[MCP_VERSION], "complete"]);
  for (const [method, member] of [
    ["tools/list", "tools"],
    ["resources/list", "resources"],
    ["resources/templates/list", "resourceTemplates"],
    ["prompts/list", "prompts"],
  ] as const) {
    const result = await resultOf(mcp(at, method));
    assert.ok((result[member] as readonly unknown[]).length > 0, method);
    assert.deepEqual([result["ttlMs"], result["cacheScope"]], [0, "private"]);
  }
  const { result: read } = await answerOf(mcp(at, "resources/read", { uri: "sim://library/3" }));
  assert.match(JSON.stringify(read), /Document 3 of a library/);
  assert.deepEqual((await answerOf(mcp(at, "resources/read", { uri: "sim://library/11" }))).error?.data, {
    uri: "sim://library/11",
  });
  const prompt = await answerOf(mcp(at, "prompts/get", { name: "review", arguments: { code: "x = 1" } }));
  assert.match(JSON.stringify(prompt.result), /Review this code:\\n\\nx = 1/);
  const ref = { type: "ref/prompt", name: "review" };
  const completed = await resultOf(mcp(at, "completion/complete", { ref, argument: { name: "language", value: "j" } }));
  assert.deepEqual((completed["completion"] as { values: unknown }).values, ["java", "javascript"]);
});

test("tools answer, fail in their results, and refuse mismatching headers", async (t) => {
  const { url } = await simulator(t);
  const at = `${url}/mcp`;
  assert.match(textOf(await answerOf(callTool(at, "search", { query: "gateways" }))), /2 documents on "gateways"/);
  assert.match(textOf(await answerOf(callTool(at, "delete_file", { path: "/etc/passwd" }))), /would have been/);
  assert.equal((await answerOf(callTool(at, "echo", { text: 7 }))).result?.["isError"], true);
  assert.deepEqual(await refusal(callTool(at, "nobody")), [200, -32_602]);
  const weather = (city: string) => callTool(at, "weather", { city: "Köln" }, { headers: { "mcp-param-city": city } });
  const coded = `=?base64?${Buffer.from("Köln").toString("base64")}?=`;
  assert.deepEqual((await answerOf(weather(coded))).result?.["structuredContent"], {
    city: "Köln",
    sky: "fair",
    degrees: 21,
  });
  for (const wrong of ["Bonn", "=?base64?S8O2bG4?="]) assert.deepEqual(await refusal(weather(wrong)), [400, -32_020]);
  assert.deepEqual(await refusal(callTool(at, "weather", { city: "Bonn" })), [400, -32_020]);
});

test("requests outside the revision are refused in the order and with the codes of the specification", async (t) => {
  const { url } = await simulator(t);
  const at = `${url}/mcp`;
  const send = (body: unknown, headers: Readonly<Record<string, string>> = {}, method = "POST") =>
    fetch(at, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(method === "POST" && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  const call = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: metaOf() } };
  const valid = { "mcp-protocol-version": MCP_VERSION, "mcp-method": "tools/list" };
  const table: readonly (readonly [() => Promise<Response>, number, number])[] = [
    [() => send("", {}, "GET"), 405, -32_000],
    [() => send(call, { ...valid, "content-type": "text/plain" }), 415, -32_000],
    [() => send("{", valid), 400, -32_700],
    [() => send([call], valid), 400, -32_600],
    [() => send({ ...call, id: 1.5 }, valid), 400, -32_600],
    [() => send({ ...call, method: "initialize", params: { protocolVersion: "2025-11-25" } }), 400, -32_022],
    [() => send({ ...call, params: {} }, valid), 400, -32_602],
    [() => send(call), 400, -32_020],
    [() => send(call, { ...valid, "mcp-protocol-version": "2027-01-01" }), 400, -32_020],
    [() => send(call, { ...valid, "mcp-method": "tools/call" }), 400, -32_020],
    [() => callTool(at, "echo", { text: "x" }, { headers: { "mcp-name": "search" } }), 400, -32_020],
    [() => mcp(at, "ping"), 404, -32_601],
    [() => callTool(at, "book_table", { restaurant: "x" }), 400, -32_021],
    [() => mcp(at, "tasks/get", { taskId: "x" }), 400, -32_021],
  ];
  for (const [index, [request, status, code]] of table.entries()) {
    assert.deepEqual(await refusal(request()), [status, code], String(index));
  }
  const notification = await send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
  assert.deepEqual([notification.status, await notification.text()], [202, ""]);
});

test("a report sends progress if requested, and is a task for clients with tasks", async (t) => {
  const { url } = await simulator(t);
  const at = `${url}/mcp`;
  const args = { topic: "x", steps: 2, step_ms: 10 };
  const meta = { progressToken: "p", "io.modelcontextprotocol/logLevel": "info" };
  const streamed = await callTool(at, "report", args, { meta });
  assert.match(streamed.headers.get("content-type") ?? "", /^text\/event-stream/);
  const messages = await answersOf(streamed);
  const [progress, log] = ["notifications/progress", "notifications/message"];
  assert.deepEqual(
    messages.map(({ method, id }) => method ?? id),
    [progress, log, progress, log, 7],
  );
  assert.match(textOf(await answerOf(callTool(at, "report", args))), /A report on "x"/);
  const made = await answerOf(callTool(at, "report", args, { capabilities: TASKS }));
  const taskId = String(made.result?.["taskId"]);
  assert.deepEqual([made.result?.["resultType"], made.result?.["status"]], ["task", "working"]);
  const get = () => answerOf(mcp(at, "tasks/get", { taskId }, { capabilities: TASKS }));
  let task = await get();
  while (task.result?.["status"] === "working") task = await get();
  assert.deepEqual([task.result?.["status"], task.result?.["resultType"]], ["completed", "complete"]);
  assert.match(JSON.stringify(task.result?.["result"]), /A report on/);
  const slow = await answerOf(callTool(at, "report", { topic: "x", step_ms: 60_000 }, { capabilities: TASKS }));
  const params = { taskId: slow.result?.["taskId"] };
  await answerOf(mcp(at, "tasks/cancel", params, { capabilities: TASKS }));
  const after = await answerOf(mcp(at, "tasks/get", params, { capabilities: TASKS }));
  assert.equal(after.result?.["status"], "cancelled");
});

test("a table is booked in two rounds, and the state of the first must be returned unchanged", async (t) => {
  const { url } = await simulator(t);
  const at = `${url}/mcp`;
  const request = { capabilities: { elicitation: { form: {} } } };
  const first = await answerOf(callTool(at, "book_table", { restaurant: "Chez Nous" }, request));
  assert.equal(first.result?.["resultType"], "input_required");
  const again = (requestState: unknown, action = "accept") =>
    mcp(
      at,
      "tools/call",
      {
        name: "book_table",
        arguments: { restaurant: "Chez Nous" },
        inputResponses: { people: { action, content: { people: 4 } } },
        requestState,
      },
      request,
    );
  const state = first.result?.["requestState"];
  assert.match(textOf(await answerOf(again(state))), /A table for 4 at "Chez Nous"/);
  assert.match(textOf(await answerOf(again(state, "decline"))), /No table/);
  assert.deepEqual(await refusal(again("another")), [200, -32_602]);
});

test("a subscriber gets changes under its request id until it disconnects", async (t) => {
  const of = await simulator(t);
  const at = `${of.url}/mcp`;
  const leaving = new AbortController();
  const notifications = { toolsListChanged: true, resourceSubscriptions: ["sim://notes/today"] };
  const response = await mcp(at, "subscriptions/listen", { notifications }, { signal: leaving.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  const until = async (pattern: RegExp) => {
    while (!pattern.test(seen)) seen += (await reader.read()).value ?? "";
  };
  await until(/subscriptions\/acknowledged/);
  const tools = async () => ((await answerOf(mcp(at, "tools/list"))).result?.["tools"] ?? []) as readonly unknown[];
  const before = await tools();
  await fetch(`${of.url}/sim/change`, { method: "POST" });
  await until(/notifications\/tools\/list_changed/);
  assert.equal((await tools()).length, before.length + 1);
  await callTool(at, "touch", { uri: "sim://notes/today" });
  await until(/notifications\/resources\/updated","params":\{"uri":"sim:\/\/notes\/today"/);
  assert.match(seen, /"io.modelcontextprotocol\/subscriptionId":7/);
  leaving.abort();
  await reader.cancel().catch(() => undefined);
  await settled(of);
  assert.equal(of.counts().aborted, 1);
});

test("counts, the last request and the log show the requests without credentials", async (t) => {
  const lines: string[] = [];
  const of = await simulator(t, { requireKey: "the-right-key", log: (line) => lines.push(line) });
  const at = `${of.url}/mcp/library`;
  const refused = await callTool(at, "echo", { text: "hello" });
  assert.deepEqual([refused.status, refused.headers.get("www-authenticate")], [401, "Bearer"]);
  const headers = { authorization: "Bearer the-right-key" };
  assert.equal(textOf(await answerOf(callTool(at, "echo", { text: "hello" }, { headers }))), "hello");
  await settled(of);
  assert.deepEqual(of.counts().byCall, { "tools/call echo": 1 });
  const last = (await (await fetch(`${of.url}/sim/last`)).json()) as Readonly<Record<string, unknown>>;
  assert.deepEqual([last["route"], last["model"], last["status"]], ["mcp", "library", 200]);
  assert.deepEqual(last["understood"], {
    method: "tools/call",
    name: "echo",
    arguments: ["text"],
    role: null,
    parts: [],
  });
  assert.equal((last["headers"] as Record<string, string>)["mcp-name"], "echo");
  assert.ok(!JSON.stringify(last).includes("the-right-key"));
  assert.match(lines.join("\n"), /^POST \/mcp\/library "tools\/call echo" 200 /m);
});
