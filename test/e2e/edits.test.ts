/**
 * Configured changes to requests and answers, and nothing else: an alias, an overlay's fields and headers, the usage
 * report of a stream, on plain, compressed and multipart bodies.
 */
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { startWithFiles, twoDialects } from "./support/config.ts";
import { type Answer, exchange, headerOf, post, rawClient } from "./support/raw.ts";
import { endChunks, type Recorded, reply, scriptedUpstream, startEvents, writeChunk } from "./support/upstream.ts";

const CHAT = "/v1/chat/completions";
const RUNS = 100;

const file = { after };
const upstream = await scriptedUpstream(file);
const gateway = await startWithFiles(file, {
  catalog_overlays: [
    twoDialects("changed", upstream.url, {
      remove_request_fields: ["seed", "user"],
      set_request_fields: { temperature: 0.5, "safe\u00e9": { on: true } },
      set_request_headers: { "X-Set": "by the overlay" },
      remove_request_headers: ["X-Removed", "OpenAI-Organization"],
    }),
  ],
  providers: [
    { name: "plain", dialect: "compat", base_url: upstream.url, model_aliases: { fast: 'the "real" one' } },
    { preset: "changed", models: ["changed*"], on_fidelity_loss: "allow", model_aliases: { alias: "changed-real" } },
    { name: "usage", dialect: "compat", base_url: upstream.url, models: ["usage"], stream_usage: true },
  ],
  default_provider: "plain",
});

beforeEach(() => {
  upstream.script = (socket) => reply(socket);
});

/** Sends the bytes and returns what the upstream received and what the client did. */
async function pass(
  path: string,
  body: string | Buffer,
  headers: readonly string[] = [],
): Promise<{ readonly sent: Recorded; readonly answer: Answer }> {
  const answer = await exchange(file, gateway.port, post(path, body, headers));
  const sent = upstream.requests.at(-1);
  assert.ok(sent !== undefined && answer.status === 200, answer.body.toString());
  return { sent, answer };
}

/** Members before and after the model, as text, with spacing and numbers that no parser would reproduce. */
const members = fc.array(
  fc.tuple(
    fc.constantFrom('"a"', '"m\\u006fde"', '"stream_"', '"\u00e9"'),
    fc.json(),
    fc.constantFrom("", " ", "\r\n\t"),
  ),
  { maxLength: 4 },
);
const asText = (list: readonly (readonly [string, string, string])[]): string =>
  list.map(([name, value, space]) => `${space}${name}${space}:${space}${value}${space}`).join(",");

test("an alias changes only the bytes of the model's name in the request", async () => {
  const spelling = fc.constantFrom('"fast"', '"f\\u0061st"', '"\\u0066ast"');
  await fc.assert(
    fc.asyncProperty(members, members, spelling, async (one, two, alias) => {
      const [before, behind] = [asText(one), asText(two)];
      const text = (model: string): string =>
        ` {${before}${before && ","}"n":12345678901234567890, "model" : ${model}\n${behind && ","}${behind}}\r\n`;
      const { sent } = await pass(CHAT, text(alias));
      assert.equal(sent.body.toString(), text('"the \\"real\\" one"'));
    }),
    { numRuns: RUNS, verbose: true },
  );
});

test("an alias changes only the model's name in the answer, and no other model's name", async () => {
  const answers = [
    ['{ "id":"x" ,"model" : "the \\"real\\" one", "n":1.0e0}', '{ "id":"x" ,"model" : "fast", "n":1.0e0}'],
    ['{"model":"another","choices":[{"model":"the \\"real\\" one"}]}', undefined],
    ['["the \\"real\\" one"]', undefined],
    ['{"model":"the \\"real\\" one"', undefined],
    ['\uFEFF{"model":"the \\"real\\" one"}', '\uFEFF{"model":"fast"}'],
  ];
  for (const [body = "", expected = body] of answers) {
    upstream.script = (socket) => reply(socket, { headers: ["Content-Type: application/json"], body });
    assert.equal((await pass(CHAT, '{"model":"fast"}')).answer.body.toString(), expected);
  }
});

test("an alias changes the model's name in every event of a stream, wherever the stream is cut", async () => {
  const stream = (model: string): string =>
    `: hello\n\ndata: {"id":1, "model":${model},"choices":[]}\n\ndata:{"model":${model}}\r\n\r\nevent: x\ndata: [DONE]\n\n`;
  const bytes = Buffer.from(stream('"the \\"real\\" one"'));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 8 }), async (cuts) => {
      const points = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      upstream.script = (socket) => {
        startEvents(socket);
        for (const [i, end] of points.entries()) {
          const piece = bytes.subarray(points[i - 1] ?? 0, end);
          if (piece.length > 0) writeChunk(socket, piece);
        }
        endChunks(socket);
      };
      const { answer } = await pass(CHAT, '{"model":"fast","stream":true}');
      assert.equal(answer.body.toString(), stream('"fast"'));
    }),
    { numRuns: RUNS, verbose: true },
  );
});

