/** Byte equality: the upstream receives what the client sent, and the client receives what the upstream sent. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { startWithFlags } from "./support/gateway.ts";
import { rawClient } from "./support/raw.ts";
import { endChunks, scriptedUpstream, writeChunk } from "./support/upstream.ts";

const file = { after };
const upstream = await scriptedUpstream(file);
const gateway = await startWithFlags(file, { upstream: upstream.url });

const RUNS = 150;

/** A JSON object with a model, spelled as no library would: odd spaces, escapes, numbers beyond a double. */
const body = fc
  .record({
    before: fc.dictionary(
      fc.string({ unit: "grapheme" }).filter((name) => name !== "model"),
      fc.jsonValue(),
      { maxKeys: 4 },
    ),
    space: fc.constantFrom("", " ", "\n\t", "\r\n  "),
    model: fc.constantFrom('"gpt-x"', '"g\\u0070t-x"', '"mödel/x:1"'),
    number: fc.constantFrom("12345678901234567890", "1.0e+2", "-0", "0.10"),
    text: fc.string({ unit: "grapheme", maxLength: 400 }),
  })
  .map(({ before, space, model, number, text }) => {
    const members = Object.entries(before).map(
      ([name, value]) => `${JSON.stringify(name)}${space}:${JSON.stringify(value)}`,
    );
    members.push(`"model"${space}:${space}${model}`, `"n"${space}:${number}`, `"t":${JSON.stringify(text)}`);
    return Buffer.from(`${space}{${space}${members.join(`${space},${space}`)}${space}}${space}`);
  });

const headerName = fc.constantFrom("X-One", "x-two", "X-THREE", "anthropic-beta", "Authorization", "OpenAI-Project");
const headers = fc.array(fc.tuple(headerName, fc.stringMatching(/^[!-~]([ -~]{0,30}[!-~])?$/)), { maxLength: 8 });
const cuts = fc.array(fc.nat(2_000), { maxLength: 6 });

function cut(bytes: Buffer, at: readonly number[]): readonly Buffer[] {
  const points = [...new Set(at.filter((point) => point > 0 && point < bytes.length))].sort((a, b) => a - b);
  return [0, ...points].map((from, i) => bytes.subarray(from, points[i] ?? bytes.length));
}

/** Removes headers that belong to one connection or that the gateway sets. */
function endToEnd(pairs: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
  const own = /^(host|content-length|transfer-encoding|connection|keep-alive|x-gateway-.*|date)$/i;
  return pairs.filter(([name]) => !own.test(name));
}

test("requests arrive unchanged, whatever their bytes, headers and chunks", async () => {
  const client = await rawClient(file, gateway.port);
  await fc.assert(
    fc.asyncProperty(body, headers, cuts, fc.boolean(), async (bytes, sent, at, isChunked) => {
      const count = upstream.requests.length;
      const framing = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${bytes.length}`;
      const lines = [
        "Host: gateway",
        "Content-Type: application/json",
        ...sent.map(([name, value]) => `${name}: ${value}`),
      ];
      client.send(`POST /v1/chat/completions?a=%20b&c HTTP/1.1\r\n${[...lines, framing].join("\r\n")}\r\n\r\n`);
      for (const piece of cut(bytes, at)) {
        client.send(
          isChunked
            ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")])
            : piece,
        );
      }
      if (isChunked) client.send("0\r\n\r\n");
      assert.equal((await client.answer()).status, 200);
      const received = upstream.requests[count];
      assert.ok(received);
      assert.deepEqual(received.body, bytes);
      assert.equal(received.target, "/v1/chat/completions?a=%20b&c");
      assert.deepEqual(endToEnd(received.headers), [["Content-Type", "application/json"], ...sent]);
    }),
    { numRuns: RUNS, verbose: true },
  );
});

test("a request without a body arrives, although its client announces JSON", async () => {
  const requests = [
    ["GET", "/v1/threads/t1"],
    ["GET", "/v1/assistants?limit=2"],
    ["GET", "/v1/vector_stores"],
    ["GET", "/v1/generation?id=gen-1"],
    ["DELETE", "/v1/vector_stores/v1"],
    ["POST", "/v1/threads/t1/runs/r1/cancel"],
    ["GET", "/v1/models"],
    ["GET", "/v1/files"],
  ] as const;
  for (const [method, path] of requests) {
    const count = upstream.requests.length;
    const answer = await fetch(`${gateway.url}${path}`, { method, headers: { "content-type": "application/json" } });
    assert.equal(answer.status, 200, `${method} ${path}: ${await answer.text()}`);
    assert.equal(upstream.requests[count]?.target, path);
    assert.equal(upstream.requests[count]?.body.length, 0);
  }
  const refused = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
  });
  assert.equal(refused.status, 400);
});

test("answers arrive unchanged, whatever their status, bytes, headers and chunks", async () => {
  const client = await rawClient(file, gateway.port);
  const status = fc.constantFrom(200, 201, 400, 404, 418, 429, 500, 503);
  const type = fc.constantFrom("application/json", "text/event-stream; charset=utf-8", "audio/mpeg", "text/html");
  await fc.assert(
    fc.asyncProperty(
      status,
      type,
      headers,
      fc.uint8Array({ maxLength: 3_000 }),
      cuts,
      fc.boolean(),
      async (code, contentType, sent, raw, at, isChunked) => {
        const bytes = Buffer.from(raw);
        upstream.script = (socket) => {
          const framing = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${bytes.length}`;
          const lines = [`Content-Type: ${contentType}`, ...sent.map(([name, value]) => `${name}: ${value}`), framing];
          socket.write(`HTTP/1.1 ${code} As It Is\r\n${lines.join("\r\n")}\r\n\r\n`, "latin1");
          for (const piece of cut(bytes, at)) {
            if (!isChunked) socket.write(piece);
            else if (piece.length > 0) writeChunk(socket, piece);
          }
          if (isChunked) endChunks(socket);
        };
        client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Length: 13\r\n\r\n", '{"model":"m"}');
        const answer = await client.answer();
        assert.equal(answer.status, code);
        assert.deepEqual(answer.body, bytes);
        assert.deepEqual(endToEnd(answer.headers), [["Content-Type", contentType], ...sent]);
      },
    ),
    { numRuns: RUNS, verbose: true },
  );
});
