/** Service operation beside its verdicts: health, series, messages about filters, and its timeouts. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { constants } from "node:http2";
import { test } from "node:test";
import { Client, credentials, status } from "@grpc/grpc-js";
import { createInstruments, nullLog } from "../../../src/base/index.ts";
import { loadExtProc } from "../../../src/server/ext-proc/index.ts";
import {
  filterSettings,
  type InspectorEvent,
  type InspectorOptions,
  observeInspector,
  openInspector,
  warnOfPeers,
} from "../../../src/server/inspector/index.ts";
import { peerName } from "../../../src/server/inspector/peer-name.ts";
import { createStreamRegistry } from "../../../src/server/inspector/stream-registry.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../../src/server/memory/index.ts";
import { field, framed, rawPeer } from "./support/raw-peer.ts";

const { ExternalProcessor } = await loadExtProc();

const counted: (readonly [InspectorEvent, string])[] = [];

const open = (changes: Partial<InspectorOptions> = {}) =>
  openInspector({
    address: "127.0.0.1:0",
    mode: "streamed",
    maxMessageBytes: 1_000_000,
    account: createAdmission({ ...DEFAULT_ADMISSION, maxBufferedBytes: 1_000_000 }),
    maxStreams: 20,
    maxQuietMs: 60_000,
    maxSilentMs: 60_000,
    begin: () => ({ maxBodyBytes: 50_000, inspect: async () => ({ kind: "allow" }) }),
    observer: { count: (what, peer) => void counted.push([what, peer]), countInspection: () => undefined },
    log: nullLog,
    ...changes,
  });

const asItIs = (bytes: Buffer): Buffer => bytes;
const question = (service: string): Buffer =>
  service === "" ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, service.length]), Buffer.from(service)]);

function check(client: Client, service: string): Promise<string> {
  return new Promise((resolve) => {
    const path = "/grpc.health.v1.Health/Check";
    client.makeUnaryRequest(path, asItIs, asItIs, question(service), (error, answer) =>
      resolve(error === null ? (answer?.toString("hex") ?? "") : `error ${error.code}`),
    );
  });
}

test("a health check says that the service serves, and a watch that it no longer does", async () => {
  const inspector = await open();
  const client = new Client(inspector.address, credentials.createInsecure());
  for (const service of ["", "envoy.service.ext_proc.v3.ExternalProcessor"]) {
    assert.equal(await check(client, service), "0801");
  }
  assert.equal(await check(client, "other"), `error ${status.NOT_FOUND}`);
  const watching = client.makeServerStreamRequest("/grpc.health.v1.Health/Watch", asItIs, asItIs, question(""));
  const reported: string[] = [];
  const ended = new Promise<number>((resolve) => watching.on("status", ({ code }) => resolve(code)));
  const first = new Promise((resolve) => watching.once("data", resolve));
  watching.on("data", (bytes: Buffer) => reported.push(bytes.toString("hex")));
  await first;
  await inspector.close(0);
  assert.equal(await ended, status.OK);
  assert.deepEqual(reported, ["0801", "0802"]);
  client.close();
});

test("a peer that opens a request and goes silent is dropped with an error", async () => {
  const inspector = await open({ maxQuietMs: 50 });
  const client = new ExternalProcessor(inspector.address, credentials.createInsecure());
  const call = client.Process();
  call.on("error", () => undefined);
  call.on("data", () => undefined);
  const code = await new Promise<number>((resolve) => {
    call.on("status", (end) => resolve(end.code));
    call.write({ request_headers: { headers: { headers: [] } } });
  });
  assert.equal(code, status.DEADLINE_EXCEEDED);
  assert.deepEqual(counted.at(-1), ["stalled", "127.0.0.1"]);
  assert.equal(inspector.openStreams(), 0);
  client.close();
  await inspector.close(0);
});

const HEADERS = framed(field(2, Buffer.alloc(0)));
const bodyOf = (bytes: number, isEnd: boolean): Buffer =>
  framed(field(4, Buffer.concat([field(1, Buffer.alloc(bytes, 0x78)), ...(isEnd ? [Buffer.from([0x10, 1])] : [])])));

for (const [what, messages] of [
  ["a body", [HEADERS, bodyOf(30_000, false), bodyOf(10_000, true)]],
  ["nothing but a status", [HEADERS]],
] as const) {
  test(`an unread answer is kept for a limited time, and dropped with its stream: ${what}`, async () => {
    const inspector = await open({ maxQuietMs: 50 });
    const peer = rawPeer(inspector.port, { initialWindowSize: 0 });
    const stream = peer.open();
    stream.write(Buffer.concat(messages));
    await once(stream, "close");
    assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL);
    assert.deepEqual(counted.at(-1), ["stalled", "127.0.0.1"]);
    while (inspector.heldBytes() + inspector.openStreams() > 0) await new Promise((resolve) => setImmediate(resolve));
    // Its connection is not at fault.
    const other = peer.open();
    other.end();
    await once(other, "close");
    peer.close();
    await inspector.close(0);
  });
}

test("a response that never comes is abandoned after its own longer timeout, and an observer ends cleanly", async () => {
  const answers = { areRead: true, begin: () => undefined };
  const verdict = { kind: "allow" } as const;
  const begin = () => ({ maxBodyBytes: 50_000, inspect: async () => verdict, answers });
  for (const [responses, watches, ends] of [
    ["streamed", false, status.DEADLINE_EXCEEDED],
    [undefined, false, status.OK],
    ["streamed", true, status.OK],
  ] as const) {
    const inspector = await open({ maxSilentMs: 50, responses, begin });
    const client = new ExternalProcessor(inspector.address, credentials.createInsecure());
    const call = client.Process();
    call.on("error", () => undefined);
    call.on("data", () => undefined);
    const code = await new Promise<number>((resolve) => {
      call.on("status", (end) => resolve(end.code));
      call.write({
        request_headers: { headers: { headers: [] }, end_of_stream: true },
        ...(watches && { observability_mode: true }),
      });
    });
    assert.equal(code, ends, `${responses} ${watches}`);
    assert.equal(inspector.openStreams(), 0);
    client.close();
    await inspector.close(0);
  }
});

test("a response that makes progress is never abandoned", async () => {
  const answers = { areRead: true, begin: () => undefined };
  const verdict = { kind: "allow" } as const;
  const begin = () => ({ maxBodyBytes: 50_000, inspect: async () => verdict, answers });
  const inspector = await open({ maxSilentMs: 200, responses: "streamed", begin });
  const client = new ExternalProcessor(inspector.address, credentials.createInsecure());
  const call = client.Process();
  const messages = call[Symbol.asyncIterator]();
  call.write({ request_headers: { headers: { headers: [] }, end_of_stream: true } });
  await messages.next();
  call.write({ response_headers: { headers: { headers: [] } } });
  await messages.next();
  const until = performance.now() + 1_000;
  while (performance.now() < until) {
    call.write({ response_body: { body: Buffer.from("x"), end_of_stream: false } });
    await messages.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  call.write({ response_body: { body: Buffer.alloc(0), end_of_stream: true } });
  await messages.next();
  call.end();
  assert.equal((await messages.next()).done, true);
  client.close();
  await inspector.close(0);
});

test("one stream above the limit is refused, and others continue", async () => {
  const inspector = await open({ maxStreams: 1 });
  const [first, second] = [1, 2].map((channel) => {
    return new ExternalProcessor(inspector.address, credentials.createInsecure(), { "grpc.own_channel": channel });
  });
  assert.ok(first !== undefined && second !== undefined);
  const begin = (client: typeof first) => {
    const call = client.Process();
    call.on("error", () => undefined);
    const answered = new Promise((resolve) => call.once("data", resolve));
    const ended = new Promise<number>((resolve) => call.on("status", ({ code }) => resolve(code)));
    call.write({ request_headers: { headers: { headers: [] } } });
    return { call, answered, ended };
  };
  const kept = begin(first);
  await kept.answered;
  assert.equal(await begin(second).ended, status.RESOURCE_EXHAUSTED);
  assert.deepEqual(counted.at(-1), ["too_many_streams", "127.0.0.1"]);
  assert.equal(inspector.openStreams(), 1);
  const answer = new Promise((resolve) => kept.call.once("data", resolve));
  kept.call.write({ request_body: { body: Buffer.from("h"), end_of_stream: true } });
  await answer;
  kept.call.end();
  assert.equal(await kept.ended, status.OK);
  first.close();
  second.close();
  await inspector.close(0);
});

test("one peer gets at most three quarters of the places, and another the rest", () => {
  const account = createAdmission({ ...DEFAULT_ADMISSION, maxBufferedBytes: 100 });
  const streams = createStreamRegistry({ maxStreams: 8, account });
  const enter = (peer: string) => streams.register(peer, () => undefined);
  const many = Array.from({ length: 9 }, () => enter("10.0.0.1"));
  assert.deepEqual([many.filter((place) => place !== undefined).length, streams.count()], [6, 6]);
  const others = Array.from({ length: 9 }, () => enter("10.0.0.2"));
  assert.equal(others.filter((place) => place !== undefined).length, 2);
  many[0]?.release();
  assert.equal(enter("10.0.0.2") === undefined, false);
  assert.equal(enter("10.0.0.1"), undefined);
});

test("bytes held for peers count together with the process's others", () => {
  const account = createAdmission({ ...DEFAULT_ADMISSION, maxBufferedBytes: 100 });
  const place = createStreamRegistry({ maxStreams: 8, account }).register("10.0.0.1", () => undefined);
  account.hold(60);
  assert.deepEqual([place?.reserve(50), place?.reserve(40), account.bufferedBytes()], [false, true, 100]);
  place?.reserve(-10);
  place?.release();
  assert.equal(place?.reserve(-30), false);
  assert.equal(account.bufferedBytes(), 60);
});

test("a peer is identified by its address", () => {
  for (const [called, name] of [
    ["10.0.0.7:51000", "10.0.0.7"],
    ["::ffff:10.0.0.7:51000", "10.0.0.7"],
    ["fd00::7:51000", "fd00::7"],
    ["::1:51000", "::1"],
    ["unknown", "unknown"],
  ] as const) {
    assert.equal(peerName(called), name);
  }
});

test("peers above the limit share one series", () => {
  const instruments = createInstruments();
  const observer = observeInspector(instruments, () => undefined);
  for (let at = 0; at < 1_000; at += 1) observer.count("stalled", `10.0.${at >> 8}.${at & 255}`, "");
  const family = instruments.read().find(({ name }) => name === "gateway_inspector_events_total");
  assert.equal(family?.series.length, 65);
  const others = family?.series.find(({ labelValues }) => labelValues[0] === "other");
  assert.equal(others !== undefined && "value" in others ? others.value : 0, 936);
});

test("required filter settings are logged once per peer and problem, within a limit", () => {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const warn = warnOfPeers(
    { request_body_mode: "duplex", inspect_responses: "" },
    { warn: (_, fields = {}) => void lines.push(fields) },
  );
  for (let time = 0; time < 3; time += 1) {
    warn("mode_mismatch", "10.0.0.7", "it is STREAMED");
    warn("mode_mismatch", "10.0.0.8", "it is STREAMED");
    warn("out_of_order", "10.0.0.7", "");
  }
  assert.deepEqual(
    lines.map(({ peer }) => peer),
    ["10.0.0.7", "10.0.0.8"],
  );
  assert.match(String(lines[0]?.["set_in_its_filter"]), /request_body_mode: FULL_DUPLEX_STREAMED/);
  for (let at = 0; at < 1_000; at += 1) warn("observed", `10.1.${at >> 8}.${at & 255}`, "");
  assert.equal(lines.length, 256);
});

test("beside a duplex mode no override is sent to a filter, which would reject it", () => {
  const overrides = (["streamed", "duplex"] as const).flatMap((request) =>
    (["", "streamed", "duplex"] as const).map(
      (responses) => filterSettings({ request_body_mode: request, inspect_responses: responses }).allow_mode_override,
    ),
  );
  assert.deepEqual(overrides, [true, true, false, false, false, false]);
});