const ENDS: Readonly<Record<string, readonly [line: string, end: string]>> = {
  LF: ["\n", "\n"],
  "CR LF": ["\r\n", "\r\n"],
  CR: ["\r", "\r"],
  "LF, without a final blank line": ["\n", ""],
  "CR, without a final blank line": ["\r", ""],
  "LF, without a final line end": ["\n", "none"],
};
for (const [what, [line, end]] of Object.entries(ENDS)) {
  test(`the last event of a stream is rewritten like the others if its lines end with ${what}`, async () => {
    const stream = (events: readonly string[]): string => {
      const text = events.map((event) => `data: ${event}${line}${line}`).join("");
      return end === "none" ? text.slice(0, -2) : end === "" ? text.slice(0, -line.length) : text;
    };
    const answer = (events: readonly string[]): void => {
      upstream.script = (socket) => {
        startEvents(socket);
        writeChunk(socket, stream(events));
        endChunks(socket);
      };
    };
    const named = (model: string): readonly string[] => ['{"choices":[]}', `{"id":1,"model":${model},"choices":[]}`];
    answer(named('"the \\"real\\" one"'));
    const aliased = await pass(CHAT, '{"model":"fast","stream":true}');
    assert.equal(aliased.answer.body.toString(), stream(named('"fast"')));
    answer(['{"choices":[{"index":0}]}', '{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":7}}']);
    const hidden = await pass(CHAT, '{"model":"usage","stream":true}');
    assert.equal(hidden.answer.body.toString(), `data: {"choices":[{"index":0}]}${line}${line}`);
  });
}

test("a compressed request passes compressed, and uncompressed if it had to be changed", async () => {
  const untouched = gzipSync('{"model":"x"}', { level: 1 });
  const gzip = ["Content-Encoding: gzip", "X-A: b"];
  const { sent } = await pass(CHAT, untouched, gzip);
  assert.deepEqual(sent.body, untouched);
  assert.equal(headerOf(sent, "content-encoding"), "gzip");
  const changed = (await pass(CHAT, gzipSync('{"a":1.0,"model":"fast"}'), gzip)).sent;
  assert.equal(changed.body.toString(), '{"a":1.0,"model":"the \\"real\\" one"}');
  assert.equal(headerOf(changed, "content-encoding"), undefined);
  assert.equal(headerOf(changed, "x-a"), "b");
});

for (const encoding of ["", "none", "UTF-8", "utf8", "identity", "Identity, chunked"]) {
  test(`a request whose content encoding ${JSON.stringify(encoding)} names none is read as it is`, async () => {
    const { sent } = await pass(CHAT, '{"a":1.0,"model":"fast"}', [`Content-Encoding: ${encoding}`]);
    assert.equal(sent.body.toString(), '{"a":1.0,"model":"the \\"real\\" one"}');
    assert.equal(headerOf(sent, "content-encoding"), undefined);
  });
}

test("a request with one content encoding beside values that name none is decoded", async () => {
  const body = gzipSync('{"a":1.0,"model":"fast"}');
  const { sent } = await pass(CHAT, body, ["Content-Encoding: utf-8, GZIP"]);
  assert.equal(sent.body.toString(), '{"a":1.0,"model":"the \\"real\\" one"}');
  for (const refused of ["gzip, unknown", "unknown", "gzip, gzip"]) {
    const response = post(CHAT, body, [`Content-Encoding: ${refused}`]);
    assert.equal((await exchange(file, gateway.port, response)).status, 400, refused);
  }
});

test("a compressed answer passes unchanged; an answer that must be changed is requested uncompressed", async () => {
  const bytes = gzipSync('{"model":"x"}');
  upstream.script = (socket) =>
    reply(socket, { headers: ["Content-Type: application/json", "Content-Encoding: gzip"], body: bytes });
  const accepting = ["Accept-Encoding: gzip, br;q=0.5"];
  const { sent, answer } = await pass(CHAT, '{"model":"x"}', accepting);
  assert.equal(headerOf(sent, "accept-encoding"), "gzip, br;q=0.5");
  assert.deepEqual(answer.body, bytes);
  assert.equal(gunzipSync(answer.body).toString(), '{"model":"x"}');
  const aliased = await pass(CHAT, '{"model":"fast"}', accepting);
  assert.equal(headerOf(aliased.sent, "accept-encoding"), "identity");
  // A provider that compresses in spite of it is decoded, since the client's own preference was not forwarded.
  assert.equal(aliased.answer.body.toString(), '{"model":"x"}');
  assert.equal(headerOf(aliased.answer, "content-encoding"), undefined);
});

const form = (model: string): Buffer =>
  Buffer.concat([
    Buffer.from('preamble\r\n--b=\'1\r\nContent-Disposition: form-data; name="file"; filename="model"\r\n\r\n'),
    Buffer.from([0x00, 0xff, 0x0d, 0x0a, 0x2d, 0x2d, 0x62, 0x0d, 0x0a]),
    Buffer.from(
      `\r\n--b='1\r\ncontent-disposition:form-data;name="model"\r\nX: y\r\n\r\n${model}\r\n--b='1--\r\nepilogue`,
    ),
  ]);

