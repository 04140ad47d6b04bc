/**
 * The service with a filter like agentgateway's: each listed difference from Envoy's. Source: ext-proc reference, A.9.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { test } from "node:test";
import { nullLog } from "../../../src/base/index.ts";
import { beginInspection, type InspectionOptions, openInspector } from "../../../src/server/inspector/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../../src/server/memory/index.ts";
import type { Owner } from "../../e2e/support/wait.ts";
import { countedMetrics, guardOf } from "../dataplane/support/guards.ts";
import { openAnswering } from "./answering.ts";
import { type AgentgatewayOptions, openAgentgateway } from "./support/agentgateway.ts";
import { ADDRESS, answersOf, CARD, filled, readAnswer, whole } from "./support/model-answers.ts";

const REASON = "Adressen bleiben hier – 不可 \ud83d\udeab \ud800";
const GUARD = guardOf({
  detectors: [
    {
      name: "pii",
      type: "pii",
      prefilter: "pure",
      entities: ["CREDIT_CARD", "EMAIL_ADDRESS"],
      apply_to: ["user", "output"],
    },
  ],
  rules: [
    { name: "no-mail", action: "deny", when: "'pii/EMAIL_ADDRESS' in labels", message: REASON },
    { name: "mask", action: "redact", select: "a.label == 'CREDIT_CARD'", operator: "replace" },
  ],
});
const GUARDRAILS = { of: () => GUARD } as unknown as ReturnType<InspectionOptions["guardrails"]>;
const SIZES = [100, 500_000];

type Settings = Omit<AgentgatewayOptions, "inspector" | "upstream"> & {
  readonly mode?: "streamed" | "duplex";
  readonly inspects?: "duplex";
};

async function fronted(owner: Owner, { mode = "duplex", inspects, ...peer }: Settings = {}) {
  const counted: string[] = [];
  const inspector = await openInspector({
    address: "127.0.0.1:0",
    mode,
    responses: inspects,
    maxMessageBytes: 4 << 20,
    account: createAdmission({ ...DEFAULT_ADMISSION, maxBufferedBytes: 64 << 20 }),
    maxStreams: 100,
    maxQuietMs: 60_000,
    maxSilentMs: 60_000,
    begin: () => ({
      maxBodyBytes: 2_000_000,
      ...beginInspection({
        guardrails: () => GUARDRAILS,
        sinks: { trail: undefined, metrics: countedMetrics().metrics, log: nullLog },
        inspectsResponses: inspects !== undefined,
      }),
    }),
    observer: { count: (what, _, detail) => void counted.push(`${what} ${detail}`), countInspection: () => undefined },
    log: nullLog,
  });
  const upstream = await openAnswering();
  for (const [key, answer] of answersOf(SIZES)) upstream.answers.set(key, answer);
  const proxy = await openAgentgateway({ ...peer, inspector: inspector.port, upstream: upstream.port });
  owner.after(async () => {
    await proxy.close();
    await upstream.close();
    await inspector.close(0);
  });
  return { inspector, upstream, proxy, counted, post: posting(proxy.port) };
}

interface Posted {
  readonly answer?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | Buffer>>;
  readonly trailers?: Readonly<Record<string, string>>;
  readonly isSized?: boolean;
}

const posting =
  (port: number) =>
  async (
    body: string,
    { answer = "none", path = "/v1/chat/completions", headers = {}, trailers, isSized }: Posted = {},
  ) => {
    const own = {
      "content-type": "application/json",
      "x-answer": answer,
      ...headers,
      ...(isSized === true
        ? { "content-length": String(Buffer.byteLength(body)) }
        : { "transfer-encoding": "chunked" }),
      ...(trailers && { trailer: Object.keys(trailers).join(",") }),
    } as Record<string, string>;
    const asked = request({ host: "127.0.0.1", port, method: "POST", path, headers: own, agent: false });
    const half = body.length >> 1;
    asked.write(body.slice(0, half));
    asked.write(body.slice(half));
    if (trailers) asked.addTrailers(trailers);
    asked.end();
    const [answered] = (await once(asked, "response")) as [
      NodeJS.ReadableStream & { statusCode: number; headers: object },
    ];
    const chunks: Buffer[] = [];
    for await (const chunk of answered as AsyncIterable<Buffer>) chunks.push(chunk);
    return {
      status: answered.statusCode,
      headers: answered.headers as Record<string, string>,
      body: String(Buffer.concat(chunks)),
    };
  };

const chat = (content: string): string => JSON.stringify({ model: "m", messages: [{ role: "user", content }] });
const masked = (text: string): string => text.replace(CARD, "<CREDIT_CARD>");
const codeOf = (body: string): string => JSON.parse(body).error.code;

test("duplex in both directions: requests are allowed, redacted or denied, and responses pass uninspected", async (t) => {
  const { post, upstream, counted } = await fronted(t);
  for (const bytes of SIZES) {
    const [allowed, redacted] = [chat(filled("allow", bytes)), chat(filled("redact", bytes))];
    // Responses are not inspected here and pass byte for byte, in pieces.
    const answered = await post(allowed, { answer: `redact whole ${bytes}` });
    assert.deepEqual([answered.status, answered.body === String(whole(filled("redact", bytes)))], [200, true]);
    assert.equal((await post(redacted)).status, 204);
    const denied = await post(chat(filled("deny", bytes)));
    assert.deepEqual([denied.status, codeOf(denied.body)], [403, "guardrail_denied"]);
    assert.deepEqual(upstream.bodies.splice(0).map(String), [allowed, masked(redacted)]);
  }
  assert.deepEqual(counted, []);
});

test("duplex responses: each outcome, whole and as events", async (t) => {
  const { post, counted } = await fronted(t, { inspects: "duplex" });
  for (const bytes of SIZES) {
    for (const form of ["whole", "chunked", "trailers"]) {
      const allowed = await post(chat("hi"), { answer: `allow ${form} ${bytes}` });
      assert.ok(allowed.body === String(whole(filled("allow", bytes))), form);
      const redacted = await post(chat("hi"), { answer: `redact ${form} ${bytes}` });
      assert.ok(redacted.body === masked(String(whole(filled("redact", bytes)))), form);
      const denied = await post(chat("hi"), { answer: `deny ${form} ${bytes}` });
      assert.deepEqual([denied.status, codeOf(denied.body)], [403, "guardrail_denied"]);
    }
    assert.equal(
      readAnswer((await post(chat("hi"), { answer: `allow events ${bytes}` })).body).text,
      filled("allow", bytes),
    );
    const redacted = readAnswer((await post(chat("hi"), { answer: `redact events ${bytes}` })).body);
    assert.equal(redacted.text, masked(filled("redact", bytes)));
    assert.ok(!(await post(chat("hi"), { answer: `deny events ${bytes}` })).body.includes(ADDRESS));
  }
  assert.equal((await post(chat("hi"))).status, 204);
  assert.deepEqual(counted, []);
});

test("streamed bodies are not supported: refused at the first message, and nothing is forwarded", async (t) => {
  for (const failsOpen of [false, true]) {
    const { post, upstream, counted } = await fronted(t, { mode: "streamed", failsOpen });
    assert.equal((await post(chat("hi"))).status, 500);
    assert.deepEqual(upstream.bodies, []);
    assert.deepEqual(counted, [
      "mode_mismatch extproc.request_body_mode is streamed, and the filter's request_body_mode is FULL_DUPLEX_STREAMED",
    ]);
  }
});

for (const allowsOverride of [false, true]) {
  test(`a buffered body before such a service, overrides ${allowsOverride ? "" : "not "}allowed: it works all the same`, async (t) => {
    const { post, upstream, proxy, counted } = await fronted(t, {
      ...{ mode: "streamed", request: "buffered", response: "none", allowsOverride },
    });
    for (const isSized of [true, false]) {
      const [allowed, redacted] = [chat("hello"), chat(`card ${CARD} it is`)];
      assert.equal((await post(allowed, { isSized })).status, 204);
      // An outdated length would break it.
      assert.equal((await post(redacted, { isSized })).status, 204);
      assert.equal((await post(chat(ADDRESS), { isSized })).status, 403);
      assert.deepEqual(upstream.bodies.splice(0).map(String), [allowed, masked(redacted)]);
    }
    const warning = allowsOverride
      ? "mode_override body_mode=STREAMED is not implemented"
      : "mode_override is not allowed";
    assert.deepEqual(new Set(proxy.warnings), new Set([warning]));
    assert.deepEqual(counted, []);
  });
}

test("a response whose headers are withheld passes if it is not inspected", async (t) => {
  for (const settings of [{ sendsResponseHeaders: false }, { ...BUFFERED, allowsOverride: true }] as const) {
    const { post, counted } = await fronted(t, settings);
    const { status, body } = await post(chat("hi"), { answer: "deny whole 100" });
    assert.deepEqual([status, body], [200, String(whole(filled("deny", 100)))]);
    assert.deepEqual(counted, []);
  }
});

/** An override that it applies partly: no response headers, but the body. */
const BUFFERED = { mode: "streamed", request: "buffered" } as const;

