/**
 * Bypasses of governance: paths, bodies and sessions that a provider parses differently, and permissions revoked during
 * a request. Source: lessons P8, P24, P31; design decisions, sections 2 and 6.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { WebSocket } from "ws";
import { exchange, post, rawClient } from "../support/raw.ts";
import { within } from "../support/wait.ts";
import { mint, say, startGoverned } from "./support/governed.ts";

const file = { after };
const { node, gateway, simulator } = await startGoverned(file, {
  deployment: {
    profiles: [{ name: "limited", allowed_models: ["sim-1", "sim-realtime"] }],
    access_rules: [{ name: "not-that", at: ["llm"], condition: 'model == "sim-banned"', action: "deny" }],
  },
});
const limited = await mint(node, "limited", { profile: "limited" });
const free = await mint(node, "free");
const bearer = (key: string) => `Authorization: Bearer ${key}`;
const JSON_BODY = "Content-Type: application/json";

async function refused(statuses: readonly number[], bytes: Buffer): Promise<void> {
  const before = simulator.counts().requests;
  const { status } = await exchange(file, gateway.port, bytes);
  assert.ok(statuses.includes(status), `${status} for ${bytes.toString("latin1", 0, 80)}`);
  assert.equal(simulator.counts().requests, before, "no provider was asked");
}

const chat = '{"model":"sim-1","messages":[],"stream":true}';
for (const path of [
  "/v1//chat/completions",
  "/v1/chat/completions/",
  "/v1/%63hat/completions",
  "/v1/chat%2Fcompletions",
  "/v1/chat/completions#",
  "/v1/CHAT/completions",
  "/v1//realtime/client_secrets",
  "/v1/realtime/client%5Fsecrets",
  "/v1//batches",
  "/v1//organization/users",
]) {
  test(`${path} reaches no provider under a name other than its own`, async () => {
    await refused([400, 404], post(path, chat, [bearer(free), JSON_BODY]));
  });
}

test("an echo of the request as the provider receives it cannot be obtained", async () => {
  await refused([404], Buffer.from(`TRACE /v1/chat/completions HTTP/1.1\r\nHost: x\r\n${bearer(free)}\r\n\r\n`));
});

test("no model bypasses a list through letter case, the query, or a body of two content types", async () => {
  const headers = [bearer(limited), JSON_BODY];
  await refused([400], post("/v1/chat/completions", '{"model":"sim-1","MODEL":"sim-2","messages":[]}', headers));
  await refused([400], post("/v1/chat/completions", '{"model":"sim-1","Mod\\u0065l":"sim-2"}', headers));
  await refused([403], post("/v1/chat/completions?model=sim-2", chat, headers));
  for (const others of ['"models":["sim-2"]', '"fallbacks":[{"model":"sim-2"}]', '"mod\\u0065ls":["sim-2"]']) {
    await refused([403], post("/v1/chat/completions", `{"model":"sim-1","messages":[],${others}}`, headers));
  }
  await refused([400], post("/v1/images/edits", chat, [...headers, "Content-Type: multipart/form-data; boundary=B"]));
  await refused([400], post("/v1/chat/completions", `{"model":"${"m".repeat(2_000)}"}`, headers));
});

test("work whose models cannot be seen is refused if a rule asks for the model", async () => {
  const { status, code } = await say(gateway, { key: free, path: "/v1/batches", body: { input_file_id: "file-1" } });
  assert.deepEqual([status, code], [403, "policy_denied"]);
});

test("an invalid escape is the client's error, and is not logged as ours", async () => {
  for (const member of ['"\\q":1', '"stream_options":{"x":"\\q"}']) {
    const body = `{"model":"sim-1","messages":[],"stream":true,${member}}`;
    await refused([400], post("/v1/chat/completions", body, [bearer(free), JSON_BODY]));
  }
  assert.deepEqual(
    gateway.log().filter(({ message }) => message === "request failed"),
    [],
  );
});

async function session(path: string, key: string): Promise<WebSocket> {
  const socket = new WebSocket(gateway.url.replace("http", "ws") + path, {
    headers: { authorization: `Bearer ${key}` },
  });
  after(() => socket.terminate());
  socket.on("error", () => undefined);
  await within("the session", once(socket, "open"));
  return socket;
}

for (const path of ["/v1//realtime?model=sim-2", "/v1/anything?model=sim-2", "/v1/realtime/?model=sim-2"]) {
  test(`an upgrade to ${path} is checked against the profile's list`, async () => {
    const lines = [`GET ${path} HTTP/1.1`, "Host: x", bearer(limited), "Connection: Upgrade", "Upgrade: websocket"];
    lines.push("Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "", "");
    await refused([400, 403], Buffer.from(lines.join("\r\n")));
  });
}

for (const [what, key, event] of [
  ["a rule denies", free, { type: "response.create", response: { model: "sim-banned" } }],
  [
    "transcribes speech and is not on the list",
    limited,
    { type: "session.update", session: { audio: { input: { transcription: { model: "sim-2" } } } } },
  ],
] as const) {
  test(`a session that asks for a model that ${what} is closed`, async () => {
    const socket = await session("/v1/realtime?model=sim-realtime", key);
    const closed = once(socket, "close");
    socket.send(JSON.stringify(event));
    const [code, reason] = await within("the close", closed);
    assert.deepEqual([code, String(reason)], [1008, "model not allowed"]);
  });
}

test("a session ends when its model is suspended", async () => {
  const socket = await session("/v1/realtime?model=sim-realtime", free);
  const closed = once(socket, "close");
  const params = { kind: "model", name: "sim-realtime" } as const;
  await node.client.call("put_suspension", { params, body: { reason: "incident" } });
  const [code, reason] = await within("the close", closed);
  assert.deepEqual([code, String(reason)], [1008, "no longer allowed"]);
  await node.client.call("delete_suspension", { params });
});

test("a key deleted while the body arrives is refused", async () => {
  const brief = await mint(node, "brief");
  const bytes = post("/v1/chat/completions", chat, [bearer(brief), JSON_BODY]);
  const client = await rawClient(file, gateway.port);
  const before = simulator.counts().requests;
  client.send(bytes.subarray(0, -1));
  const probe = await say(gateway, { key: brief }); // the other request has been read completely by then
  assert.equal(probe.status, 200);
  await node.client.call("delete_key", { params: { name: "brief" } });
  client.send(bytes.subarray(-1));
  assert.equal((await client.answer()).status, 401);
  assert.equal(simulator.counts().requests, before + 1, "the probe alone was forwarded");
});
