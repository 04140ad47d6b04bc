/**
 * Retry and failover through real processes: which providers are called, how often, after what wait, and whose answer
 * is returned.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startWithFiles } from "./support/config.ts";
import { endChunks, reply, type Script, scriptedUpstream, startEvents, writeChunk } from "./support/upstream.ts";

const file = { after };
const first = await scriptedUpstream(file);
const second = await scriptedUpstream(file);
const messagesOnly = await scriptedUpstream(file);
const gateway = await startWithFiles(file, {
  providers: [
    {
      name: "first",
      dialect: "compat",
      base_url: first.url,
      api_key: "key-of-first",
      models: ["m"],
      model_aliases: { fast: "first-fast" },
      first_byte_timeout: "300ms",
      retry: { attempts: 2, when: ["connect", "5xx", 429], backoff: "10ms", retry_after_cap: "1s" },
      failover: { to: ["messages", "second"], when: ["connect", "5xx", 429, "timeout"] },
    },
    {
      name: "messages",
      dialect: "messages",
      base_url: messagesOnly.url,
      api_key: "key-of-messages",
      first_byte_timeout: "5s",
    },
    {
      name: "second",
      dialect: "compat",
      base_url: second.url,
      api_key: "key-of-second",
      model_aliases: { fast: "second-fast" },
      first_byte_timeout: "5s",
    },
  ],
});

const failing =
  (status: number, ...headers: string[]): Script =>
  (socket) =>
    reply(socket, { status, headers, body: "no" });
const fine: Script = (socket) => reply(socket, { body: '{"by":"second"}' });

interface Outcome {
  readonly status: number;
  readonly text: string;
  readonly provider: string | null;
  readonly attempts: string | null;
  readonly requestCounts: readonly [number, number];
}

async function ask(scripts: { first: Script; second?: Script }, body: object = { model: "m" }): Promise<Outcome> {
  const before = [first.requests.length, second.requests.length] as const;
  first.script = scripts.first;
  second.script = scripts.second ?? fine;
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", body: JSON.stringify(body) });
  return {
    status: answer.status,
    text: await answer.text(),
    provider: answer.headers.get("x-gateway-provider"),
    attempts: answer.headers.get("x-gateway-attempts"),
    requestCounts: [first.requests.length - before[0], second.requests.length - before[1]],
  };
}

const moved = { status: 200, text: '{"by":"second"}', provider: "second" };

test("retries run out before failover, and a candidate of another dialect is skipped", async () => {
  assert.deepEqual(await ask({ first: failing(503) }), { ...moved, attempts: "4", requestCounts: [3, 1] });
  assert.equal(messagesOnly.requests.length, 0);
});

test("each provider receives its own key and its own name for an alias", async () => {
  const outcome = await ask({ first: failing(500) }, { model: "fast" });
  assert.equal(outcome.provider, "second");
  assert.equal(first.requests.at(-1)?.body.toString(), '{"model":"first-fast"}');
  assert.equal(second.requests.at(-1)?.body.toString(), '{"model":"second-fast"}');
  const keys = [first, second].map(
    (one) => one.requests.at(-1)?.headers.find(([name]) => name === "authorization")?.[1],
  );
  assert.deepEqual(keys, ["Bearer key-of-first", "Bearer key-of-second"]);
});

test("a provider that recovers answers the request itself", async () => {
  let left = 1;
  const flaky: Script = (socket, request) =>
    left-- > 0 ? failing(502)(socket, request) : reply(socket, { body: "mine" });
  assert.deepEqual(await ask({ first: flaky }), {
    status: 200,
    text: "mine",
    provider: "first",
    attempts: "2",
    requestCounts: [2, 0],
  });
});

test("a 429 is retried after exactly the wait it names, and not at all above the cap", async () => {
  let left = 1;
  const plainAt = performance.now();
  await ask({ first: (socket) => reply(socket, { body: "mine" }) });
  const plainMs = performance.now() - plainAt;
  const startedAt = performance.now();
  const busy: Script = (socket, request) =>
    left-- > 0 ? failing(429, "retry-after-ms: 400")(socket, request) : reply(socket, { body: "mine" });
  assert.equal((await ask({ first: busy })).provider, "first");
  const waitedMs = performance.now() - startedAt;
  assert.ok(waitedMs >= 395 && waitedMs < 900 + 4 * plainMs, `waited ${waitedMs} ms, ${plainMs} ms without`);
  assert.deepEqual(await ask({ first: failing(429, "retry-after: 2") }), {
    ...moved,
    attempts: "2",
    requestCounts: [1, 1],
  });
});

test("if all providers fail, the last one's own answer is returned", async () => {
  const own: Script = (socket) =>
    reply(socket, { status: 503, headers: ["x-own: yes"], body: '{"error":"second is down"}' });
  const outcome = await ask({ first: failing(500), second: own });
  assert.deepEqual([outcome.status, outcome.text, outcome.provider], [503, '{"error":"second is down"}', "second"]);
});

test("a refusal other than 429 never fails over", async () => {
  for (const status of [400, 401, 403, 404, 413, 422]) {
    const outcome = await ask({ first: failing(status) });
    assert.deepEqual([outcome.status, outcome.text, outcome.requestCounts], [status, "no", [1, 0]]);
  }
});

test("silence beyond the first-byte timeout fails over at once, since retry has no trigger for it", async () => {
  assert.deepEqual(await ask({ first: () => undefined }), { ...moved, attempts: "2", requestCounts: [1, 1] });
});

test("a connection cut before the headers is retried, then failed over", async () => {
  const cut = await ask({ first: (socket) => socket.destroy() });
  // The first attempt may use a reused connection, and is then repeated once over a new one.
  const { requestCounts } = cut;
  assert.ok(requestCounts[0] === 3 || requestCounts[0] === 4, `${requestCounts[0]} requests`);
  assert.deepEqual(cut, { ...moved, attempts: "4", requestCounts: [requestCounts[0], 1] });
});

const stream =
  (...events: string[]): Script =>
  (socket) => {
    startEvents(socket);
    for (const event of events) writeChunk(socket, `data: ${event}\n\n`);
    endChunks(socket);
  };

test("an error as the first event of a stream fails over, and one after it does not", async () => {
  const overloaded = '{"error":{"message":"busy","type":"server_error","code":null}}';
  assert.equal((await ask({ first: stream(overloaded) }, { model: "m", stream: true })).provider, "second");
  const late = await ask({ first: stream('{"choices":[]}', overloaded) }, { model: "m", stream: true });
  assert.deepEqual([late.provider, late.requestCounts], ["first", [1, 0]]);
  assert.equal(late.text, `data: {"choices":[]}\n\ndata: ${overloaded}\n\n`);
  const mistaken = '{"error":{"message":"no","type":"invalid_request_error","code":null}}';
  assert.equal((await ask({ first: stream(mistaken) }, { model: "m", stream: true })).provider, "first");
});