test("a response whose headers are withheld is refused if it must be inspected", async (t) => {
  const { post, counted } = await fronted(t, { inspects: "duplex", sendsResponseHeaders: false });
  const { body } = await post(chat("hi"), { answer: "allow whole 100" });
  assert.equal(body, "");
  assert.deepEqual(counted, ["out_of_order response body came where there are none"]);
});

test("a refusal is text that can be decoded, whatever it quotes", async (t) => {
  const { post } = await fronted(t);
  const unusual = { "x-request-id": "\xff\xfe", "user-agent": "\xe9" };
  for (const path of ["/v1/chat/completions", "/v1/messages", "/any?\xff"]) {
    const { status, body } = await post(chat(ADDRESS), { path: encodeURI(path), headers: unusual });
    assert.equal(status, 403);
    assert.ok(JSON.parse(body).error.message.startsWith("Adressen bleiben hier – 不可 🚫"), body);
  }
});

test("protocol names come in `value` and give the route and the format of a refusal", async (t) => {
  const { post } = await fronted(t);
  const { body } = await post(chat(ADDRESS), { path: "/v1/messages" });
  assert.deepEqual([JSON.parse(body).type, JSON.parse(body).error.type], ["error", "permission_error"]);
});

test("each answer to a duplex body is a piece, since any other is taken as the end", async (t) => {
  const { post, proxy } = await fronted(t, { inspects: "duplex" });
  await post(chat("hello"), { answer: "allow events 100" });
  await post(chat(`card ${CARD}`), { answer: "redact chunked 500000" });
  const bodies = proxy.answers.flatMap(({ request_body: asked, response_body: answered }) => asked ?? answered ?? []);
  assert.ok(bodies.length > 10, String(bodies.length));
  for (const { response } of bodies) assert.equal(response?.body_mutation?.mutation, "streamed_response");
  assert.deepEqual(proxy.warnings, []);
});

