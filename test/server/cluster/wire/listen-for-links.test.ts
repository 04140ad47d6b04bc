/** A listener with invalid peers, over real TLS sockets. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { parseAddress } from "../../../../src/base/index.ts";
import {
  encodeFrame,
  KIND,
  type ListenOptions,
  type SelfDescription,
} from "../../../../src/server/cluster/wire/index.ts";
import { atEnd, eventually } from "../../../e2e/support/wait.ts";
import { identityOf, OTHER_SECRET } from "../identity/made.ts";
import { testListener } from "./harness.ts";
import { manualTiming } from "./manual-timing.ts";
import { helloFrame, rawPeer } from "./raw-peer.ts";
import { selfOf } from "./selves.ts";

const portOf = (address: string): number => parseAddress(address)?.port ?? 0;

interface Refusal {
  readonly code: string;
  readonly self?: Partial<SelfDescription>;
  readonly hello?: Readonly<Record<string, unknown>>;
  readonly purpose?: string;
  readonly kind?: "node" | "cli";
  readonly listener?: Partial<ListenOptions>;
}

/** Refusals in the order of the checks: each hello is also wrong in every later way. */
const REFUSALS: readonly Refusal[] = [
  { code: "identity_mismatch", self: { nodeId: "n3", clusterId: "0123456789abcdef", epoch: 0 } },
  { code: "wrong_cluster", self: { clusterId: "0123456789abcdef", epoch: 0, proto: [2, 3] } },
  { code: "stale_recovery_epoch", self: { epoch: 1, proto: [2, 3] }, purpose: "forward" },
  { code: "newer_recovery_epoch", self: { epoch: 3, proto: [2, 3] }, purpose: "forward" },
  { code: "protocol", self: { epoch: 2, proto: [2, 3] }, purpose: "forward" },
  { code: "wrong_purpose", self: { epoch: 2 }, purpose: "forward" },
  { code: "wrong_purpose", self: { epoch: 2 }, kind: "cli" },
  { code: "not_a_member", self: { epoch: 2 }, hello: { to: "n9" }, listener: { refusalCodeFor: () => "not_a_member" } },
  {
    code: "storage_changed",
    self: { epoch: 2 },
    hello: { to: "n9" },
    listener: { refusalCodeFor: () => "storage_changed" },
  },
  { code: "wrong_node", self: { epoch: 2 }, hello: { to: "n9" } },
];

for (const { code, self = {}, hello = {}, purpose = "raft", kind = "node", listener: over = {} } of REFUSALS) {
  test(`hello is refused: ${code}${kind === "cli" ? " (a command line)" : ""}`, async (context) => {
    const [server, client] = await Promise.all([identityOf("n1"), identityOf("n2", { kind })]);
    const { listener, links } = await testListener(context, {
      identity: server,
      self: selfOf(server, { epoch: 2 }),
      links: { raft: 1 },
      ...over,
    });
    const peer = await rawPeer(listener.address, client);
    peer.send(helloFrame(selfOf(client, self), purpose, hello));
    const { kind: answered, payload } = await peer.nextFrame();
    assert.equal(answered, KIND.helloRefused);
    assert.deepEqual(JSON.parse(payload.toString()), { code });
    await peer.closed;
    assert.deepEqual(listener.stats().refused, { [code]: 1 });
    assert.equal(links.length, 0);
  });
}

test("an empty node and a command line are not stale, since they have no epoch", async (context) => {
  const [server, client] = await Promise.all([identityOf("n1"), identityOf("0a", { kind: "cli" })]);
  const { listener, links } = await testListener(context, {
    identity: server,
    self: selfOf(server, { epoch: 7 }),
    admitsCli: true,
  });
  const peer = await rawPeer(listener.address, client);
  peer.send(helloFrame(selfOf(client, { epoch: undefined }), "forward"));
  const { kind, payload } = await peer.nextFrame();
  assert.equal(kind, KIND.helloOk);
  assert.equal(JSON.parse(payload.toString()).epoch, 7);
  assert.equal(links[0]?.peer.kind, "cli");
  peer.socket.destroy();
});

