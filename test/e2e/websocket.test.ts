/**
 * Realtime sessions through a gateway process, from a plain `ws` client to the simulated provider, or to a provider
 * that records the handshake. Frames within a session are tested in test/server/dataplane/hops.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { after, beforeEach, test } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { startWithFiles, twoDialects } from "./support/config.ts";
import { idle, sumOf } from "./support/metrics.ts";
import { exchange, headerOf } from "./support/raw.ts";
import { simulated } from "./support/simulated.ts";
import { atEnd, eventually, type Owner, within } from "./support/wait.ts";

const PROVIDER_KEY = "the-provider-key";

const file = { after };
const provider = await simulated(file, { requireKey: PROVIDER_KEY });
const recording = await recorder(file);
const deployment = {
  catalog_overlays: [twoDialects("simulator", provider.url), twoDialects("recorder", recording.url)],
  providers: [
    { preset: "simulator", api_key: PROVIDER_KEY, models: ["sim-*"], model_aliases: { "talk/fast": "sim-realtime" } },
    { preset: "recorder", models: ["rec-*"] },
  ],
};
const gateway = await startWithFiles(file, deployment);

beforeEach(() => fetch(`${provider.url}/sim/reset`, { method: "POST" }));

/** A provider that accepts every session, selects `realtime` if offered, and echoes. */
async function recorder(owner: Owner) {
  const handshakes: IncomingMessage[] = [];
  const server = createServer();
  const webSockets = new WebSocketServer({
    server,
    handleProtocols: (offered) => offered.has("realtime") && "realtime",
  });
  webSockets.on("connection", (socket, request) => {
    handshakes.push(request);
    socket.on("message", (bytes, isBinary) => socket.send(bytes, { binary: isBinary }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(owner, () => {
    for (const client of webSockets.clients) client.terminate();
    server.close();
  });
  const at = server.address();
  assert.ok(typeof at === "object" && at !== null);
  return { url: `http://127.0.0.1:${at.port}`, handshakes, webSockets };
}

const CLOSED_BY_SHUTDOWN = { code: 1_001, reason: "the gateway is shutting down" };

interface Session {
  readonly socket: WebSocket;
  readonly answer: IncomingMessage;
  readonly messages: readonly string[];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

interface SessionRequest {
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly at?: string;
}

async function open(
  owner: Owner,
  model: string,
  { protocols = [], headers = {}, at = gateway.url }: SessionRequest = {},
) {
  const url = `${at.replace("http", "ws")}/v1/realtime?model=${encodeURIComponent(model)}&lang=en`;
  const socket = new WebSocket(url, [...protocols], { headers: { authorization: "Bearer client-key", ...headers } });
  atEnd(owner, () => socket.terminate());
  const messages: string[] = [];
  socket.on("message", (bytes) => messages.push(String(bytes)));
  const closed = new Promise<{ code: number; reason: string }>((done) =>
    socket.once("close", (code, reason) => done({ code, reason: String(reason) })),
  );
  const upgraded = once(socket, "upgrade");
  await within("the session", once(socket, "open"));
  const [answer] = (await upgraded) as [IncomingMessage];
  return { socket, answer, messages, closed } satisfies Session;
}

/** Status and error code of a refused handshake. */
async function refusalOf(model: string | undefined): Promise<readonly [number, unknown]> {
  const query = model === undefined ? "" : `?model=${model}`;
  const { status, body } = await exchange(file, gateway.port, handshake(`/v1/realtime${query}`));
  return [status, JSON.parse(body.toString()).error.code];
}

function handshake(path: string, protocol = "websocket"): string {
  const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13";
  return `GET ${path} HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${key}\r\n\r\n`;
}

const typesOf = ({ messages }: Session): unknown[] => messages.map((text) => JSON.parse(text).type);

test("a session by an alias reaches the provider's own model with the provider's key and exchanges messages", async (t) => {
  const session = await open(t, "talk/fast");
  await eventually("the greeting", () => session.messages.length > 0);
  assert.equal(JSON.parse(String(session.messages[0])).session.model, "sim-realtime");
  session.socket.send(JSON.stringify({ type: "response.create" }));
  await eventually("the response", () => typesOf(session).includes("response.done"));
  assert.deepEqual(provider.counts().byModel, { "sim-realtime": 1 });
  session.socket.close(4_001, "enough");
  assert.deepEqual(await session.closed, { code: 4_001, reason: "enough" });
});

test("the 101 names the provider and the request id", async (t) => {
  const { answer } = await open(t, "sim-realtime", { headers: { "x-request-id": "mine" } });
  assert.equal(answer.statusCode, 101);
  assert.equal(answer.headers["x-gateway-request-id"], "mine");
  assert.equal(answer.headers["x-gateway-provider"], "simulator");
});

test("without a gateway key the client's credential, subprotocols and query reach the provider", async (t) => {
  const protocols = ["realtime", "openai-insecure-api-key.client-key"];
  const { socket } = await open(t, "rec-1", { protocols });
  assert.equal(socket.protocol, "realtime");
  const seen = recording.handshakes.at(-1);
  assert.equal(seen?.url, "/v1/realtime?model=rec-1&lang=en");
  assert.equal(seen?.headers.authorization, "Bearer client-key");
  assert.equal(seen?.headers["sec-websocket-protocol"]?.replaceAll(" ", ""), protocols.join(","));
});

test("a credential in the subprotocol list is replaced by the provider's", async (t) => {
  const { socket, messages } = await open(t, "sim-realtime", {
    protocols: ["realtime", "openai-insecure-api-key.client-key"],
  });
  assert.equal(socket.protocol, "realtime");
  await eventually("the greeting", () => messages.length > 0);
});

test("text, binary frames and pings pass in both directions", async (t) => {
  const { socket, messages } = await open(t, "rec-1");
  const pong = once(socket, "pong");
  socket.ping("are you there");
  assert.equal(String((await within("the pong", pong))[0]), "are you there");
  socket.send("text");
  const binary = Buffer.from([0, 255]);
  const answered = once(socket, "message");
  await within("the echo", answered);
  assert.deepEqual(messages, ["text"]);
  socket.send(binary);
  assert.deepEqual(await within("the binary echo", once(socket, "message")), [binary, true]);
});

for (const code of [1_000, 1_008, 1_011, 4_000]) {
  test(`a provider that closes with ${code} closes the client with ${code}`, async (t) => {
    const session = await open(t, `sim-close-${code}`);
    session.socket.send(JSON.stringify({ type: "response.create" }));
    assert.equal((await within("the close", session.closed)).code, code);
  });
}

test("a client that disconnects ends the provider's session", async (t) => {
  const { socket } = await open(t, "sim-realtime");
  socket.terminate();
  await eventually("the end upstream", () => provider.counts().aborted === 1);
  assert.equal(sumOf(await idle(gateway), "gateway_websocket_sessions"), 0);
});

test("a provider's refusal of the handshake is returned to the client", async () => {
  const { status } = await exchange(file, gateway.port, handshake("/v1/realtime?model=sim-429"));
  assert.equal(status, 429);
});

test("an unknown model, a duplicate model and a path without sessions are refused before any provider is called", async () => {
  assert.deepEqual(await refusalOf("nobody"), [404, "model_not_found"]);
  assert.deepEqual(await refusalOf("sim-1&model=sim-2"), [400, "invalid_request"]);
  const elsewhere = await exchange(file, gateway.port, handshake("/v1/chat/completions?model=sim-1"));
  assert.equal(elsewhere.status, 426, "the route exists, over HTTP");
  const unknown = await exchange(file, gateway.port, handshake("/v1/nowhere?model=sim-1"));
  assert.equal(unknown.status, 404);
  assert.equal(provider.counts().requests, 0);
});

test("an upgrade to a WebSocket version other than 13 is refused, and any other upgrade is no session", async () => {
  const old = handshake("/v1/realtime?model=sim-1").replace("Version: 13", "Version: 8");
  const answer = await exchange(file, gateway.port, old);
  assert.deepEqual([answer.status, headerOf(answer, "sec-websocket-version")], [426, "13"]);
  assert.equal(provider.counts().requests, 0);
  const other = await exchange(file, gateway.port, handshake("/v1/realtime?model=sim-1", "h2c"));
  const plain = await exchange(file, gateway.port, "GET /v1/realtime?model=sim-1 HTTP/1.1\r\nHost: x\r\n\r\n");
  assert.deepEqual([other.status, other.body], [plain.status, plain.body]);
});

test("a session with a response in flight ends with it while the gateway drains, and the gateway with the session", async (t) => {
  const stopping = await startWithFiles(t, deployment, {}, { GATEWAY_DRAIN: "30s" });
  const session = await open(t, "rec-1", { at: stopping.url });
  const say = async (text: string): Promise<void> => {
    session.socket.send(text);
    await eventually(`the echo of ${text}`, () => session.messages.includes(text));
  };
  await say('{"type":"response.created"}');
  stopping.signal("SIGTERM");
  await eventually("closed doors", () =>
    fetch(stopping.url).then(
      () => false,
      () => true,
    ),
  );
  await say('{"type":"response.output_text.delta"}');
  await say('{"type":"response.done"}');
  assert.deepEqual(await within("the close", session.closed, 3_000), CLOSED_BY_SHUTDOWN);
  assert.deepEqual(await within("the exit", stopping.ended, 3_000), { status: 0, signal: null });
});

test("a session without a response in flight is closed with 1001 at once when the gateway stops", async (t) => {
  const stopping = await startWithFiles(t, deployment);
  const session = await open(t, "rec-1", { at: stopping.url });
  stopping.signal("SIGTERM");
  assert.deepEqual(await within("the close", session.closed, 3_000), CLOSED_BY_SHUTDOWN);
  assert.deepEqual(await within("the exit", stopping.ended, 3_000), { status: 0, signal: null });
});
