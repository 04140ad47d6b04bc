/**
 * Bodies of 20 MB through a real Envoy, of requests and of responses: unchanged, rewritten, or not at all, with bounded
 * memory of the service. Sequentially, and several concurrently. Source: ext-proc reference, C.4.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Peer, type PeerName, peer } from "../../../peers/index.ts";
import { childArgs } from "../../../support/child-program.ts";
import { openAnswering } from "../answering.ts";
import { type Envoy, type FilterModes, openUpstream, startEnvoy } from "../envoy.ts";
import { serveApart } from "./in-process.ts";
import { ADDRESS, answersOf, CARD, filled, readAnswer, type TextName, whole } from "./model-answers.ts";
import { RESPONSE_MODES } from "./response-matrix.ts";

const SHORT = process.env["INSPECTOR_MATRIX"] === "full" ? false : "with INSPECTOR_MATRIX=full: it takes minutes";
const BYTES = 20_000_000;
const MODES: readonly FilterModes["request"][] = ["override", "streamed", "duplex"];

/** The body, its text, the rewritten text and the judged pieces, plus the process itself. */
const MAX_RESIDENT_BYTES = 700 << 20;
const AT_ONCE = 8;
/** For several: the shared limit, written data that is not collected yet, and the process itself. */
const MAX_RESIDENT_BYTES_AT_ONCE = 1_400 << 20;

const asking = (textName: TextName): Buffer =>
  Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: filled(textName, BYTES) }] }));
const SMALL = Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] }));
const masked = (text: string): string => text.replace(CARD, "<CREDIT_CARD>");

const modeOf = (mode: string): string => (mode === "duplex" ? "duplex" : "streamed");
const judging = (...args: readonly string[]) => serveApart(childArgs("./judging.ts", import.meta.url), args);

async function expectedAll(proxy: Envoy): Promise<void> {
  const counters = await proxy.counters();
  for (const name of ["spurious_msgs_received", "failure_mode_allowed", "message_timeouts", "streams_failed"]) {
    assert.equal(counters.get(name) ?? 0, 0, `${name}: ${JSON.stringify([...counters])}`);
  }
}

/** Registers the tests of one version. */
export async function describeLargeRequests(name: PeerName): Promise<void> {
  const envoy = await peer(name);
  describe(`${name}: requests of 20 MB`, { skip: envoy.missing || SHORT }, () => {
    for (const mode of MODES) requests(envoy, mode);
  });
}

/** Registers the tests of one version. */
export async function describeLargeResponses(name: PeerName): Promise<void> {
  const envoy = await peer(name);
  describe(`${name}: responses of 20 MB`, { skip: envoy.missing || SHORT }, () => {
    // A filter has its own lower limit for buffered bodies.
    for (const modes of RESPONSE_MODES.filter(({ response }) => response !== "buffered")) responses(envoy, modes);
  });
}

function requests(envoy: Peer, mode: FilterModes["request"]): void {
  test(`requests, ${mode}`, async (t) => {
    const [allowed, redacted, denied] = [asking("allow"), asking("redact"), asking("deny")];
    const service = await judging(modeOf(mode));
    t.after(service.stop);
    const upstream = await openUpstream();
    t.after(upstream.close);
    const ports = { inspector: service.port, upstream: upstream.port };
    const proxy = await startEnvoy(envoy.path, { request: mode, response: "off" }, ports);
    t.after(proxy.stop);
    for (const isChunked of [false, true]) {
      upstream.bodies.length = 0;
      assert.equal((await proxy.post(allowed, { isChunked })).status, 200);
      assert.ok(upstream.bodies[0]?.equals(allowed), `${upstream.bodies[0]?.length} bytes arrived`);
      assert.equal((await proxy.post(redacted, { isChunked })).status, 200);
      assert.ok(String(upstream.bodies[1]) === masked(String(redacted)));
      assert.equal((await proxy.post(denied, { isChunked })).status, 403);
      assert.equal(upstream.bodies.length, 2);
    }
    upstream.bodies.length = 0;
    const trailed = await proxy.postWithTrailers(allowed);
    assert.equal(trailed.status, mode === "duplex" ? 200 : 501);
    assert.ok(mode === "duplex" ? upstream.bodies[0]?.equals(allowed) : upstream.bodies.length === 0);
    const peak = service.peakBytes();
    t.diagnostic(`peak ${peak >> 20} MiB`);
    assert.ok(peak < MAX_RESIDENT_BYTES, `it took ${peak >> 20} MiB`);
    upstream.bodies.length = 0;
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => proxy.post(allowed)));
    for (const { status } of answers) assert.ok(status === 200 || status === 503, String(status));
    assert.ok(upstream.bodies.length > 0 && upstream.bodies.every((body) => body.equals(allowed)));
    const most = service.peakBytes();
    t.diagnostic(`${AT_ONCE} at once: ${upstream.bodies.length} passed, peak ${most >> 20} MiB`);
    assert.ok(most < MAX_RESIDENT_BYTES_AT_ONCE, `it took ${most >> 20} MiB`);
    await expectedAll(proxy);
  });
}

function responses(envoy: Peer, modes: FilterModes): void {
  const isHeld = modes.response === "duplex";
  test(`responses ${modes.response}, requests ${modes.request}`, async (t) => {
    const service = await judging(modeOf(modes.request), modeOf(modes.response));
    t.after(service.stop);
    const upstream = await openAnswering();
    t.after(upstream.close);
    for (const [key, answer] of answersOf([BYTES])) upstream.answers.set(key, answer);
    const { port, port2 } = upstream;
    const ports = { inspector: service.port, upstream: port, upstream2: port2 };
    const proxy = await startEnvoy(envoy.path, modes, ports);
    t.after(proxy.stop);
    const ask = async (answer: string, isHttp2 = false) => {
      const headers = { "x-answer": `${answer} ${BYTES}`, ...(isHttp2 && { "x-http2": "1" }) };
      const answered = await proxy.post(SMALL, { headers });
      return answered;
    };
    for (const form of ["whole", ...(isHeld ? ["trailers"] : [])]) {
      const isHttp2 = form === "trailers";
      const allowed = await ask(`allow ${form}`, isHttp2);
      assert.ok(Buffer.from(allowed.body).equals(whole(filled("allow", BYTES))), `${form}: ${allowed.body.length}`);
      const redacted = await ask(`redact ${form}`, isHttp2);
      assert.ok(redacted.body === masked(String(whole(filled("redact", BYTES)))), `${form}: ${redacted.body.length}`);
      const denied = await ask(`deny ${form}`, isHttp2);
      assert.equal(denied.status, isHeld ? 403 : 200);
      assert.equal(JSON.parse(denied.body).error.code, "guardrail_denied");
    }
    for (const form of ["events", ...(isHeld ? ["events-trailers"] : [])]) {
      const allowed = readAnswer((await ask(`allow ${form}`, true)).body);
      assert.deepEqual([allowed.text === filled("allow", BYTES), allowed.ends], [true, ["stop"]]);
      const redacted = readAnswer((await ask(`redact ${form}`, true)).body);
      assert.ok(redacted.text === masked(filled("redact", BYTES)));
      const { body } = await ask(`deny ${form}`, true);
      assert.ok(!body.includes(ADDRESS));
      assert.deepEqual([readAnswer(body).code, body.endsWith("data: [DONE]\n\n")], ["guardrail_denied", true]);
    }
    const peak = service.peakBytes();
    t.diagnostic(`peak ${peak >> 20} MiB`);
    assert.ok(peak < MAX_RESIDENT_BYTES, `it took ${peak >> 20} MiB`);
    await expectedAll(proxy);
  });
}
