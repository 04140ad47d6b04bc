// tier: test
/**
 * Guardrails on whole answers through a running gateway, from a provider that a test scripts byte by byte: what clients
 * read, what is refused, and what the operator sees. Source: specification document 3 (`guardrails`); design decisions,
 * section 11.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { say } from "../governance/support/governed.ts";
import { idle, readMetrics, sumOf } from "../support/metrics.ts";
import { type Reply, reply } from "../support/upstream.ts";
import { chunks, readStream, streaming } from "./support/answers.ts";
import {
  ADDRESS,
  CARD,
  JSON_TYPE,
  leaked,
  MAIL,
  MAX_BODY_BYTES,
  requestWith,
  SSN,
  startInspected,
} from "./support/inspected.ts";

const file = { after };
const inspected = await startInspected(file);
const { upstream, node, gateway, buffering, key, answered, whole, recordOf } = inspected;

const completion = (content: string, more: object = {}) =>
  JSON.stringify({
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    ...more,
  });

test("a whole answer is rewritten, and its length, digests and record match the new body", async () => {
  const body = completion(`Write to ${MAIL}.`);
  const answer = await whole({ headers: [...JSON_TYPE, "ETag: x", "Content-Digest: sha-256=:x:"], body });
  assert.deepEqual([answer.status, answer.text], [200, body.replace(MAIL, "<EMAIL_ADDRESS>")]);
  assert.deepEqual(
    ["x-gateway-guardrails", "content-length", "etag", "content-digest"].map((name) => answer.headers.get(name)),
    ["hide=redact", String(answer.text.length), null, null],
  );
  const { controls, data } = await recordOf("guardrail.decision", answer);
  assert.deepEqual(controls, ["GDPR-5"]);
  assert.deepEqual(
    [data["direction"], data["decision"], data["rule"], data["matched"], data["to"], data["key"]],
    [
      "response",
      "allow",
      "hide",
      [{ rule: "hide", action: "redact", types: { "pii/EMAIL_ADDRESS": 1 }, kinds: ["output"] }],
      "raw",
      "plain",
    ],
  );
});

test("an answer without findings passes unchanged, and so does one with findings that are only noted", async () => {
  const body = completion("Nothing of note.").replace("{", '{ "odd" : 1.0,  ');
  const answer = await whole({ headers: [...JSON_TYPE, "ETag: x"], body });
  assert.deepEqual(
    [answer.text, answer.headers.get("etag"), answer.headers.get("x-gateway-guardrails")],
    [body, "x", null],
  );
  const noted = completion(`Pay with ${CARD}.`);
  const carded = await whole({ headers: JSON_TYPE, body: noted });
  assert.deepEqual([carded.text, carded.headers.get("x-gateway-guardrails")], [noted, "note=annotate"]);
  const empty = await whole({ headers: JSON_TYPE, body: "" });
  assert.deepEqual([empty.status, empty.code], [502, "upstream_invalid"]);
});

test("a denied whole answer is a refusal in the dialect's format", async () => {
  const answer = await whole({ headers: JSON_TYPE, body: completion(`It is ${SSN}.`) });
  assert.deepEqual(
    [answer.status, answer.code, answer.headers.get("x-should-retry")],
    [403, "guardrail_denied", "false"],
  );
  assert.match(answer.text, /Numbers of persons stay here\./);
  assert.equal(answer.headers.get("x-gateway-guardrails"), "no-ssn=deny");
  const { controls, data } = await recordOf("guardrail.decision", answer);
  assert.deepEqual([controls, data["decision"], data["direction"]], [["SC-7"], "deny", "response"]);
  const refusals = (await node.client.call("list_refusals")).items;
  assert.ok(refusals.some((row) => row.code === "guardrail_denied" && JSON.stringify(row).includes("no-ssn")));
});

test("a shadow detector's finding in an answer is recorded once and changes nothing", async () => {
  const answer = await answered(streaming(chunks([{ content: `At ${ADDRESS}, and ` }, { content: `${ADDRESS}.` }])), {
    stream: true,
  });
  assert.equal(readStream(answer.text).content, `At ${ADDRESS}, and ${ADDRESS}.`);
  const { data } = await recordOf("guardrail.shadow", answer);
  assert.deepEqual([data["direction"], data["detectors"]], ["response", { watcher: { "pii/IP_ADDRESS": 2 } }]);
});

/** Labels and content of a provider's answer may disagree. */
const escaped = (text: string) =>
  [...text].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
