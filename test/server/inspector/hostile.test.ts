// tier: all
/**
 * The service with a hostile peer, at every layer below its messages: each case ends, memory stays bounded, and a
 * well-behaved peer is served all the while.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { credentials } from "@grpc/grpc-js";
import { loadExtProc, type ProcessingResponse__Output } from "../../../src/server/ext-proc/index.ts";
import { childArgs } from "../../support/child-program.ts";
import { field, framed, rawPeer, statusOf } from "./support/raw-peer.ts";

const { ExternalProcessor } = await loadExtProc();

/** Maximum growth over the whole file; the limit of held bytes is a quarter of it. */
const MAX_GROWTH_BYTES = 256 << 20;
/**
 * Maximum duration of a request during the attack, in milliseconds. On a loaded machine an attack can take longer than this, and
 * then a request may take as long as the attack, which shares its thread.
 */
const MAX_REQUEST_MS = 5_000;

let child: ChildProcess;
let port: number;
let atFirst: number;

before(async () => {
  child = spawn(process.execPath, childArgs("support/serve.ts", import.meta.url), {
    stdio: ["pipe", "pipe", "inherit"],
  });
  assert.ok(child.stdout !== null);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  port = Number(String(line).trim());
  await beside();
  atFirst = residentBytes();
});

after(async () => {
  const ended = once(child, "exit");
  child.stdin?.end();
  await ended;
});

const residentBytes = (): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) * 1024;

/** Sends a valid request and returns its duration in milliseconds. */
async function beside(): Promise<number> {
  const client = new ExternalProcessor(`127.0.0.1:${port}`, credentials.createInsecure());
  try {
    return await served(client);
  } finally {
    client.close();
  }
}

async function served(client: InstanceType<typeof ExternalProcessor>): Promise<number> {
  const began = performance.now();
  const call = client.Process();
  const ended = new Promise<number>((resolve) => call.on("status", ({ code }) => resolve(code)));
  const answers = call[Symbol.asyncIterator]() as AsyncIterator<ProcessingResponse__Output>;
  call.write({ request_headers: { headers: { headers: [{ key: ":method", raw_value: Buffer.from("POST") }] } } });
  assert.equal((await answers.next()).value.response, "request_headers");
  call.write({ request_body: { body: Buffer.from("{}"), end_of_stream: true } });
  assert.deepEqual((await answers.next()).value.request_body, {});
  call.end();
  assert.equal(await ended, 0);
  return performance.now() - began;
}

/** Runs the attack with sequential requests beside it, until it has ended and at least three were served. */
async function under(attack: () => Promise<void>): Promise<void> {
  let isOver = false;
  const began = performance.now();
  let attackMs = 0;
  const attacking = attack().finally(() => {
    isOver = true;
    attackMs = performance.now() - began;
  });
  attacking.catch(() => undefined);
  const took: number[] = [];
  while (!isOver || took.length < 3) took.push(await beside());
  await attacking;
  const slowest = Math.max(...took);
  assert.ok(
    slowest < Math.max(MAX_REQUEST_MS, attackMs),
    `${took.length} requests beside it, the slowest in ${slowest} ms`,
  );
  const grown = residentBytes() - atFirst;
  assert.ok(grown < MAX_GROWTH_BYTES, `it grew by ${grown >> 20} MiB`);
}

/** Returns the result of a stream with this data. */
async function sent(...chunks: readonly Buffer[]): Promise<string | undefined> {
  const peer = rawPeer(port);
  const stream = peer.open();
  const status = statusOf(stream);
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  try {
    return await status;
  } finally {
    peer.close();
  }
}

const HEADERS = field(
  2,
  field(1, field(1, Buffer.concat([field(1, Buffer.from(":method")), field(3, Buffer.from("POST"))]))),
);
const header = (name: Buffer, value: Buffer): Buffer =>
  field(2, field(1, field(1, Buffer.concat([field(1, name), field(3, value)]))));

