/**
 * Memory that a client can occupy: bodies that decompress to far more than was sent, that come in the smallest chunks,
 * that are larger as values than as text; messages that are never finished. All of it is counted and released.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { WebSocket } from "ws";
import { type Gateway, startWithFlags } from "./support/gateway.ts";
import { memoryOf } from "./support/machine.ts";
import { idle, readMetrics, sumOf } from "./support/metrics.ts";
import { listenLocally } from "./support/ports.ts";
import { type Answer, exchange, post, rawClient } from "./support/raw.ts";
import { simulated } from "./support/simulated.ts";
import { reply, scriptedUpstream } from "./support/upstream.ts";
import { eventually, within } from "./support/wait.ts";

const CHAT = "/v1/chat/completions";
const MIB = 1 << 20;
/** The limit of a body is 32 MiB. */
const LARGE = Buffer.from(`{"model":"x","messages":[],"a":"${"a".repeat(31 * MIB)}"}`);

const file = { after };
const upstream = await scriptedUpstream(file);
const gateway = await startWithFlags(file, { upstream: upstream.url });
await exchange(file, gateway.port, post(CHAT, gzipSync('{"model":"warm"}'), ["Content-Encoding: gzip"]));

function codeOf({ body }: Answer): unknown {
  return (JSON.parse(body.toString()) as { error: { code: unknown } }).error.code;
}

const rss = ({ pid }: Gateway): number => memoryOf(pid, "VmRSS") ?? Number.NaN;

async function isGivenBack(to: Gateway, before: number): Promise<void> {
  await idle(to);
  await eventually("memory given back", () => rss(to) < before + 50 * MIB, 20_000);
}

for (const [what, count, bomb, encoding] of [
  ["brotli of a hundred bytes", 25, brotliCompressSync(LARGE), "br"],
  ["gzip of 31 KiB", 90, gzipSync(LARGE), "gzip"],
] as const) {
  test(`${count} bodies of ${what} that decompress to 31 MiB are refused at little cost`, async () => {
    const before = rss(gateway);
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, rss(gateway));
    }, 5);
    const sent = upstream.requests.length;
    const bytes = post(CHAT, bomb, [`Content-Encoding: ${encoding}`]);
    const sending = Promise.all(Array.from({ length: count }, () => exchange(file, gateway.port, bytes)));
    const answers = await sending.finally(() => clearInterval(timer));
    for (const answer of answers) assert.deepEqual([answer.status, codeOf(answer)], [413, "body_too_large"]);
    assert.equal(upstream.requests.length, sent);
    assert.ok(most - before < 512 * MIB, `it grew by ${most - before} bytes`);
    await isGivenBack(gateway, before);
  });
}

test("large bodies are kept while they are served, and their memory is returned to the system", async (t) => {
  const reader = createServer((request, response) => {
    request.resume().once("end", () => response.end("{}"));
  });
  const port = await listenLocally(reader);
  t.after(() => reader.close());
  const serving = await startWithFlags(t, { upstream: `http://127.0.0.1:${port}` });
  await exchange(t, serving.port, post(CHAT, '{"model":"warm"}'));
  const before = rss(serving);
  const bytes = post(CHAT, LARGE);
  const ask = async (): Promise<Answer> => {
    const client = await rawClient(t, serving.port);
    client.send(bytes);
    return client.answer(40_000);
  };
  const answers = await Promise.all(Array.from({ length: 4 }, ask));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  await isGivenBack(serving, before);
});

