/** Requests between nodes over real TLS sockets: answers, and the meaning of failures. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { encodeFrame, KIND } from "../../../../src/server/cluster/wire/index.ts";
import { atEnd, eventually } from "../../../e2e/support/wait.ts";
import { identityOf, OTHER_SECRET, SECRET } from "../identity/made.ts";
import { relayTo } from "../transport/relay.ts";
import { manualTiming } from "../wire/manual-timing.ts";
import { helloFrame, rawPeer } from "../wire/raw-peer.ts";
import { selfOf } from "../wire/selves.ts";
import { type Script, testClient, testServer } from "./harness.ts";

const LIMITS = { timeoutMs: 10_000 };

const echo: Script = ({ kind, header, body }) => ({ kind: "result", header: { kind, header }, body });

test("header and body arrive as the other side sent them", async (context) => {
  const { address } = await testServer(context, echo);
  const client = await testClient(context);
  const body = Buffer.alloc(2 * 1024 * 1024, 9);
  for (const kind of ["propose", "join", "rejoin", "prune", "status"] as const) {
    const reply = await client.request(address, { kind, header: { text: "grüße", n: 1 }, body }, LIMITS);
    assert.equal(reply.kind, "result");
    assert.deepEqual(reply.kind === "result" && reply.header, { kind, header: { text: "grüße", n: 1 } });
    assert.ok(reply.kind === "result" && body.equals(reply.body));
  }
});

test("an error arrives as the same error", async (context) => {
  const { address } = await testServer(context, () => ({
    kind: "error",
    code: "conflict",
    message: "the key exists",
    details: { key: "a" },
  }));
  const client = await testClient(context);
  assert.deepEqual(await client.request(address, { kind: "propose", header: "what" }, LIMITS), {
    kind: "error",
    code: "conflict",
    message: "the key exists",
    details: { key: "a" },
  });
});

test("many exchanges share one link, and each gets its own answer in any order", async (context) => {
  const held: (() => void)[] = [];
  const { address, server } = await testServer(context, async ({ header }) => {
    await new Promise<void>((resolve) => held.push(resolve));
    return { kind: "result", header };
  });
  const client = await testClient(context);
  const asked = Array.from({ length: 500 }, (_, n) => client.request(address, { kind: "propose", header: n }, LIMITS));
  await eventually("all are under way", () => held.length === 500);
  for (const release of held.reverse()) release();
  const replies = await Promise.all(asked);
  assert.deepEqual(
    replies.map((reply) => reply.kind === "result" && reply.header),
    Array.from({ length: 500 }, (_, n) => n),
  );
  assert.equal(server.stats().accepted, 1);
});

test("above 1,024 outstanding requests a link is busy at once, without asking", async (context) => {
  let requestCount = 0;
  const { address } = await testServer(context, () => {
    requestCount += 1;
    return new Promise(() => undefined);
  });
  const client = await testClient(context);
  const stop = new AbortController();
  const limits = { ...LIMITS, signal: stop.signal };
  const outstanding = Array.from({ length: 1_024 }, () =>
    client.request(address, { kind: "propose", header: 0 }, limits).catch(() => "stopped"),
  );
  assert.deepEqual(await client.request(address, { kind: "propose", header: 0 }, LIMITS), { kind: "busy" });
  await eventually("the others are under way", () => requestCount === 1_024);
  stop.abort();
  assert.deepEqual(new Set(await Promise.all(outstanding)), new Set(["stopped"]));
});

test("a peer that sends more than 1,024 requests at once gets busy for the rest", async (context) => {
  const { address } = await testServer(context, () => new Promise(() => undefined));
  const identity = await identityOf("n2");
  const peer = await rawPeer(address, identity);
  atEnd(context, () => peer.socket.destroy());
  peer.send(helloFrame(selfOf(identity), "forward"));
  await peer.nextFrame();
  const request = (id: number) =>
    encodeFrame({ kind: KIND.status, id, isLast: true }, Buffer.from("0000000130", "hex"));
  peer.send(Buffer.concat(Array.from({ length: 1_025 }, (_, n) => request(n + 1))));
  const { kind, id, payload } = await peer.nextFrame();
  assert.deepEqual([kind, id], [KIND.error, 1_025]);
  assert.match(payload.toString(), /"busy"/);
});

test("a late answer makes the outcome unknown, and the other side learns of the cancellation", async (context) => {
  let aborted: unknown;
  const { address } = await testServer(context, (_, signal) => {
    signal.addEventListener("abort", () => {
      aborted = signal.reason;
    });
    return new Promise(() => undefined);
  });
  const client = await testClient(context);
  const reply = await client.request(address, { kind: "propose", header: 1 }, { timeoutMs: 100 });
  assert.equal(reply.kind, "unknown");
  await eventually("the server stops", () => aborted !== undefined);
  assert.match(String(aborted), /aborted the request/);
});

test("an aborted request rejects with the signal's reason, and its late answer is dropped", async (context) => {
  let release = () => {};
  let isAborted = false;
  const { address } = await testServer(context, async ({ header }, signal) => {
    if (header === "slow") {
      await new Promise<void>((resolve) => {
        release = resolve;
        signal.addEventListener("abort", () => {
          isAborted = true;
        });
      });
    }
    return { kind: "result", header };
  });
  const client = await testClient(context);
  const stop = new AbortController();
  const slow = client.request(address, { kind: "propose", header: "slow" }, { ...LIMITS, signal: stop.signal });
  const quick = await client.request(address, { kind: "propose", header: "quick" }, LIMITS);
  assert.equal(quick.kind, "result");
  stop.abort(new Error("the client has left"));
  await assert.rejects(slow, /the client has left/);
  await eventually("the server learns of it", () => isAborted);
  release();
  const after = await client.request(address, { kind: "propose", header: "after" }, LIMITS);
  assert.equal(after.kind === "result" && after.header, "after");
  await assert.rejects(
    client.request(address, { kind: "propose", header: 1 }, { ...LIMITS, signal: stop.signal }),
    /the client has left/,
  );
});

test("a request that was certainly not sent is unreachable, with the reason", async (context) => {
  const gone = await testServer(context, echo);
  await gone.server.close();
  const strict = await testServer(context, echo, { refusalCodeFor: () => "not_a_member" });
  const client = await testClient(context);
  const outsider = await testClient(context, { secret: OTHER_SECRET });
  const ask = async (of: typeof client, address: string) => {
    const reply = await of.request(address, { kind: "propose", header: 1 }, LIMITS);
    return reply.kind === "unreachable" ? [reply.failure, reply.code] : reply.kind;
  };
  assert.deepEqual(await ask(client, gone.address), ["unreachable", "ECONNREFUSED"]);
  assert.deepEqual(await ask(client, "nowhere"), ["unreachable", "not_an_address"]);
  assert.equal((await ask(client, "does-not-exist.invalid:1"))[0], "unreachable");
  assert.deepEqual(await ask(client, strict.address), ["refused", "not_a_member"]);
  assert.equal((await ask(outsider, strict.address))[0], "untrusted");
});

test("a peer that accepts and stays silent is unreachable after the request's timeout", async (context) => {
  const silent = createServer((socket) => socket.on("error", () => undefined));
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  atEnd(context, () => silent.close());
  const client = await testClient(context);
  const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const reply = await client.request(address, { kind: "propose", header: 1 }, { timeoutMs: 50 });
  assert.deepEqual(reply.kind === "unreachable" && reply.code, "timeout");
});

test("a link that breaks makes its requests unknown, and the next request opens another", async (context) => {
  let requestCount = 0;
  const { address, server } = await testServer(context, ({ header }) => {
    requestCount += 1;
    return header === "hang" ? new Promise(() => undefined) : { kind: "result", header };
  });
  const relay = await relayTo(context, address);
  const client = await testClient(context);
  const hanging = client.request(relay.address, { kind: "propose", header: "hang" }, LIMITS);
  await eventually("it is under way", () => requestCount === 1);
  relay.cut();
  assert.equal((await hanging).kind, "unknown");
  assert.equal((await client.request(relay.address, { kind: "propose", header: 1 }, LIMITS)).kind, "result");
  assert.equal(server.stats().accepted, 2);
});

test("a closing server aborts running requests and makes them unknown", async (context) => {
  let signal: AbortSignal | undefined;
  const { address, server } = await testServer(context, (_, input) => {
    signal = input;
    return new Promise(() => undefined);
  });
  const client = await testClient(context);
  const asked = client.request(address, { kind: "propose", header: 1 }, LIMITS);
  await eventually("it is under way", () => signal !== undefined);
  await server.close();
  assert.equal((await asked).kind, "unknown");
  assert.ok(signal?.aborted);
});

test("an idle link is closed after a minute, and a closed client sends nothing further", async (context) => {
  const timing = manualTiming();
  const { address, server } = await testServer(context, echo);
  const client = await testClient(context, { timing });
  assert.equal((await client.request(address, { kind: "status", header: null }, LIMITS)).kind, "result");
  assert.equal(server.stats().links, 1);
  for (let at = 0; at < 60_000; at += 2_500) {
    timing.advance(2_500);
    for (let n = 0; n < 10; n++) await new Promise(setImmediate);
  }
  await eventually("it is closed", () => server.stats().links === 0);
  client.close();
  const reply = await client.request(address, { kind: "status", header: null }, LIMITS);
  assert.equal(reply.kind, "unreachable");
});

test("a failing handler is answered as internal without its message, which is logged", async (context) => {
  const { address, log } = await testServer(context, () => Promise.reject(new Error("the secret is 42")));
  const client = await testClient(context);
  const reply = await client.request(address, { kind: "propose", header: 1 }, LIMITS);
  assert.equal(reply.kind === "error" && reply.code, "internal");
  assert.ok(!JSON.stringify(reply).includes("42"));
  assert.match(String(log.lines.at(-1)?.fields["error"]), /42/);
});

test("an oversized request is the caller's error, and an oversized answer is internal", async (context) => {
  const { address } = await testServer(context, () => ({ kind: "result", header: "x".repeat(70_000) }));
  const client = await testClient(context);
  const ask = (header: unknown, body?: Uint8Array) =>
    client.request(address, { kind: "propose", header, ...(body === undefined ? {} : { body }) }, LIMITS);
  await assert.rejects(ask("x".repeat(65_536)), RangeError);
  await assert.rejects(ask(1, new Uint8Array(2 * 1024 * 1024 + 1)), RangeError);
  await assert.rejects(ask(undefined), TypeError);
  const reply = await ask(1);
  assert.equal(reply.kind === "error" && reply.code, "internal");
});

test("a command line may only prune and read the status", async (context) => {
  const { address, server } = await testServer(context, ({ peer }) => ({ kind: "result", header: peer.kind }));
  const cli = await testClient(context, { kind: "cli", id: "0a1b2c" });
  for (const kind of ["prune", "status"] as const) {
    const reply = await cli.request(address, { kind, header: {} }, LIMITS);
    assert.equal(reply.kind === "result" && reply.header, "cli");
  }
  for (const kind of ["propose", "join", "rejoin"] as const) {
    const reply = await cli.request(address, { kind, header: {} }, LIMITS);
    assert.equal(reply.kind === "error" && reply.code, "forbidden", kind);
  }
  assert.equal(server.stats().links, 1);
});

test("while the secret changes, either secret is accepted", async (context) => {
  const { address } = await testServer(context, echo, {}, { secret: SECRET, previous: OTHER_SECRET });
  for (const secret of [SECRET, OTHER_SECRET]) {
    const client = await testClient(context, { secret });
    assert.equal((await client.request(address, { kind: "status", header: 0 }, LIMITS)).kind, "result");
  }
});

const BAD_REQUESTS: readonly (readonly [what: string, frame: Buffer])[] = [
  [
    "a header that is cut off",
    encodeFrame({ kind: KIND.propose, id: 1, isLast: true }, Buffer.from("00000009", "hex")),
  ],
  [
    "a header above its limit",
    encodeFrame({ kind: KIND.propose, id: 1, isLast: true }, Buffer.from("00010001", "hex")),
  ],
  [
    "a header that is not JSON",
    encodeFrame({ kind: KIND.propose, id: 1, isLast: true }, Buffer.from("0000000178", "hex")),
  ],
  ["a request of several frames", encodeFrame({ kind: KIND.propose, id: 1 }, Buffer.from("0000000130", "hex"))],
  ["an answer", encodeFrame({ kind: KIND.result, id: 1, isLast: true }, Buffer.from("0000000130", "hex"))],
  ["a frame of unknown kind", encodeFrame({ kind: 0x3e, id: 1, isLast: true })],
];

for (const [what, frame] of BAD_REQUESTS) {
  test(`a peer that sends ${what} is cut off`, async (context) => {
    const { address, server } = await testServer(context, echo);
    const identity = await identityOf("n2");
    const peer = await rawPeer(address, identity);
    peer.send(helloFrame(selfOf(identity), "forward"));
    await peer.nextFrame();
    peer.send(frame);
    await peer.closed;
    assert.equal(server.stats().malformed, 1);
  });
}

test("a peer that uses an id twice at once is cut off", async (context) => {
  const { address, server } = await testServer(context, () => new Promise(() => undefined));
  const identity = await identityOf("n2");
  const peer = await rawPeer(address, identity);
  peer.send(helloFrame(selfOf(identity), "forward"));
  await peer.nextFrame();
  const frame = encodeFrame({ kind: KIND.status, id: 1, isLast: true }, Buffer.from("0000000130", "hex"));
  peer.send(Buffer.concat([frame, frame]));
  await peer.closed;
  assert.equal(server.stats().malformed, 1);
});

test("a canceled id may be reused, and the late end of the first request does not affect the second", async (context) => {
  const begun: { readonly signal: AbortSignal; readonly release: () => void }[] = [];
  const { address } = await testServer(context, async (_, signal) => {
    await new Promise<void>((release) => begun.push({ signal, release }));
    return { kind: "result", header: null };
  });
  const identity = await identityOf("n2");
  const peer = await rawPeer(address, identity);
  atEnd(context, () => peer.socket.destroy());
  peer.send(helloFrame(selfOf(identity), "forward"));
  await peer.nextFrame();
  const json = Buffer.from("0000000130", "hex");
  const ask = encodeFrame({ kind: KIND.propose, id: 1, isLast: true }, json);
  const giveUp = encodeFrame({ kind: KIND.error, id: 1, isLast: true }, json);
  peer.send(Buffer.concat([ask, giveUp, ask]));
  await eventually("both have begun", () => begun.length === 2);
  const [first, second] = begun;
  assert.deepEqual([first?.signal.aborted, second?.signal.aborted], [true, false]);
  first?.release();
  await new Promise(setImmediate);
  peer.send(giveUp);
  await eventually("the second is given up", () => second?.signal.aborted === true);
});