/** Nests `Struct` in `Struct` to this depth. */
function nested(depth: number): Buffer {
  let value: Buffer = Buffer.alloc(0);
  for (let at = 0; at < depth; at++) {
    value = field(1, Buffer.concat([field(1, Buffer.from("a")), field(2, field(5, value))]));
  }
  return value;
}

/** gRPC statuses: 3 is an invalid argument, 8 an exhausted resource, 13 internal; 0 if there was nothing to judge. */
const BROKEN: readonly (readonly [string, readonly Buffer[], string])[] = [
  ["bytes that are not a message", [framed(Buffer.from([0xff, 0xff, 0xff, 0xff]))], "13"],
  ["a message with a declared length of four gigabytes", [framed(Buffer.alloc(10), { length: 0xffffffff })], "8"],
  ["a compressed message without a declared encoding", [framed(HEADERS, { flag: 1 })], "3"],
  ["a message that never ends", [framed(Buffer.alloc(10), { length: 1_000 })], "0"],
  [
    "a name that is not UTF-8",
    [framed(header(Buffer.from([0xff, 0xc0, 0x80]), Buffer.from("x"))), framed(Buffer.alloc(0))],
    "3",
  ],
  ["a body first, then everything else", [framed(field(4, field(1, Buffer.from("x")))), framed(HEADERS)], "3"],
  [
    "a structure nested ten thousand times",
    [
      framed(
        Buffer.concat([
          HEADERS,
          field(8, field(1, Buffer.concat([field(1, Buffer.from("n")), field(2, nested(10_000))]))),
        ]),
      ),
    ],
    "13",
  ],
];

for (const [what, chunks, status] of BROKEN) {
  test(`${what}: only its own stream ends`, async () => {
    await under(async () => assert.equal(await sent(...chunks), status));
  });
}

test("the server survives header values of a megabyte each, with any bytes", async () => {
  await under(async () => {
    const value = Buffer.alloc(1 << 20, 0xff);
    for (let at = 0; at < 20; at++) await sent(framed(header(Buffer.from("x-large"), value)));
  });
});

test("the server survives twenty thousand one-byte messages from a peer that reads no answer", async () => {
  await under(async () => {
    const peer = rawPeer(port);
    const stream = peer.open();
    stream.pause();
    stream.write(framed(HEADERS));
    const one = framed(field(4, field(1, Buffer.from("x"))));
    const many = Buffer.concat(Array.from({ length: 1_000 }, () => one));
    for (let at = 0; at < 20; at++) {
      if (!stream.write(many))
        await Promise.race([once(stream, "drain"), new Promise((resolve) => setTimeout(resolve, 200))]);
    }
    peer.close();
  });
});

test("the server survives large bodies from a peer that opens no window for the answers", async () => {
  const peer = rawPeer(port, { initialWindowSize: 0 });
  try {
    // Four times the limit: unread answers count like received data.
    const body = (bytes: number, isEnd: boolean): Buffer =>
      framed(
        field(4, Buffer.concat([field(1, Buffer.alloc(bytes, 0x78)), ...(isEnd ? [Buffer.from([0x10, 1])] : [])])),
      );
    const whole = Buffer.concat([framed(HEADERS), body(1_999_000, false), body(1_999_000, false), body(0, true)]);
    for (let at = 0; at < 64; at++) {
      const stream = peer.open();
      await Promise.race([new Promise((resolve) => stream.write(whole, resolve)), once(stream, "close")]);
    }
    await new Promise((resolve) => peer.session.ping(resolve));
    const grown = residentBytes() - atFirst;
    assert.ok(grown < MAX_GROWTH_BYTES, `it grew by ${grown >> 20} MiB`);
  } finally {
    peer.close();
  }
  await under(() => Promise.resolve());
});

test("the server survives streams that are opened and stay silent", async () => {
  await under(async () => {
    const peers = Array.from({ length: 10 }, () => rawPeer(port));
    for (const peer of peers) await once(peer.session, "connect");
    for (const peer of peers) for (let at = 0; at < 100; at++) peer.open();
    await beside();
    for (const peer of peers) peer.close();
  });
});

