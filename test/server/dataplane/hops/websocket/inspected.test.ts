/** Messages of an inspected tunnel: their order, replacements, and the end by a refusal. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { afterEach, test } from "node:test";
import type { WebSocket } from "ws";
import { GatewayError } from "../../../../../src/base/index.ts";
import { closeTunnel } from "../../../../../src/server/dataplane/hops/websocket/tunnel.ts";
import type {
  Frame,
  InspectedMessage,
  TunnelInspector,
} from "../../../../../src/server/dataplane/hops/websocket/tunnel-types.ts";
import { closeOf, closePeers, type Deferred, deferred, openPair } from "./peers.ts";

afterEach(closePeers);

const passing = (...texts: string[]): InspectedMessage => ({
  kind: "passes",
  frames: texts.map((text) => ({ data: Buffer.from(text), isBinary: false })),
});
const NOTHING = passing();

type InspectText = (from: "client" | "upstream", text: string) => InspectedMessage | Promise<InspectedMessage>;

const inspector = (message: InspectText, end: TunnelInspector["end"] = () => NOTHING): TunnelInspector => ({
  attach() {},
  message: (from, { data }: Frame) => message(from, String(data)),
  end,
});

function receiveTexts(websocket: WebSocket, count: number): Promise<string[]> {
  const texts: string[] = [];
  return new Promise((resolve) => {
    websocket.on("message", (data) => texts.push(String(data)) === count && resolve(texts));
  });
}

test("messages pass in order even if one is slow, and their number may change", async () => {
  const slow = deferred<InspectedMessage>();
  const inspect = inspector((_from, text) => {
    if (text === "slow") return slow.promise;
    if (text === "none") return NOTHING;
    return text === "two" ? passing("two, 1", "two, 2") : passing(text);
  });
  const { client, far } = await openPair({ inspect });
  const texts = receiveTexts(far, 6);
  for (const text of ["first", "slow", "none", "two", "last"]) client.send(text);
  // The other direction does not wait.
  const back = receiveTexts(client, 1);
  far.send("back");
  assert.deepEqual(await back, ["back"]);
  slow.resolve(passing("slow, 1", "slow, 2"));
  client.send("behind");
  assert.deepEqual(await texts, ["first", "slow, 1", "slow, 2", "two, 1", "two, 2", "last"]);
});

test("a close follows the waiting and held-back messages", async () => {
  const slow = deferred<InspectedMessage>();
  const inspect = inspector(
    (from, text) => (from === "upstream" && text === "slow" ? slow.promise : passing(text)),
    (from) => (from === "upstream" ? passing("held") : NOTHING),
  );
  const { client, far } = await openPair({ inspect });
  const texts = receiveTexts(client, 3);
  const closed = closeOf(client);
  far.send("slow");
  far.send("more");
  far.close(4000, "done");
  await once(far, "close");
  slow.resolve(passing("slow"));
  assert.deepEqual(await texts, ["slow", "more", "held"]);
  assert.deepEqual(await closed, { code: 4000, reason: "done" });
});

for (const from of ["client", "upstream"] as const) {
  test(`refusing a message of the ${from} closes both sides, and none of it is forwarded`, async () => {
    const closing = closeTunnel(1008, "guardrail_denied");
    const inspect = inspector((_from, text) =>
      text === "bad" ? { kind: "refused", closing, notice: "why" } : passing(text),
    );
    const { client, far, gateway } = await openPair({ inspect });
    const texts: string[] = [];
    for (const side of [client, far]) side.on("message", (data) => texts.push(String(data)));
    const closes = Promise.all([closeOf(client), closeOf(far)]);
    const sender = from === "client" ? client : far;
    sender.send("bad");
    sender.send("behind");
    assert.deepEqual(await closes, [
      { code: 1008, reason: "guardrail_denied" },
      { code: 1008, reason: "guardrail_denied" },
    ]);
    assert.deepEqual(texts, ["why"]);
    const result = await gateway.result();
    assert.ok(!(result instanceof GatewayError) && result.kind === "closed");
    assert.deepEqual([result.code, result.by], [1008, "gateway"]);
  });
}

test("an inspector that throws or rejects closes both sides", async () => {
  for (const fault of [() => Promise.reject(new Error("broken")), assert.fail]) {
    const { client, far } = await openPair({ inspect: inspector(() => fault()) });
    const closes = Promise.all([closeOf(client), closeOf(far)]);
    client.send("x");
    assert.deepEqual(
      (await closes).map(({ code }) => code),
      [1011, 1011],
    );
  }
});

test("a client that disconnects during the inspection of its message is not waited for", async () => {
  const never: Deferred<InspectedMessage> = deferred();
  const asked = deferred<void>();
  const inspect = inspector(() => {
    asked.resolve();
    return never.promise;
  });
  const { client, far, gateway } = await openPair({ inspect });
  const lost = once(far, "close");
  client.send("x");
  await asked.promise;
  far.send("y");
  client.terminate();
  far.terminate();
  await lost;
  const result = await gateway.result();
  assert.ok(!(result instanceof GatewayError) && result.kind === "closed");
});

test("waiting bytes are counted and returned; a sender above the limit is closed with 1013", async () => {
  let held = 0;
  const room = 200_000;
  const account = {
    hold(bytes: number) {
      if (held + bytes > room) throw new GatewayError("overloaded", "no room");
      held += bytes;
    },
    release(bytes: number) {
      held -= bytes;
    },
  };
  const slow = deferred<InspectedMessage>();
  const inspect = inspector((_from, text) => (text === "slow" ? slow.promise : passing(text)));
  const { client, far } = await openPair({ inspect, account });
  const texts = receiveTexts(far, 21);
  client.send("slow");
  for (let i = 0; i < 20; i++) client.send("x".repeat(1_000));
  slow.resolve(passing("slow"));
  assert.equal((await texts).length, 21);
  assert.ok(held < 1_000, `${held} bytes are held still`);

  const never = deferred<InspectedMessage>();
  const stuck = await openPair({ inspect: inspector(() => never.promise), account });
  const closed = closeOf(stuck.client);
  // They are sent in one piece: what the gateway reads later waits in the socket, which protects a slower sender.
  const { _socket: socket } = stuck.client as unknown as { _socket: Socket };
  socket.cork();
  for (let i = 0; i < 2_000; i++) stuck.client.send("");
  socket.uncork();
  assert.equal((await closed).code, 1013);
});
