/**
 * WebSocket sessions authenticate like any request, and end when their permission is revoked. Source: design decisions,
 * section 1 (subprotocol) and section 2; specification document 3 (`allowed_models`).
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { WebSocket } from "ws";
import { eventually, within } from "../support/wait.ts";
import { mint, startGoverned } from "./support/governed.ts";

const file = { after };
const { node, gateway, simulator } = await startGoverned(file, {
  deployment: {
    profiles: [{ name: "talk", allowed_models: ["sim-realtime"] }],
    access_rules: [
      { name: "no-rules", at: ["llm"], condition: 'route == "realtime" && model == "sim-forbidden"', action: "deny" },
    ],
  },
});
const key = await mint(node, "talker", { profile: "talk" });
const free = await mint(node, "free");

interface SessionRequest {
  readonly model?: string;
  readonly protocols?: readonly string[];
  readonly authorization?: string;
}

function dial({ model = "sim-realtime", protocols = [], authorization }: SessionRequest): WebSocket {
  const url = `${gateway.url.replace("http", "ws")}/v1/realtime?model=${model}`;
  const socket = new WebSocket(url, [...protocols], authorization === undefined ? {} : { headers: { authorization } });
  socket.on("error", () => undefined);
  after(() => socket.terminate());
  return socket;
}

async function statusOf(request: SessionRequest): Promise<number> {
  const socket = dial(request);
  const [, response] = (await within("the refusal", once(socket, "unexpected-response"))) as [
    unknown,
    { statusCode: number },
  ];
  return response.statusCode;
}

async function session(request: SessionRequest) {
  const socket = dial(request);
  const messages: { readonly type: string }[] = [];
  socket.on("message", (bytes) => messages.push(JSON.parse(String(bytes)) as { type: string }));
  const closed = once(socket, "close").then(([code, reason]) => ({ code: code as number, reason: String(reason) }));
  await within("the session", once(socket, "open"));
  return { socket, messages, closed };
}

test("a session needs a credential, in a header or in the subprotocol list", async () => {
  assert.equal(await statusOf({}), 401);
  assert.equal(await statusOf({ protocols: ["realtime", "openai-insecure-api-key.gwk_nothing"] }), 401);
  const { socket, messages } = await session({ protocols: ["realtime", `openai-insecure-api-key.${key}`] });
  assert.equal(socket.protocol, "realtime");
  await eventually("the greeting", () => messages.length > 0);
  socket.close();
});

test("rules and model lists apply to the handshake", async () => {
  assert.equal(await statusOf({ model: "sim-forbidden", authorization: `Bearer ${free}` }), 403);
  assert.equal(await statusOf({ model: "sim-other", authorization: `Bearer ${key}` }), 403);
});

test("a model that the profile does not allow closes both sides of a session", async () => {
  const { socket, closed } = await session({ authorization: `Bearer ${key}` });
  socket.send(JSON.stringify({ type: "response.create", response: { model: "sim-realtime" } }));
  socket.send(
    JSON.stringify({ type: "response.create", response: { mo\u0064el: "sim-other" } }).replace(
      '"model"',
      '"mo\\u0064el"',
    ),
  );
  assert.deepEqual(await within("the close", closed), { code: 1008, reason: "model not allowed" });
  await eventually("the provider's side closed", () => simulator.counts().openSockets <= 1);
});

for (const [what, withdraw] of [
  ["its key is deleted", () => node.client.call("delete_key", { params: { name: "short-lived" } })],
  [
    "its key is suspended",
    () =>
      node.client.call("put_suspension", { params: { kind: "key", name: "short-lived" }, body: { reason: "leaked" } }),
  ],
  [
    "its provider is suspended",
    () =>
      node.client.call("put_suspension", { params: { kind: "provider", name: "sim" }, body: { reason: "incident" } }),
  ],
] as const) {
  test(`a session ends when ${what}, and others continue`, async () => {
    const brief = await mint(node, "short-lived");
    const ending = await session({ authorization: `Bearer ${brief}` });
    await withdraw();
    assert.deepEqual(await within("the close", ending.closed), { code: 1008, reason: "no longer allowed" });
    await node.client.call("delete_key", { params: { name: "short-lived" } }).catch(() => undefined);
    for (const { kind, name } of (await node.client.call("list_suspensions")).items) {
      await node.client.call("delete_suspension", { params: { kind, name } });
    }
  });
}