test("compressed bodies of real clients pass unchanged, and their model is read", async () => {
  const turns = Array.from({ length: 3_000 }, (_, at) => ({ role: "user", content: `turn ${at} of a long talk` }));
  const text = JSON.stringify({ model: "m", messages: turns });
  for (const [encoding, pack] of [
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["GZip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ] as const) {
    const packed = pack(text);
    const answer = await exchange(file, gateway.port, post(CHAT, packed, [`Content-Encoding: ${encoding}`]));
    assert.equal(answer.status, 200, encoding);
    assert.deepEqual(upstream.requests.at(-1)?.body, packed);
  }
});

test("stacked encodings, unknown encodings and undeclared encodings are refused", async () => {
  const packed = gzipSync('{"model":"m"}');
  for (const [encoding, body] of [
    ["gzip, gzip", gzipSync(packed)],
    ["zstd", packed],
    ["", packed],
    ["identity", packed],
    ["gzip", packed.subarray(0, -9)],
  ] as const) {
    const answer = await exchange(file, gateway.port, post(CHAT, body, [`Content-Encoding: ${encoding}`]));
    assert.deepEqual([answer.status, codeOf(answer)], [400, "invalid_request"], encoding);
  }
});

test("a body in chunks of one byte takes no more memory than its bytes", async () => {
  const before = rss(gateway);
  const text = `{"model":"m","a":"${"a".repeat(MIB / 4)}"}`;
  const client = await rawClient(file, gateway.port);
  client.send(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
  client.send(text.slice(0, -1).replaceAll(/./g, "1\r\n$&\r\n"));
  await eventually("all but the end", async () => {
    const held = sumOf(await readMetrics(gateway), "gateway_buffered_bytes");
    return held === text.length - 1;
  });
  const grown = rss(gateway) - before;
  assert.ok(grown < 64 * MIB, `it grew by ${grown} bytes`);
  client.send(`1\r\n}\r\n0\r\n\r\n`);
  assert.equal((await client.answer()).status, 200);
  client.socket.destroy();
  assert.equal(upstream.requests.at(-1)?.body.toString(), text);
});

test("decompressed, rewritten and translated bytes count like sent bytes: above the limit the answer is 503", async (t) => {
  const env = { GATEWAY_MAX_BUFFERED_BYTES: String(2 * MIB) };
  const small = await startWithFlags(t, { upstream: upstream.url, dialect: "messages", env });
  const messages = (content: string): string =>
    JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content }] });
  const packed = gzipSync(messages(Array.from({ length: 400_000 }, (_, at) => at).join(" ")));
  const unpacked = await exchange(t, small.port, post("/v1/messages", packed, ["Content-Encoding: gzip"]));
  assert.deepEqual([unpacked.status], [503]);
  const translated = await exchange(t, small.port, post(CHAT, messages("x".repeat(MIB))));
  assert.deepEqual([translated.status, codeOf(translated)], [503, "overloaded"]);
  const many = `{"model":"m","max_tokens":9,"messages":[],"metadata":[${"{},".repeat(1_000_001)}1]}`;
  const heavy = await startWithFlags(t, { upstream: upstream.url, dialect: "messages" });
  const refused = await exchange(t, heavy.port, post(CHAT, many));
  assert.deepEqual([refused.status, codeOf(refused)], [413, "body_too_large"]);
  upstream.script = (socket) =>
    reply(socket, { headers: ["Content-Type: application/json"], body: `{"a":"${"x".repeat(3 * MIB)}"}` });
  const held = await exchange(t, small.port, post(CHAT, messages("hello")));
  assert.deepEqual([held.status, codeOf(held)], [503, "overloaded"]);
  upstream.script = (socket) => reply(socket);
  await idle(small);
  await idle(heavy);
});

test("incomplete session messages and messages waiting for their reader count too", async (t) => {
  const provider = await simulated(t);
  const env = { GATEWAY_MAX_BUFFERED_BYTES: String(4 * MIB) };
  const small = await startWithFlags(t, { upstream: provider.url, env });
  const socket = new WebSocket(`${small.url.replace("http", "ws")}/v1/realtime?model=sim-realtime`);
  t.after(() => socket.terminate());
  socket.on("error", () => undefined);
  await within("the session", new Promise((done) => socket.once("open", done)));
  const closed = new Promise<number>((done) => socket.once("close", done));
  const part = Buffer.alloc(MIB, 0x20);
  socket.send(part, { fin: false });
  await eventually("the part is counted", async () => {
    const held = sumOf(await readMetrics(small), "gateway_buffered_bytes");
    return held >= MIB && held < 2 * MIB;
  });
  for (let at = 0; at < 4; at++) socket.send(part, { fin: false });
  assert.equal(await within("the close", closed), 1013);
  await idle(small);
});
