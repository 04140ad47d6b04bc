/**
 * Answers of all kinds and damaged ones, parsed by our HTTP/1.1 reader and by undici: accepted ones are equal in both,
 * and additional refusals are listed. `GATEWAY_HTTP_FUZZ=n` reads n of them.
 */
import assert from "node:assert/strict";
import { lookup } from "node:dns";
import { after, test } from "node:test";
import fc from "fast-check";
import { Pool } from "undici";
import { openHttpClient } from "../../../../src/server/upstream/http/index.ts";
import { dispatchWithUndici } from "../../../../src/server/upstream/http/undici-dispatch.ts";
import { randomFloor, randomRuns } from "../../../support/random-length.ts";
import { type Dispatch, type Outcome, openWire, outcomeOf, type Script } from "./support/wire.ts";

const file = { after };
const RUNS = Number(process.env["GATEWAY_HTTP_FUZZ"] ?? 1_500);

const wire = await openWire(file);
const client = openHttpClient({ origin: wire.origin, lookup, ca: undefined, connectLimitMs: 10_000 });
const pool = new Pool(wire.origin, { pipelining: 1, maxHeaderSize: 64 << 10 });
after(() => Promise.all([client.destroy(), pool.destroy()]));

const ours: Dispatch = (request, handler) => client.dispatch(request, handler);
const theirs: Dispatch = (request, handler) => dispatchWithUndici(pool, request, handler);

const STATUS_LINES = [
  "HTTP/1.1 200 OK",
  "HTTP/1.1 200 OK",
  "HTTP/1.1 200",
  "HTTP/1.1 200 ",
  "HTTP/1.0 200 OK",
  "HTTP/1.1 204 No Content",
  "HTTP/1.1 304 Not Modified",
  "HTTP/1.1 429 Too  Many\tRequests",
  "HTTP/1.1 503 caf\u00e9",
  "HTTP/1.1 599 ",
  "HTTP/2.0 200 OK",
  "HTTP/1.2 200 OK",
  "http/1.1 200 OK",
  "HTTP/1.1 20 OK",
  "HTTP/1.1 2000 OK",
  "HTTP/1.1  200 OK",
];
const INFORMATIONAL = [
  "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n",
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 102 \r\n\r\n",
];
const HEADERS = [
  "content-type: application/json",
  "Content-Type:text/event-stream",
  "X-Empty:",
  "x-blank: \t ",
  "x-tab: a\tb",
  "x-bytes: caf\u00e9\u00ff",
  'x-quoted: "a\\"b"',
  "x-colons: a:b: c",
  "connection: keep-alive",
  "Connection: close",
  "connection: Keep-Alive, x-hop",
  "keep-alive: timeout=5, max=100",
  "keep-alive: timeout=1",
  "x-request-id: 01J",
  "set-cookie: a=b; Path=/",
  "set-cookie: c=d",
  "bad name: x",
  "x-space : y",
  ": no name",
  "no colon",
  " folded: z",
  "x-nul: a\0b",
  "x-del: a\x7fb",
  "transfer-encoding: identity",
  "transfer-encoding: gzip, chunked",
  "content-length: 5",
  "content-length: +5",
  "content-length: 0x5",
  "content-length: ",
  "content-length: 5, 5",
  "content-length: 99999999999999999999999",
  "upgrade: websocket",
  "trailer: x-sum",
];

const body = fc.oneof(
  fc.constantFrom("", "hello", '{"a":1}', "data: {}\n\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno"),
  fc.string({ unit: "binary-ascii", maxLength: 200 }),
);

const chunkHead = fc.constantFrom("", "", "", ";a=b", ';a="b;c"', ";", " ", ";\tq");
const chunkedBody = fc
  .tuple(
    fc.array(fc.tuple(body, chunkHead), { maxLength: 4 }),
    fc.constantFrom("", "", "x-sum: 1\r\n", "bad\r\n", "a b: c\r\n"),
  )
  .map(([chunks, trailer]) => {
    const written = chunks
      .filter(([text]) => text !== "")
      .map(([text, more]) => `${text.length.toString(16)}${more}\r\n${text}\r\n`);
    return { text: `${written.join("")}0\r\n${trailer}\r\n`, header: "transfer-encoding: chunked" };
  });
const countedBody = fc.tuple(body, fc.constantFrom(0, 0, 0, 0, 1, -1)).map(([text, off]) => ({
  text,
  header: `content-length: ${Math.max(0, text.length + off)}`,
}));
const openBody = body.map((text) => ({ text, header: undefined }));

