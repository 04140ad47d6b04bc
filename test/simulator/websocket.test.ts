import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { WebSocket } from "ws";
import type { Simulator } from "../../src/simulator/index.ts";
import { simulator, until } from "./clients.ts";

interface Event {
  readonly type: string;
  readonly delta?: string;
  readonly error?: { readonly message: string };
  readonly response?: { readonly usage: { readonly input_tokens: number; readonly output_tokens: number } | null };
}

/** Sends `events` and returns what comes back, up to an event of type `last` or the close. */
async function converse(socket: WebSocket, events: readonly object[], last: string): Promise<readonly Event[]> {
  const received: Event[] = [];
  const done = new Promise<void>((resolve) => {
    socket.on("message", (bytes) => {
      const event = JSON.parse(String(bytes)) as Event;
      received.push(event);
      if (event.type === last) resolve();
    });
    socket.on("close", () => resolve());
  });
  await once(socket, "open");
  for (const event of events) socket.send(JSON.stringify(event));
  await done;
  return received;
}

function connect({ url }: Simulator, path: string, protocols: readonly string[] = []): WebSocket {
  return new WebSocket(url.replace("http", "ws") + path, [...protocols]);
}

const SAY = {
  type: "conversation.item.create",
  item: { type: "message", role: "user", content: [{ type: "input_text", text: "Hello there" }] },
};

test("a realtime session greets, takes an item and answers with deltas and usage", async (t) => {
  const of = await simulator(t);
  const socket = connect(of, "/v1/realtime?model=sim-voice");
  const events = await converse(socket, [SAY, { type: "response.create" }], "response.done");
  assert.equal(events[0]?.type, "session.created");
  const text = events.map(({ type, delta }) => (type === "response.output_text.delta" ? delta : "")).join("");
  assert.match(text, /You asked: "Hello there"/);
  const usage = events.at(-1)?.response?.usage;
  assert.deepEqual([usage?.input_tokens, usage?.output_tokens], [2, text.split(" ").length]);
  socket.close();
  await until(() => of.counts().answered === 1);
  assert.deepEqual(of.counts().tokens, { input: 2, output: usage?.output_tokens });
});

test("an unknown event is an error, and the session stays open", async (t) => {
  const socket = connect(await simulator(t), "/v1/realtime?model=m");
  const events = await converse(socket, [{ type: "odd" }, { type: "session.update", session: {} }], "session.updated");
  assert.deepEqual(
    events.map(({ type }) => type),
    ["session.created", "error", "session.updated"],
  );
  socket.terminate();
});

test("a browser's key is sent as a subprotocol, and realtime is selected", async (t) => {
  const of = await simulator(t, { requireKey: "right" });
  const socket = connect(of, "/v1/realtime?model=m", ["realtime", "openai-insecure-api-key.right"]);
  await once(socket, "open");
  assert.equal(socket.protocol, "realtime");
  socket.terminate();
  const refused = connect(of, "/v1/realtime?model=m", ["realtime", "openai-insecure-api-key.wrong"]);
  const [, response] = await once(refused, "unexpected-response");
  assert.equal(response.statusCode, 401);
  refused.on("error", () => undefined);
  refused.terminate();
});

test("faults affect the handshake, the events and the close", async (t) => {
  const of = await simulator(t);
  const refused = connect(of, "/v1/realtime?model=sim-503");
  const [, response] = await once(refused, "unexpected-response");
  assert.equal(response.statusCode, 503);
  refused.on("error", () => undefined);
  refused.terminate();

  const closed = connect(of, "/v1/realtime?model=sim-close-4001");
  const closing = once(closed, "close");
  await converse(closed, [SAY, { type: "response.create" }], "response.done");
  assert.equal((await closing)[0], 4001);

  const dropped = connect(of, "/v1/realtime?model=sim-drop-mid-stream");
  const dropping = once(dropped, "close");
  await converse(dropped, [{ type: "response.create" }], "response.done");
  assert.equal((await dropping)[0], 1006);

  const failing = connect(of, "/v1/realtime?model=sim-error-mid-stream");
  const events = await converse(failing, [{ type: "response.create" }], "error");
  assert.match(events.at(-1)?.error?.message ?? "", /failed within the answer/);
  failing.close();
  await until(() => of.counts().answered === 3);
  assert.deepEqual([of.counts().dropped, of.counts().aborted], [1, 0]);
});

test("responses over a WebSocket take the model from each event", async (t) => {
  const of = await simulator(t);
  const socket = connect(of, "/v1/responses");
  const create = (model: string) => ({ type: "response.create", model, input: "Hello there" });
  const events = await converse(socket, [create("sim-429"), create("sim-large")], "response.completed");
  assert.equal(events[0]?.type, "error");
  assert.equal(events[1]?.type, "response.created");
  assert.equal(events.at(-1)?.response?.usage?.input_tokens, 2);
  assert.deepEqual(of.counts().byModel, { "sim-429": 1, "sim-large": 1 });
  socket.terminate();
  await until(() => of.counts().aborted === 1);
});

test("closing the simulator ends open sessions", async (t) => {
  const of = await simulator(t);
  const socket = connect(of, "/v1/realtime?model=m");
  await once(socket, "open");
  const closing = once(socket, "close");
  await of.close();
  assert.equal((await closing)[0], 1006);
});