test("a refusal is logged once, and again when its reason changes", async (context) => {
  const client = await identityOf("n2");
  let code = "not_a_member";
  const { listener, log } = await testListener(context, { refusalCodeFor: () => code });
  const attempt = async (): Promise<void> => {
    const peer = await rawPeer(listener.address, client);
    peer.send(helloFrame(selfOf(client), "raft"));
    await peer.closed;
  };
  for (code of ["not_a_member", "not_a_member", "storage_changed", "storage_changed"]) await attempt();
  assert.deepEqual(
    log.lines.map(({ level, fields }) => [level, fields["peer"], fields["reason"]]),
    [
      ["warn", "n2", "not_a_member"],
      ["warn", "n2", "storage_changed"],
    ],
  );
  assert.deepEqual(listener.stats().refused, { not_a_member: 2, storage_changed: 2 });
});

const GARBAGE: readonly (readonly [what: string, bytes: Buffer])[] = [
  ["bytes that are not a frame", Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n")],
  ["a first frame other than hello", encodeFrame({ kind: KIND.raft }, Buffer.from("x"))],
  ["a hello above its limit", encodeFrame({ kind: KIND.hello }, Buffer.alloc(4_096, " "))],
  ["a hello that is not JSON", encodeFrame({ kind: KIND.hello }, Buffer.from("hello"))],
  ["a hello that is not an object", encodeFrame({ kind: KIND.hello }, Buffer.from("[1]"))],
  ["a hello without its members", encodeFrame({ kind: KIND.hello }, Buffer.from('{"v":1,"purpose":"raft"}'))],
];

for (const [what, bytes] of GARBAGE) {
  test(`the connection of a peer that sends ${what} is closed silently`, async (context) => {
    const client = await identityOf("n2");
    const { listener, links } = await testListener(context);
    const peer = await rawPeer(listener.address, client);
    peer.send(bytes);
    await peer.closed;
    assert.equal(peer.frames.length, 0);
    assert.equal(listener.stats().malformed, 1);
    assert.equal(links.length, 0);
  });
}

test("a link whose peer sends garbage after hello is closed and reported to its owner", async (context) => {
  const client = await identityOf("n2");
  const { listener, ends, log } = await testListener(context);
  const peer = await rawPeer(listener.address, client);
  peer.send(helloFrame(selfOf(client), "raft"));
  await peer.nextFrame();
  peer.send(encodeFrame({ kind: KIND.raft }, Buffer.from("kept whole")));
  peer.send(Buffer.from("ffffffff", "hex"));
  await peer.closed;
  assert.match(String(ends[0]), /WireError/);
  assert.equal(listener.stats().links, 0);
  assert.equal(log.lines.at(-1)?.fields["peer"], "n2");
});

test("plain HTTP, plain garbage and a port scan are closed and counted", async (context) => {
  const { listener } = await testListener(context);
  for (const bytes of ["GET / HTTP/1.1\r\n\r\n", "\0\0\0\0\0\0\0\0", ""]) {
    const socket = connect(portOf(listener.address), "127.0.0.1");
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.end(bytes);
    socket.resume();
    if (!socket.closed) await new Promise((resolve) => socket.once("close", resolve));
  }
  await eventually("all three are counted", () => listener.stats().untrusted === 3);
});

test("another secret, a missing certificate and an expired one are counted and get no answer", async (context) => {
  const node = await identityOf("n1");
  const { listener, log } = await testListener(context);
  const outsider = await identityOf("n2", { secret: OTHER_SECRET });
  const expired = await identityOf("n2", { now: () => Date.now() - 400 * 86_400_000 });
  const tries = [
    rawPeer(listener.address, outsider, { rejectUnauthorized: false }),
    rawPeer(listener.address, node, { secureContext: undefined, ca: node.caCertificate } as object),
    rawPeer(listener.address, expired),
  ];
  for (const peer of await Promise.all(tries)) {
    await peer.closed;
    assert.equal(peer.frames.length, 0);
  }
  assert.equal(listener.stats().untrusted, 3);
  assert.ok(log.lines.length >= 1 && log.lines.length <= 3);
});

test("a peer without a hello within five seconds is disconnected, before TLS and after", async (context) => {
  const timing = manualTiming();
  const client = await identityOf("n2");
  const { listener } = await testListener(context, { timing });
  const socket = connect(portOf(listener.address), "127.0.0.1");
  atEnd(context, () => socket.destroy());
  socket.on("error", () => undefined);
  const dropped = new Promise((resolve) => socket.once("close", resolve));
  const peer = await rawPeer(listener.address, client);
  peer.send(helloFrame(selfOf(client), "raft").subarray(0, 40));
  await eventually("both are accepted", () => timing.requestedDelays.length === 2);
  timing.advance(4_999);
  assert.equal(peer.socket.destroyed, false);
  timing.advance(1);
  await Promise.all([dropped, peer.closed]);
  assert.equal(listener.stats().malformed, 2);
});

test("at most 256 connections wait for their hello; established links do not count", async (context) => {
  const client = await identityOf("n2");
  const { listener } = await testListener(context);
  const greeted = await rawPeer(listener.address, client);
  greeted.send(helloFrame(selfOf(client), "raft"));
  await greeted.nextFrame();
  let closed = 0;
  const sockets = Array.from({ length: 260 }, () => {
    const socket = connect(portOf(listener.address), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.once("close", () => {
      closed += 1;
    });
    return socket;
  });
  atEnd(context, () => {
    for (const socket of sockets) socket.destroy();
  });
  await eventually("those beyond the bound are closed", () => closed === 4);
  assert.equal(listener.stats().overflowed, 4);
  for (const socket of sockets) socket.destroy();
  await eventually("the others leave", () => closed === 260);
  const late = await rawPeer(listener.address, await identityOf("n3"));
  late.send(helloFrame(selfOf(await identityOf("n3")), "raft"));
  assert.equal((await late.nextFrame()).kind, KIND.helloOk);
  for (const { socket } of [greeted, late]) socket.destroy();
});

test("a peer's new link replaces the old one if configured", async (context) => {
  const client = await identityOf("n2");
  const { listener, links } = await testListener(context);
  const open = async () => {
    const peer = await rawPeer(listener.address, client);
    peer.send(helloFrame(selfOf(client), "raft"));
    assert.equal((await peer.nextFrame()).kind, KIND.helloOk);
    return peer;
  };
  const first = await open();
  const second = await open();
  await first.closed;
  assert.equal(links.length, 2);
  assert.deepEqual([...listener.links()], [links[1]]);
  second.socket.destroy();
});

test("if links are not replaced, one too many is refused as busy", async (context) => {
  const client = await identityOf("n2");
  const { listener } = await testListener(context, { replaces: false });
  const answers: number[] = [];
  for (let n = 0; n < 3; n++) {
    const peer = await rawPeer(listener.address, client);
    atEnd(context, () => peer.socket.destroy());
    peer.send(helloFrame(selfOf(client), "forward"));
    answers.push((await peer.nextFrame()).kind);
  }
  assert.deepEqual(answers, [KIND.helloOk, KIND.helloOk, KIND.helloRefused]);
  assert.deepEqual(listener.stats().refused, { busy: 1 });
});

test("an address in use is named, with the system's error as the cause", async (context) => {
  const { listener } = await testListener(context);
  await assert.rejects(testListener(context, { listen: listener.address }), (error: Error) => {
    assert.ok(error.message.includes(listener.address));
    assert.equal((error.cause as NodeJS.ErrnoException).code, "EADDRINUSE");
    return true;
  });
  await assert.rejects(testListener(context, { listen: "nowhere" }), /not an address/);
});