test("of two thousand streams those above the limit are refused, and served again once the others are gone", async () => {
  // A connection with more streams is asked to end.
  const peers = Array.from({ length: 6 }, () => rawPeer(port));
  for (const peer of peers) await once(peer.session, "connect");
  for (const peer of peers) for (let at = 0; at < 350; at++) peer.open();
  const outcome = (): Promise<unknown> =>
    beside().then(
      () => "served",
      (error: { readonly code?: number }) => error.code,
    );
  let seen = await outcome();
  while (seen === "served") seen = await outcome();
  assert.equal(seen, 8);
  for (const peer of peers) peer.close();
  while (seen !== "served") seen = await outcome();
});

test("the server survives twenty thousand streams opened and reset at once", async () => {
  await under(async () => {
    for (let round = 0; round < 20; round++) {
      const peer = rawPeer(port);
      const closed = once(peer.session, "close");
      await once(peer.session, "connect");
      for (let at = 0; at < 1_000 && !peer.session.destroyed; at++) peer.open().close(8);
      await new Promise((resolve) => setImmediate(resolve));
      peer.close();
      await closed;
    }
  });
});

test("the server survives metadata of a megabyte", async () => {
  await under(async () => {
    for (let round = 0; round < 5; round++) {
      const peer = rawPeer(port);
      const stream = peer.open({ "x-much": Array.from({ length: 60 }, () => "x".repeat(16_000)) });
      const status = statusOf(stream);
      stream.end(framed(HEADERS));
      assert.deepEqual([await status, stream.rstCode], [undefined, 2]);
      peer.close();
    }
  });
});

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};
const SETTINGS = frame(4, 0, 0, Buffer.alloc(0));

/** Far longer than needed. */
const LIMIT_MS = 5_000;

/** Each is written repeatedly until the service closes the connection, which all but the last cause. */
const FLOODS: readonly (readonly [string, Buffer, Buffer])[] = [
  ["no HTTP/2 at all", Buffer.from("GET / HTTP/1.1\r\n\r\n"), Buffer.from("x".repeat(1_000))],
  [
    "endless headers",
    frame(1, 0, 1, Buffer.from([0x82])),
    frame(9, 0, 1, Buffer.concat(Array.from({ length: 100 }, () => Buffer.from([0, 1, 0x61, 1, 0x62])))),
  ],
  ["endless settings", Buffer.alloc(0), Buffer.concat(Array.from({ length: 1_000 }, () => SETTINGS))],
  [
    "endless pings",
    Buffer.alloc(0),
    Buffer.concat(Array.from({ length: 1_000 }, () => frame(6, 0, 0, Buffer.alloc(8)))),
  ],
  ["data without a stream", Buffer.alloc(0), frame(0, 0, 99, Buffer.alloc(1_000))],
];

for (const [what, first, again] of FLOODS) {
  test(`the server survives raw bytes: ${what}`, async (t) => {
    await under(async () => {
      const socket: Socket = connect(port, "127.0.0.1");
      t.after(() => socket.destroy());
      socket.on("error", () => undefined);
      let isClosed = false;
      socket.on("close", () => {
        isClosed = true;
      });
      socket.resume();
      await once(socket, "connect");
      if (what !== "no HTTP/2 at all") socket.write(Buffer.concat([PREFACE, SETTINGS]));
      if (first.length > 0) socket.write(first);
      const isBorne = what === "data without a stream";
      const latest = performance.now() + LIMIT_MS;
      for (let at = 0; !isClosed && (isBorne ? at < 500 : performance.now() < latest); at++) {
        socket.write(again);
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal(isClosed, !isBorne);
    });
  });
}

test("nothing is left once all streams are gone", async () => {
  for (let at = 0; at < 20; at++) await beside();
  const grown = residentBytes() - atFirst;
  assert.ok(grown < MAX_GROWTH_BYTES, `it grew by ${grown >> 20} MiB`);
});
