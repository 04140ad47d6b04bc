/** A connection that is replaced loses no stream that the peer opens before it has read the GOAWAY. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { test } from "node:test";
import { nullLog } from "../../../src/base/index.ts";
import { openInspector } from "../../../src/server/inspector/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../../src/server/memory/index.ts";
import { atEnd, eventually, within } from "../../e2e/support/wait.ts";
import { rawPeer, statusOf } from "./support/raw-peer.ts";

/** Number of streams after which the inspector replaces a connection. */
const STREAMS = 400;
/** Streams that a peer opens while the GOAWAY is on its way. */
const LATE = 40;
/** GOAWAY for stream 2^31-1 without an error. Source: RFC 9113, section 6.8. */
const GOAWAY = Buffer.from("0000080700000000007fffffff00000000", "hex");

test("streams that are opened before the peer reads the GOAWAY are served", async (t) => {
  const inspector = await openInspector({
    address: "127.0.0.1:0",
    mode: "streamed",
    maxMessageBytes: 1_000_000,
    account: createAdmission(DEFAULT_ADMISSION),
    maxStreams: 200,
    maxQuietMs: 60_000,
    maxSilentMs: 60_000,
    begin: () => ({ maxBodyBytes: 1_000, inspect: async () => ({ kind: "allow" }) }),
    observer: { count: () => undefined, countInspection: () => undefined },
    log: nullLog,
  });
  atEnd(t, () => inspector.close(0));
  const relay = await openRelay(inspector.port);
  atEnd(t, () => relay.close());
  const peer = rawPeer(relay.port);
  atEnd(t, () => peer.close());
  const goaways: unknown[] = [];
  peer.session.on("goaway", (code) => goaways.push(code));

  const serve = async (): Promise<string | undefined> => {
    const stream = peer.open();
    stream.end();
    return statusOf(stream);
  };
  for (let stream = 1; stream < STREAMS; stream += 1) assert.equal(await serve(), "0");
  relay.hold();
  const last = serve();
  await eventually("a GOAWAY", () => relay.held().includes(GOAWAY));
  assert.deepEqual(goaways, []);
  const late = Array.from({ length: LATE }, () => serve());
  await eventually("the late streams at the server", () => countTrailers(relay.held()) > LATE);
  relay.release();
  const statuses = await within("the ends of all streams", Promise.all([last, ...late]));
  assert.deepEqual(new Set(statuses), new Set(["0"]));
  await eventually("the GOAWAY at the peer", () => goaways.length > 0);
  assert.deepEqual(goaways, [0]);
  // A further connection is served as well.
  const next = rawPeer(inspector.port);
  atEnd(t, () => next.close());
  const stream = next.open();
  stream.end();
  assert.equal(await statusOf(stream), "0");
});

/** Counts HEADERS frames that end a stream (flags END_STREAM and END_HEADERS), walking the frames after `bytes` begins with one. */
function countTrailers(bytes: Buffer): number {
  let trailers = 0;
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    if (bytes[at + 3] === 1 && ((bytes[at + 4] ?? 0) & 5) === 5) trailers += 1;
  }
  return trailers;
}

interface Relay {
  readonly port: number;
  /** Keeps what the server sends from the client until `release`. */
  hold(): void;
  held(): Buffer;
  release(): void;
  close(): void;
}

/** Relays one connection to `port`. */
async function openRelay(port: number): Promise<Relay> {
  let isHolding = false;
  let chunks: Buffer[] = [];
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    client.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
    upstream.on("error", () => client.destroy()).on("close", () => client.destroy());
    client.on("data", (chunk: Buffer) => upstream.write(chunk));
    upstream.on("data", (chunk: Buffer) => {
      if (isHolding) chunks.push(chunk);
      else client.write(chunk);
    });
    release = () => {
      isHolding = false;
      client.write(Buffer.concat(chunks));
      chunks = [];
    };
  });
  let release = (): void => undefined;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    hold() {
      isHolding = true;
    },
    held: () => Buffer.concat(chunks),
    release: () => release(),
    close: () => server.close(),
  };
}