test("a form passes unchanged, with the file before the model and bytes that look like a boundary", async () => {
  const type = ['Content-Type: multipart/form-data; boundary="b=\'1"'];
  const whole = (await pass("/v1/audio/transcriptions", form("whisper"), type)).sent;
  assert.deepEqual(whole.body, form("whisper"));
  assert.equal(headerOf(whole, "content-type"), type[0]?.slice("Content-Type: ".length));
  const aliased = (await pass("/v1/audio/transcriptions", form("fast"), type)).sent;
  assert.deepEqual(aliased.body, form('the "real" one'));
});

test("an overlay sets and removes fields and headers, and all other bytes stay in place", async () => {
  const body = '{ "seed":1, "model":"changed" ,"temperature" : 1.50 , "user":{"seed":2},"n":1e400 }';
  const headers = ["X-Removed: 1", "X-Kept: 1", "x-set: by the client", "OPENAI-Organization: o", "x-kept: 2"];
  const { sent } = await pass(CHAT, body, headers);
  assert.equal(sent.body.toString(), '{ "model":"changed" ,"temperature":0.5,"n":1e400,"safe\u00e9":{"on":true} }');
  const own = /^(host|content-length|connection)$/i;
  assert.deepEqual(
    sent.headers.filter(([name]) => !own.test(name)),
    [
      ["X-Kept", "1"],
      ["x-kept", "2"],
      ["x-set", "by the overlay"],
    ],
  );
  const aliased = await pass(CHAT, '{"temperature":0.5,"model":"alias"}');
  assert.deepEqual(JSON.parse(aliased.sent.body.toString()), {
    temperature: 0.5,
    model: "changed-real",
    "safe\u00e9": { on: true },
  });
});

const chunk = (rest: string): string => `data: {"id":"1","model":"usage","choices":[{"index":0}]${rest}}\n\n`;
const REPORT = 'data: {"id":"1","choices":[],"usage":{"total_tokens":3}}\n\n';
const DONE = "data: [DONE]\n\n";

test("a usage report that only the operator wants is requested, and the client does not see it", async () => {
  upstream.script = (socket) => {
    startEvents(socket);
    for (const text of [chunk(',"usage":null'), chunk(""), REPORT, DONE]) writeChunk(socket, text);
    endChunks(socket);
  };
  const { sent, answer } = await pass(CHAT, '{"stream": true, "model":"usage","n":1.0}');
  assert.equal(
    sent.body.toString(),
    '{"stream": true, "model":"usage","n":1.0,"stream_options":{"include_usage":true}}',
  );
  assert.equal(answer.body.toString(), chunk("") + chunk("") + DONE);
  const kept = await pass(CHAT, '{"stream":true,"model":"usage","stream_options":{"x":1,"include_usage":false}}');
  assert.deepEqual(JSON.parse(kept.sent.body.toString()).stream_options, { x: 1, include_usage: true });
  assert.equal(kept.answer.body.toString(), chunk("") + chunk("") + DONE);
});

test("a usage report that the client requested, and an answer that is not streamed, pass unchanged", async () => {
  upstream.script = (socket) => {
    startEvents(socket);
    for (const text of [chunk(',"usage":null'), REPORT, DONE]) writeChunk(socket, text);
    endChunks(socket);
  };
  const body = '{"stream":true,"model":"usage","stream_options":{"include_usage":true}}';
  const asked = await pass(CHAT, body);
  assert.equal(asked.sent.body.toString(), body);
  assert.equal(asked.answer.body.toString(), chunk(',"usage":null') + REPORT + DONE);
  upstream.script = (socket) => reply(socket, { headers: ["Content-Type: application/json"], body: '{"usage":{}}' });
  for (const whole of ['{"model":"usage"}', '{"model":"usage","stream":false}', '{"model":"usage","stream":"true"}']) {
    const { sent, answer } = await pass(CHAT, whole);
    assert.deepEqual([sent.body.toString(), answer.body.toString()], [whole, '{"usage":{}}']);
  }
});

test("hop-by-hop headers and the headers they name are not forwarded", async () => {
  const client = await rawClient(file, gateway.port);
  const headers = [
    "Connection: keep-alive, X-Secret",
    "X-Secret: hop",
    "Keep-Alive: timeout=5",
    "Proxy-Authorization: Basic eA==",
    "TE: trailers",
    "Upgrade-Insecure-Requests: 1",
  ];
  client.send(post(CHAT, '{"model":"x"}', headers));
  await client.answer();
  client.socket.destroy();
  const names = upstream.requests.at(-1)?.headers.map(([name]) => name.toLowerCase()) ?? [];
  for (const name of ["x-secret", "keep-alive", "proxy-authorization", "te"]) assert.ok(!names.includes(name), name);
  assert.ok(names.includes("upgrade-insecure-requests"));
});