/** Whole answers, most of them valid. */
const answer = fc
  .record({
    before: fc.array(fc.constantFrom(...INFORMATIONAL), { maxLength: 1 }),
    line: fc.constantFrom(...STATUS_LINES.slice(0, 4), ...STATUS_LINES),
    headers: fc.array(fc.constantFrom(...HEADERS.slice(0, 15), ...HEADERS), { maxLength: 5 }),
    body: fc.oneof(chunkedBody, countedBody, countedBody, openBody),
    at: fc.nat(),
  })
  .map(({ before, line, headers, body: { text, header }, at }) => {
    const all = [...headers];
    if (header !== undefined) all.splice(at % (all.length + 1), 0, header);
    return `${before.join("")}${line}\r\n${all.map((each) => `${each}\r\n`).join("")}\r\n${text}`;
  });

const damage = fc.tuple(fc.nat(), fc.constantFrom("cut", "twice", "flip", "put", "lf", "short"), fc.nat({ max: 255 }));

function damaged(text: string, [where, kind, byte]: readonly [number, string, number]): string {
  const at = where % Math.max(1, text.length);
  const char = String.fromCharCode(byte);
  if (kind === "cut") return text.slice(0, at) + text.slice(at + 1);
  if (kind === "twice") return text.slice(0, at) + text.slice(at, at + 8) + text.slice(at);
  if (kind === "flip") return text.slice(0, at) + char + text.slice(at + 1);
  if (kind === "put") return text.slice(0, at) + char + text.slice(at);
  if (kind === "lf") return text.replace("\r\n", "\n");
  return text.slice(0, at);
}

const script: fc.Arbitrary<Script> = fc
  .record({
    text: fc.oneof(
      { weight: 2, arbitrary: answer },
      {
        weight: 3,
        arbitrary: fc
          .tuple(answer, fc.array(damage, { minLength: 1, maxLength: 2 }))
          .map(([text, all]) => all.reduce(damaged, text)),
      },
    ),
    cuts: fc.array(fc.nat(), { maxLength: 3 }),
  })
  .map(({ text, cuts }) => {
    const bytes = Buffer.from(text, "latin1");
    const at = [...new Set(cuts.map((cut) => cut % Math.max(1, bytes.length)))].sort((a, b) => a - b);
    const edges = [0, ...at, bytes.length];
    const pieces = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
    return { pieces: pieces.filter((piece) => piece.length > 0), after: "end" };
  });

/** Additional refusals of our reader: two parsers might disagree, or the data was not requested. */
const REFUSED_BEYOND: readonly string[] = [
  "a transfer encoding besides `chunked`",
  // Another version.
  "its first line",
  // DEL within quotes.
  "the text after the size of a chunk",
  // Before the status line, which undici skips.
  "a line that does not end in CR LF",
];

const shown = ({ head, body: text, end, cause }: Outcome): string =>
  JSON.stringify({ end, head, text, cause: String(cause) });

/**
 * For a reason phrase in pieces undici keeps the last, and it decodes UTF-8 unnecessarily; behind a value it keeps tabs
 * (RFC 9110, section 5.5: they are not part of it).
 */
const comparable = ({ head }: Outcome): unknown =>
  head && [head.status, head.headers.map((text) => text.replace(/[\t ]+$/, ""))];

/** Inputs on which the two once differed. */
const FOUND = ['HTTP/1.1 200 \r\ncontent-length: 7\t\r\nx-tab: a\tb\r\n\r\n{"a":1}', "\nHTTP/1.1 200 OK\r\n\r\n"];
const scriptOf = (text: string): Script => ({ pieces: [Buffer.from(text, "latin1")], after: "end" });

test("answers are parsed as undici parses them", async () => {
  let completed = 0;
  await fc.assert(
    fc.asyncProperty(script, async (result) => {
      wire.say(result);
      const [mine, other] = [await outcomeOf(ours), await outcomeOf(theirs)];
      const detail = `ours ${shown(mine)}\nundici ${shown(other)}`;
      if (mine.end === "complete") {
        completed += 1;
        // The length that the body would have (RFC 9110, section 8.6), which undici takes for a missing body.
        if (mine.head?.status === 304 && /UND_ERR_RES_CONTENT_LENGTH_MISMATCH/.test(other.cause?.message ?? "")) return;
        // A 100 that no request asked for, which undici refuses and a client may skip (RFC 9110, section 15.2.1).
        if (other.end === "failed" && /bad response/.test(other.cause?.message ?? "")) return;
        assert.equal(other.end, "complete", detail);
        assert.deepEqual(comparable(mine), comparable(other), detail);
        assert.equal(mine.body, other.body, detail);
        return;
      }
      if (mine.head !== undefined && other.head !== undefined)
        assert.deepEqual(comparable(mine), comparable(other), detail);
      if (other.end === "failed") return;
      const reason = mine.cause?.message ?? "";
      assert.ok(
        REFUSED_BEYOND.some((known) => reason.endsWith(known)),
        detail,
      );
    }),
    { numRuns: RUNS, includeErrorInReport: true, examples: FOUND.map((text) => [scriptOf(text)]) },
  );
  assert.ok(completed > randomFloor(RUNS / 10), `only ${completed} of ${randomRuns(RUNS)} were answers`);
});
