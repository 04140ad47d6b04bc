import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { startSimulator } from "../../src/simulator/index.ts";
import { anthropic, openai, post, rawExchange, rawPost, settled, simulator, until } from "./clients.ts";

const messages = [{ role: "user" as const, content: "Hello there" }];
const CHAT = { model: "sim-small", messages };

test("counts show requests and their outcomes; a reset clears all but the open sockets", async (t) => {
  const of = await simulator(t);
  const answer = await openai(of).chat.completions.create(CHAT);
  await anthropic(of).messages.create({ ...CHAT, max_tokens: 2 });
  await post(`${of.url}/v1/nothing`, {});
  await settled(of);
  const counts = async () => (await (await fetch(`${of.url}/sim/counts`)).json()) as Record<string, unknown>;
  const { bytesIn, bytesOut, openSockets, ...rest } = await counts();
  const tokens = { input: 4, output: 2 + (answer.usage?.completion_tokens ?? 0) };
  assert.deepEqual(rest, {
    requests: 3,
    answered: 3,
    aborted: 0,
    dropped: 0,
    byRoute: { chat_completions: 1, messages: 1, unknown: 1 },
    byModel: { "sim-small": 2 },
    byCall: {},
    tokens,
    tokensByModel: { "sim-small": tokens },
  });
  assert.ok(Number(bytesIn) > 100 && Number(bytesOut) > 1_000 && Number(openSockets) >= 1);
  await post(`${of.url}/sim/reset`, {});
  const { openSockets: open, ...zeroes } = await counts();
  assert.ok(Number(open) >= 1);
  assert.equal(JSON.stringify(zeroes).replace(/[^1-9]/g, ""), "");
});

test("a required key is accepted in every SDK header, and its absence is reported in the dialect's format", async (t) => {
  const of = await simulator(t, { requireKey: "right" });
  await openai(of, "right").chat.completions.create(CHAT);
  await anthropic(of, "right").messages.create({ ...CHAT, max_tokens: 2 });
  for (const header of ["x-api-key", "api-key"]) {
    assert.equal((await post(`${of.url}/v1/chat/completions`, CHAT, { [header]: "right" })).status, 200);
  }
  await assert.rejects(openai(of, "wrong").chat.completions.create(CHAT), { status: 401, code: "invalid_api_key" });
  await assert.rejects(anthropic(of, "wrong").messages.create({ ...CHAT, max_tokens: 2 }), {
    status: 401,
    type: "authentication_error",
  });
});

test("bodies that are not a JSON object, name no model, or have an unknown encoding are refused", async (t) => {
  const { url } = await simulator(t);
  const send = async (body: string | Buffer, headers: Record<string, string> = {}) =>
    (await fetch(`${url}/v1/chat/completions`, { method: "POST", body, headers })).status;
  assert.equal(await send("{"), 400);
  assert.equal(await send("[]"), 400);
  assert.equal(await send(JSON.stringify({ messages })), 400);
  assert.equal(await send(JSON.stringify({ model: 7, messages })), 400);
  assert.equal(await send("x", { "content-encoding": "zip" }), 415);
  assert.equal(await send("x", { "content-encoding": "gzip" }), 400);
  assert.equal(await send(gzipSync(JSON.stringify(CHAT)), { "content-encoding": "gzip" }), 200);
  const form = { "content-type": "multipart/form-data; boundary=b" };
  assert.equal(await send("--b\r\ncontent-disposition: form-data; name=x\r\n\r\ncut off", form), 400);
});

test("an offer of another protocol is ignored, and the request served as it is, like the next on its connection", async (t) => {
  const of = await simulator(t);
  const headed = (path: string, ...headers: string[]) =>
    rawPost(path, CHAT).replace("host: sim", ["host: sim", ...headers].join("\r\n"));
  const offer = ["connection: Upgrade, HTTP2-Settings", "http2-settings: AAEAAEAA", "upgrade: h2c"];
  const first = headed("/v1/messages/count_tokens", ...offer, "anthropic-version: 2023-06-01");
  const received = await rawExchange(of, first + headed("/v1/chat/completions", "connection: close"));
  assert.match(received, /^HTTP\/1\.1 200 .*"input_tokens":.*HTTP\/1\.1 200 .*"chat\.completion"/s);
  assert.match(
    await rawExchange(of, headed("/v1/chat/completions", "connection: close, Upgrade", "upgrade: TLS/1.0")),
    /^HTTP\/1\.1 200 /,
  );
  await until(() => of.counts().openSockets === 0);
});

test("a body over 64 MiB is refused with 413 in the dialect's format", async (t) => {
  const { url } = await simulator(t);
  const chunk = Buffer.alloc(1024 * 1024, 0x20);
  let left = 65;
  const body = new ReadableStream({
    pull(controller) {
      left -= 1;
      if (left < 0) controller.close();
      else controller.enqueue(chunk);
    },
  });
  const init = { method: "POST", body, duplex: "half", headers: { "anthropic-version": "2023-06-01" } } as const;
  const response = await fetch(`${url}/v1/messages`, init);
  assert.equal(response.status, 413);
  assert.match(await response.text(), /"type":"request_too_large"/);
});

test("the root page lists every fault, and the log has model and status but no prompt and no key", async (t) => {
  const lines: string[] = [];
  const of = await simulator(t, { log: (line) => lines.push(line) });
  assert.match(await (await fetch(of.url)).text(), /sim-drop-mid-stream {2,}closes the connection/);
  await openai(of, "secret-key").chat.completions.create({ ...CHAT, model: "m\nx" });
  await until(() => lines.length === 2);
  assert.match(lines[1] ?? "", /^POST \/v1\/chat\/completions "m\\nx" 200 [\d.]+ms$/);
});

test("closing ends requests that would never be answered, and frees the port", async (t) => {
  const of = await simulator(t);
  const hanging = rawExchange(of, rawPost("/v1/chat/completions", { model: "sim-never", messages }));
  await until(() => of.counts().byModel["sim-never"] === 1);
  await of.close();
  assert.equal(await hanging, "");
  assert.equal(of.counts().openSockets, 0);
  const again = await startSimulator({ host: "127.0.0.1", port: of.port });
  await again.close();
});

test("the signal closes it, and an address in use is an error", async (t) => {
  const stop = new AbortController();
  const of = await simulator(t, { signal: stop.signal });
  await assert.rejects(startSimulator({ host: "127.0.0.1", port: of.port }), { code: "EADDRINUSE" });
  stop.abort();
  await of.close();
  await assert.rejects(fetch(of.url));
  await assert.rejects(startSimulator({ host: "127.0.0.1", port: 0, signal: stop.signal }), { name: "AbortError" });
});