test("an answer to trailers ends the body after the last piece", async (t) => {
  const { post, upstream, proxy } = await fronted(t);
  const body = chat(filled("redact", 500_000));
  assert.equal((await post(body, { trailers: { "x-sum": "1" } })).status, 204);
  assert.deepEqual(upstream.bodies.map(String), [masked(body)]);
  const order = proxy.answers.map(({ response }) => response).filter((name) => name?.startsWith("request"));
  assert.deepEqual(
    [order[0], order.at(-1), order.indexOf("request_trailers")],
    ["request_headers", "request_trailers", order.length - 1],
  );
});

test("a request without a body and a response without one are handled", async (t) => {
  const { proxy, upstream, counted } = await fronted(t, { inspects: "duplex" });
  const answered = await fetch(`http://127.0.0.1:${proxy.port}/v1/models`, { headers: { "x-answer": "none" } });
  assert.equal(answered.status, 204);
  assert.deepEqual(upstream.bodies.map(String), [""]);
  assert.deepEqual(counted, []);
});

test("without an inspector: fail-open only before the first byte of a body, fail-closed never", async (t) => {
  for (const failsOpen of [false, true]) {
    const { inspector, proxy, post, upstream } = await fronted(t, { failsOpen });
    await inspector.close(0);
    assert.equal((await post(chat("hi"))).status, 500);
    assert.deepEqual(upstream.bodies, []);
    const bodiless = await fetch(`http://127.0.0.1:${proxy.port}/v1/models`, { headers: { "x-answer": "none" } });
    assert.equal(bodiless.status, failsOpen ? 204 : 500);
  }
});