const NAMED: Readonly<Record<string, { readonly answer: Reply; readonly shown: RegExp; readonly status?: number }>> = {
  "an error that echoes the prompt": {
    answer: { status: 400, headers: JSON_TYPE, body: `{"error":{"message":"bad: ${MAIL}"}}` },
    shown: /bad: <EMAIL_ADDRESS>/,
    status: 400,
  },
  "an error page": {
    answer: {
      status: 404,
      headers: ["Content-Type: text/html; charset=iso-8859-1"],
      body: Buffer.from(`<p>caf\u00e9 ${MAIL}</p>`, "latin1"),
    },
    shown: /<p>café <EMAIL_ADDRESS><\/p>/,
    status: 404,
  },
  "plain text": {
    answer: {
      headers: ["Content-Type: TEXT/Plain;Charset=UTF-8"],
      body: `1\n00:00:00,000 --> 00:00:01,000\n${MAIL}\n`,
    },
    shown: /\n<EMAIL_ADDRESS>\n/,
  },
  "no type": { answer: { body: completion(MAIL) }, shown: /<EMAIL_ADDRESS>/ },
  "an audio type": {
    answer: { headers: ["Content-Type: audio/mpeg"], body: completion(MAIL) },
    shown: /<EMAIL_ADDRESS>/,
  },
  "a file type": {
    answer: { headers: ["Content-Type: application/octet-stream"], body: `${completion(MAIL)}\n${completion("x")}\n` },
    shown: /<EMAIL_ADDRESS>/,
  },
  "a stream type and JSON content": {
    answer: { headers: ["Content-Type: text/event-stream"], body: completion(escaped(MAIL)).replaceAll("\\\\", "\\") },
    shown: /<EMAIL_ADDRESS>/,
  },
  "a JSON type and a stream as content": {
    answer: {
      headers: JSON_TYPE,
      body: chunks([{ content: MAIL.slice(0, 9) }, { content: `${MAIL.slice(9)} ok` }]).join(""),
    },
    shown: /<EMAIL_ADDRESS>/,
  },
  "a stream as the body of an error": {
    answer: {
      status: 400,
      headers: ["Content-Type: text/event-stream"],
      body: chunks([{ content: `${MAIL} ok` }]).join(""),
    },
    shown: /<EMAIL_ADDRESS>/,
    status: 400,
  },
  "a byte order mark": {
    answer: { headers: JSON_TYPE, body: `\ufeff${completion(MAIL)}` },
    shown: /<EMAIL_ADDRESS>/,
  },
  "a byte that is not UTF-8": {
    answer: {
      headers: JSON_TYPE,
      body: Buffer.concat([
        Buffer.from(completion(MAIL).slice(0, -1)),
        Buffer.from([0x2c, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      ]),
    },
    shown: /<EMAIL_ADDRESS>/,
  },
  "duplicate names": {
    answer: { headers: JSON_TYPE, body: completion("x").replace('"content":"x"', `"content":"${MAIL}","content":"x"`) },
    shown: /<EMAIL_ADDRESS>.*"content":"x"/,
  },
  escapes: {
    answer: { headers: JSON_TYPE, body: completion("x").replace('"x"', `"${escaped(MAIL)}"`) },
    shown: /<EMAIL_ADDRESS>/,
  },
};
for (const [what, { answer, shown, status = 200 }] of Object.entries(NAMED)) {
  test(`an answer with ${what} is still read`, async () => {
    const response = await whole(answer);
    assert.equal(response.status, status, response.text);
    assert.match(response.text, shown);
    assert.ok(!response.text.includes("lovelace"), response.text);
  });
}

const EVENTS_TYPE = ["Content-Type: text/event-stream"];
const packed = (body: Buffer): Reply => ({ headers: [...JSON_TYPE, "Content-Encoding: gzip"], body });

const NO_ANSWERS: Readonly<Record<string, Reply>> = {
  "in UTF-16": {
    headers: ["Content-Type: application/json; charset=utf-16"],
    body: Buffer.from(`\ufeff${completion(MAIL)}`, "utf16le"),
  },
  "undeclared UTF-16": { headers: JSON_TYPE, body: Buffer.from(completion(MAIL), "utf16le") },
  "JSON that only some parsers accept": {
    headers: JSON_TYPE,
    body: completion("x")
      .replace('"x"', `"${escaped(MAIL)}"`)
      .replace("}", ', "n": NaN }'),
  },
  "deeply nested JSON": { headers: JSON_TYPE, body: `${"[".repeat(600)}"${escaped(MAIL)}"${"]".repeat(600)}` },
  "untyped JSON with a byte order mark and a NUL": {
    headers: ["Content-Type: application/octet-stream"],
    body: `\ufeff${completion(MAIL)}\0`,
  },
  "in an unknown encoding": { headers: [...JSON_TYPE, "Content-Encoding: zstd"], body: "x" },
  "declared in an encoding that it does not have": {
    headers: [...JSON_TYPE, "Content-Encoding: gzip"],
    body: "no gzip",
  },
  "endless when decompressed": packed(gzipSync(Buffer.alloc(40 << 20))),
  "endless when decompressed, after a valid beginning": packed(
    gzipSync(Buffer.concat([Buffer.from(completion(randomBytes(600_000).toString("hex"))), Buffer.alloc(200 << 20)])),
  ),
  "an endless, unrequested stream": { headers: EVENTS_TYPE, body: chunks([{ content: "x" }])[0] ?? "" },
};

for (const [what, answer] of Object.entries(NO_ANSWERS)) {
  test(`an answer that is ${what} is refused as invalid`, async () => {
    const response = await whole(answer);
    assert.deepEqual([response.status, response.code], [502, "upstream_invalid"], response.text);
  });
}

test("an unrequested stream is judged as a whole, whatever its type says", async () => {
  const body = chunks([{ content: "to ada." }, { content: "lovelace@example.com now" }]).join("");
  for (const headers of [EVENTS_TYPE, JSON_TYPE, ["Content-Type: image/png"]]) {
    const response = await whole({ headers, body });
    assert.deepEqual([response.status, response.headers.get("content-type")], [200, "application/json"], response.text);
    const answer = JSON.parse(response.text) as { choices: { message: { content: string } }[] };
    assert.equal(answer.choices[0]?.message.content, "to <EMAIL_ADDRESS> now");
  }
});

test("a compressed answer above the limit is passed decoded or refused, as configured", async () => {
  const body = completion(randomBytes(MAX_BODY_BYTES).toString("hex"));
  const answer = await whole(packed(gzipSync(body)));
  assert.deepEqual([answer.status, answer.text], [200, body]);
  assert.equal((await whole(packed(gzipSync(body)), {}, buffering)).status, 403);
});

const ENCODINGS = { gzip: gzipSync, "x-gzip": gzipSync, deflate: deflateSync, br: brotliCompressSync };
for (const [encoding, encode] of Object.entries(ENCODINGS)) {
  test(`identity encoding is requested, and an answer in ${encoding} is still read, also as a stream`, async () => {
    const headers = [...JSON_TYPE, `Content-Encoding: ${encoding}`];
    const answer = await whole({ headers, body: encode(completion(MAIL)) });
    assert.deepEqual([answer.headers.get("content-encoding"), answer.text], [null, completion("<EMAIL_ADDRESS>")]);
    const stream = encode(chunks([{ content: "to ada." }, { content: "lovelace@example.com now" }]).join(""));
    const events = await whole(
      { headers: ["Content-Type: text/event-stream", headers[1] ?? ""], body: stream },
      { stream: true },
    );
    assert.equal(readStream(events.text).content, "to <EMAIL_ADDRESS> now");
    const sent = upstream.requests.at(-1)?.headers.filter(([name]) => name.toLowerCase() === "accept-encoding");
    assert.deepEqual(sent, [["accept-encoding", "identity"]]);
  });
}

test("audio and images pass and are counted, ranges are not requested, and an answer without a body stays empty", async () => {
  const valid = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 1, ...Buffer.from(MAIL)]);
  upstream.script = (socket) => reply(socket, { headers: ["Content-Type: audio/mpeg"], body: valid });
  const response = await fetch(`${gateway.url}/v1/audio/speech`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", range: "bytes=0-4" },
    body: JSON.stringify({ model: "m", input: "x", voice: "alloy" }),
  });
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), valid);
  assert.ok(!upstream.requests.at(-1)?.headers.some(([name]) => name.toLowerCase() === "range"));
  upstream.script = (socket) => socket.write("HTTP/1.1 204 No Content\r\n\r\n");
  const gone = await say(gateway, { key, body: requestWith() });
  assert.deepEqual([gone.status, gone.text], [204, ""]);
  assert.equal(sumOf(await readMetrics(gateway), "gateway_guardrail_uninspected_total", { what: "audio" }), 1);
});

test("an oversized answer passes and is counted, or is refused", async () => {
  const before = sumOf(await readMetrics(gateway), "gateway_guardrail_response_oversize_total");
  const body = completion(`${MAIL} ${"x".repeat(MAX_BODY_BYTES)}`);
  const answer = await whole({ headers: JSON_TYPE, body });
  assert.deepEqual([answer.status, answer.text], [200, body]);
  assert.equal(sumOf(await readMetrics(gateway), "gateway_guardrail_response_oversize_total"), before + 1);
  for (const [answer, more] of [
    [{ headers: JSON_TYPE, body }, {}],
    [{ headers: [...JSON_TYPE, "Content-Encoding: gzip"], body: gzipSync(body) }, {}],
    [
      { headers: ["Content-Type: text/event-stream"], body: chunks([{ content: "x".repeat(3_000) }]).join("") },
      { stream: true },
    ],
  ] as const) {
    const denied = await whole(answer, more, buffering);
    assert.deepEqual([denied.status, denied.code], [403, "guardrail_denied"], denied.text);
  }
});

test("no matched text is in logs, records or metrics", async () => {
  await idle(gateway);
  assert.deepEqual(await leaked(inspected), []);
});
