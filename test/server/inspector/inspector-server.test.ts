/**
 * The service with peers that violate the protocol: each is limited, gets a gRPC error, and affects no other stream.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ClientDuplexStream, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { GatewayError, nullLog } from "../../../src/base/index.ts";
import {
  loadExtProc,
  type ProcessingRequest,
  type ProcessingResponse__Output,
} from "../../../src/server/ext-proc/index.ts";
import { type Inspector, openInspector, type Verdict } from "../../../src/server/inspector/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../../src/server/memory/index.ts";

const { ExternalProcessor } = await loadExtProc();
const HELD_BYTES = 100_000;

let inspector: Inspector;
const counted: string[] = [];
/** Bodies whose inspection does not end on its own. */
const waiting: ((verdict: Verdict) => void)[] = [];

async function inspect({ body }: { readonly body: Buffer }, signal: AbortSignal): Promise<Verdict> {
  if (body.includes("throw")) throw new GatewayError("guardrail_error", "A detector failed.");
  if (!body.includes("wait")) return { kind: "allow" };
  return new Promise((resolve, reject) => {
    waiting.push(resolve);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

const open = (): Promise<Inspector> =>
  openInspector({
    address: "127.0.0.1:0",
    mode: "streamed",
    maxMessageBytes: 1_000_000,
    account: createAdmission({ ...DEFAULT_ADMISSION, maxBufferedBytes: HELD_BYTES }),
    maxStreams: 20,
    maxQuietMs: 60_000,
    maxSilentMs: 60_000,
    begin: () => ({ maxBodyBytes: 50_000, inspect }),
    observer: { count: (what) => void counted.push(what), countInspection: () => undefined },
    log: nullLog,
  });

before(async () => {
  inspector = await open();
});
after(() => inspector.close(0));

interface ProcessingStream {
  readonly send: (message: ProcessingRequest) => void;
  /** Returns the next answer, or `undefined` at the end of the stream. */
  readonly nextAnswer: () => Promise<ProcessingResponse__Output | undefined>;
  /** Status of the end of the stream. */
  readonly ended: Promise<number>;
  readonly call: ClientDuplexStream<ProcessingRequest, ProcessingResponse__Output>;
}

function openStream(port = inspector.port): ProcessingStream {
  const client = new ExternalProcessor(`127.0.0.1:${port}`, credentials.createInsecure());
  const call = client.Process();
  const answers = call[Symbol.asyncIterator]();
  const ended = new Promise<number>((resolve) => {
    call.on("status", ({ code }) => {
      resolve(code);
      client.close();
    });
  });
  return {
    call,
    ended,
    send: (message) => void call.write(message),
    async nextAnswer() {
      try {
        const { value, done } = await answers.next();
        return done === true ? undefined : (value as ProcessingResponse__Output);
      } catch (error) {
        assert.notEqual((error as ServiceError).code, undefined);
        return undefined;
      }
    },
  };
}

const HEADERS: ProcessingRequest = {
  request_headers: { headers: { headers: [{ key: ":method", raw_value: Buffer.from("POST") }] } },
};
const body = (text: string | Buffer, isEnd: boolean): ProcessingRequest => ({
  request_body: { body: Buffer.from(text), end_of_stream: isEnd },
});

/** Asserts that a valid request passes. */
async function isWell(): Promise<void> {
  const peer = openStream();
  peer.send(HEADERS);
  assert.equal((await peer.nextAnswer())?.response, "request_headers");
  peer.send(body("hello", true));
  assert.deepEqual((await peer.nextAnswer())?.request_body, {});
  peer.call.end();
  assert.equal(await peer.ended, status.OK);
}

const HOSTILE: readonly (readonly [string, readonly ProcessingRequest[], number])[] = [
  ["a body before its headers", [body("x", true)], status.INVALID_ARGUMENT],
  ["repeated headers", [HEADERS, HEADERS], status.INVALID_ARGUMENT],
  ["a response first", [{ response_headers: {} }], status.INVALID_ARGUMENT],
  [
    "a hundred thousand headers",
    [{ request_headers: { headers: { headers: Array.from({ length: 100_000 }, () => ({ key: "a" })) } } }],
    status.INVALID_ARGUMENT,
  ],
  ["a message above the limit", [HEADERS, body(Buffer.alloc(2_000_000), true)], status.RESOURCE_EXHAUSTED],
  [
    "a different mode",
    [{ ...HEADERS, protocol_config: { request_body_mode: "FULL_DUPLEX_STREAMED" } }],
    status.FAILED_PRECONDITION,
  ],
  ["an unknown mode", [{ ...HEADERS, protocol_config: { request_body_mode: 9 as 0 } }], status.INVALID_ARGUMENT],
];

for (const [what, messages, code] of HOSTILE) {
  test(`${what}: the stream fails, and others continue`, async () => {
    const peer = openStream();
    for (const message of messages) peer.send(message);
    while ((await peer.nextAnswer()) !== undefined);
    assert.equal(await peer.ended, code);
    await isWell();
  });
}

test("empty messages are not answered, and missing fields are empty", async () => {
  const peer = openStream();
  peer.send({});
  peer.send({ request_headers: {} });
  assert.equal((await peer.nextAnswer())?.response, "request_headers");
  peer.send({ request_body: {} });
  assert.deepEqual((await peer.nextAnswer())?.request_body?.response?.body_mutation, {
    clear_body: true,
    mutation: "clear_body",
  });
  peer.call.cancel();
  await peer.ended;
});

test("attributes, metadata and fields of later versions are ignored", async () => {
  const peer = openStream();
  const text = (stringValue: string): object => ({ stringValue });
  const fields = { "request.path": text("/v1"), "source.address": text("127.0.0.1:1"), n: { numberValue: 1 } };
  peer.send({
    ...HEADERS,
    attributes: { "envoy.filters.http.ext_proc": { fields } },
    metadata_context: { filter_metadata: { "envoy.lb": { fields: { a: { listValue: { values: [text("b")] } } } } } },
    protocol_config: { request_body_mode: "STREAMED", response_body_mode: "NONE" },
  });
  assert.equal((await peer.nextAnswer())?.response, "request_headers");
  peer.send({ metadata_context: { filter_metadata: { "envoy.lb": { fields } } }, ...body("hello", true) });
  assert.deepEqual((await peer.nextAnswer())?.request_body, {});
  peer.call.end();
  assert.equal(await peer.ended, status.OK);
});

test("buffered bytes are limited over all streams, and released", async () => {
  const peers = [openStream(), openStream(), openStream()];
  const reported: (string | undefined)[] = [];
  for (const peer of peers) {
    peer.send(HEADERS);
    await peer.nextAnswer();
    peer.send(body(Buffer.alloc(40_000), false));
    const answer = await peer.nextAnswer();
    reported.push(
      answer?.immediate_response === undefined ? answer?.response : String(answer.immediate_response.status?.code),
    );
  }
  assert.deepEqual(reported, ["request_body", "request_body", "503"]);
  for (const peer of peers) peer.call.cancel();
  await Promise.all(peers.map(({ ended }) => ended));
  await isWell();
});

test("an inspection that fails refuses the request", async () => {
  const peer = openStream();
  peer.send(HEADERS);
  await peer.nextAnswer();
  peer.send(body("throw", true));
  const answer = await peer.nextAnswer();
  assert.equal(answer?.immediate_response?.status?.code, 503);
  assert.equal(JSON.parse(String(answer?.immediate_response?.body)).error.code, "guardrail_error");
  assert.equal(await peer.ended, status.OK);
});

test("a peer that disconnects before its body ended gets an error, never success", async () => {
  const peer = openStream();
  peer.send(HEADERS);
  await peer.nextAnswer();
  peer.send(body("h", false));
  await peer.nextAnswer();
  peer.call.end();
  assert.equal(await peer.nextAnswer(), undefined);
  assert.equal(await peer.ended, status.INVALID_ARGUMENT);
  assert.ok(counted.includes("abandoned"));
});

test("a stopping service abandons nothing: running judgments are answered or end with an error", async () => {
  for (const isAnswered of [true, false]) {
    const stopping = await open();
    const peer = openStream(stopping.port);
    peer.send(HEADERS);
    await peer.nextAnswer();
    const before = waiting.length;
    peer.send(body("wait", true));
    while (waiting.length === before) await new Promise((resolve) => setImmediate(resolve));
    const closed = stopping.close(isAnswered ? 60_000 : 0);
    if (isAnswered) {
      waiting.at(-1)?.({ kind: "allow" });
      assert.deepEqual((await peer.nextAnswer())?.request_body, {});
      peer.call.end();
    } else {
      assert.equal(await peer.nextAnswer(), undefined);
    }
    assert.equal(await peer.ended, isAnswered ? status.OK : status.UNAVAILABLE);
    await closed;
  }
});
