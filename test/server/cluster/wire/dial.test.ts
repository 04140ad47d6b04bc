/** Dialing errors, and how a link notices that its peer is gone. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { parseAddress } from "../../../../src/base/index.ts";
import type { Identity } from "../../../../src/server/cluster/identity/index.ts";
import {
  type DialError,
  type DialOptions,
  dial,
  encodeFrame,
  encodeJson,
  KIND,
  type SelfDescription,
} from "../../../../src/server/cluster/wire/index.ts";
import { atEnd, eventually } from "../../../e2e/support/wait.ts";
import { identityOf, OTHER_SECRET, SECRET } from "../identity/made.ts";
import { testListener } from "./harness.ts";
import { manualTiming } from "./manual-timing.ts";
import { selfOf } from "./selves.ts";

async function optionsOf(address: string, over: Partial<DialOptions> = {}): Promise<DialOptions> {
  const identity = over.identity ?? (await identityOf("n2"));
  return {
    address,
    identity,
    self: selfOf(identity),
    purpose: "raft",
    onLink: () => ({ onFrame: () => undefined, onEnd: () => undefined }),
    ...over,
  };
}

async function failure(options: DialOptions): Promise<Pick<DialError, "kind" | "code">> {
  const error: DialError = await dial(options).then(
    () => assert.fail("it was dialed"),
    (reason) => reason,
  );
  assert.equal(error.name, "DialError", String(error));
  return { kind: error.kind, code: error.code };
}

/** A plain TCP server with a given handler for each connection. */
async function plainServer(context: TestContext, onSocket: (socket: Socket) => void): Promise<string> {
  const server = createServer(onSocket);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket.on("error", () => undefined)));
  atEnd(context, () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns the address of a peer that answers any hello with `answer`. */
async function answering(context: TestContext, identity: Identity, answer: Buffer): Promise<string> {
  const server = createTlsServer(identity.serverOptions(), (socket) => {
    socket.on("error", () => undefined);
    socket.write(answer);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(context, () => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function helloOk({
  clusterId: cluster,
  nodeId: node,
  storageId: storage,
  epoch,
  proto,
  feat,
}: SelfDescription): Buffer {
  return encodeJson({ v: 1, cluster, epoch, node, storage, proto, feat });
}

test("a link is up after hello, and frames go in both directions", async (context) => {
  const { listener, links, frames } = await testListener(context);
  const answers: number[] = [];
  const link = await dial(
    await optionsOf(listener.address, {
      to: "n1",
      onLink: () => ({ onFrame: ({ kind }) => answers.push(kind), onEnd: () => undefined }),
    }),
  );
  assert.equal(link.peer.id, "n1");
  assert.deepEqual([links[0]?.peer.id, links[0]?.hello.to], ["n2", "n1"]);
  link.send(encodeFrame({ kind: KIND.raft }, Buffer.from("there")));
  await eventually("the frame is there", () => frames.length === 1);
  links[0]?.send(encodeFrame({ kind: KIND.raft }, Buffer.from("back")));
  await eventually("the answer is back", () => answers.length === 1);
  link.close();
});

test("a closed port, an unresolvable name and an invalid address are unreachable", async (context) => {
  const { listener } = await testListener(context);
  await listener.close();
  const cases = [
    [listener.address, "ECONNREFUSED"],
    ["does-not-exist.invalid:7000", /^(?:ENOTFOUND|EAI_AGAIN)$/],
    ["no address", "not_an_address"],
    [":7000", "not_an_address"],
  ] as const;
  for (const [address, code] of cases) {
    const found = await failure(await optionsOf(address));
    assert.equal(found.kind, "unreachable", address);
    if (typeof code === "string") assert.equal(found.code, code);
    else assert.match(found.code, code);
  }
});

test("another secret is reported as such by the dialing side, whichever side objects", async (context) => {
  const { listener } = await testListener(context);
  const outsider = await identityOf("n2", { secret: OTHER_SECRET });
  assert.equal((await failure(await optionsOf(listener.address, { identity: outsider }))).kind, "untrusted");
  const half = await identityOf("n2", { secret: OTHER_SECRET, previous: SECRET });
  const trusting = { ...half, dialCredentials: () => half.dialCredentials().slice(0, 1) };
  assert.equal((await failure(await optionsOf(listener.address, { identity: trusting }))).kind, "untrusted");
});

test("while the secret changes, nodes reach each other with one certificate or the other", async (context) => {
  const before = { secret: OTHER_SECRET };
  const between = { secret: SECRET, previous: OTHER_SECRET };
  const after = { secret: SECRET };
  const dialOutcome = async (server: object, client: object): Promise<string> => {
    const { listener } = await testListener(context, { identity: await identityOf("n1", server) });
    const identity = await identityOf("n2", client);
    const link = await dial(await optionsOf(listener.address, { identity })).catch((error: DialError) => error.kind);
    if (typeof link === "string") return link;
    link.close();
    return "up";
  };
  assert.equal(await dialOutcome(before, between), "up");
  assert.equal(await dialOutcome(between, before), "up");
  assert.equal(await dialOutcome(between, between), "up");
  assert.equal(await dialOutcome(after, between), "up");
  assert.equal(await dialOutcome(between, after), "up");
  assert.equal(await dialOutcome(after, before), "untrusted");
});

test("a refusal has the peer's code", async (context) => {
  const { listener } = await testListener(context, { refusalCodeFor: () => "not_a_member" });
  assert.deepEqual(await failure(await optionsOf(listener.address)), { kind: "refused", code: "not_a_member" });
});

test("an address of another node than the intended one is refused before any message", async (context) => {
  const { listener, links } = await testListener(context);
  const found = await failure(await optionsOf(listener.address, { to: "n3" }));
  assert.deepEqual(found, { kind: "refused", code: "wrong_node" });
  assert.equal(links.length, 0);
});

test("a peer that missed a recovery is refused by the dialing side, too", async (context) => {
  const node = await identityOf("n1");
  const address = await answering(context, node, encodeFrame({ kind: KIND.helloOk }, helloOk(selfOf(node))));
  const identity = await identityOf("n2");
  const found = await failure(await optionsOf(address, { identity, self: selfOf(identity, { epoch: 1 }) }));
  assert.deepEqual(found, { kind: "refused", code: "stale_recovery_epoch" });
});

test("a peer that does not speak TLS or disconnects during the handshake is broken", async (context) => {
  const http = await plainServer(context, (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  assert.equal((await failure(await optionsOf(http))).kind, "broken");
  const rude = await plainServer(context, (socket) => socket.destroy());
  assert.equal((await failure(await optionsOf(rude))).kind, "broken");
});

test("a peer that answers hello with something else is broken", async (context) => {
  const node = await identityOf("n1");
  for (const answer of [encodeFrame({ kind: KIND.raft }), encodeFrame({ kind: KIND.helloOk }, encodeJson({ v: 9 }))]) {
    const address = await answering(context, node, answer);
    assert.deepEqual(await failure(await optionsOf(address)), { kind: "broken", code: "garbage" });
  }
});

test("a peer that accepts and stays silent is abandoned in time", async (context) => {
  const timing = manualTiming();
  let accepted = 0;
  const silent = await plainServer(context, () => {
    accepted += 1;
  });
  const found = failure(await optionsOf(silent, { timing, timeoutMs: 1_000 }));
  await eventually("it is accepted", () => accepted === 1);
  timing.advance(1_000);
  assert.deepEqual(await found, { kind: "broken", code: "timeout" });
});

test("dialing ends with the signal's reason", async (context) => {
  const silent = await plainServer(context, () => undefined);
  const stop = new AbortController();
  const dialing = dial(await optionsOf(silent, { signal: stop.signal }));
  stop.abort(new Error("not wanted any more"));
  await assert.rejects(dialing, /not wanted any more/);
  await assert.rejects(dial(await optionsOf(silent, { signal: stop.signal })), /not wanted any more/);
});

test("a vanished peer is noticed by both sides, and a merely idle one is kept", async (context) => {
  const timing = manualTiming();
  const { listener, ends } = await testListener(context, { timing });
  const port = parseAddress(listener.address)?.port ?? 0;
  let isCut = false;
  const relay = await plainServer(context, (near) => {
    const far = connect(port, "127.0.0.1");
    atEnd(context, () => far.destroy());
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on("error", () => undefined);
      from.on("data", (chunk) => isCut || to.write(chunk));
    }
  });
  let ended: Error | undefined;
  await dial(
    await optionsOf(relay, {
      timing,
      onLink: () => ({
        onFrame: () => undefined,
        onEnd(error) {
          ended = error;
        },
      }),
    }),
  );
  for (let turn = 0; turn < 12; turn++) {
    timing.advance(2_500);
    // Pings and pongs need real turns of the sockets in between.
    for (let n = 0; n < 20; n++) await new Promise(setImmediate);
  }
  assert.equal(ended, undefined);
  isCut = true;
  timing.advance(10_000);
  assert.match(String(ended), /silent/);
  timing.advance(10_000);
  assert.match(String(ends[0]), /silent/);
});
