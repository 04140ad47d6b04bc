/**
 * Responses of each size and outcome through a real Envoy: allowed ones arrive unchanged, redacted ones rewritten, and
 * none of a denied one; a duplex filter answers a denial with its status, and a streamed one reports it after the sent
 * status. Source: ext-proc reference, A.7, C.4.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { nullLog } from "../../../../src/base/index.ts";
import type { GuardrailRecord } from "../../../../src/server/core/guardrails/index.ts";
import {
  beginInspection,
  type InspectionOptions,
  type Inspector,
  openInspector,
} from "../../../../src/server/inspector/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../../../src/server/memory/index.ts";
import { type Peer, type PeerName, peer } from "../../../peers/index.ts";
import { countedMetrics, guardOf } from "../../dataplane/support/guards.ts";
import { type Answering, openAnswering } from "../answering.ts";
import { type Envoy, type FilterModes, startEnvoy } from "../envoy.ts";
import { ADDRESS, answersOf, CARD, filled, readAnswer, whole } from "./model-answers.ts";

const SIZES = [100, 1_500_000];
const ANSWERS = answersOf(SIZES);

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
    { name: "no-mail", action: "deny", when: "'pii/EMAIL_ADDRESS' in labels", message: "No addresses." },
    { name: "mask", action: "redact", select: "a.label == 'CREDIT_CARD'", operator: "replace" },
  ],
  response: { max_body_bytes: 32 << 20 },
});

const GUARDRAILS = { of: () => GUARD } as unknown as ReturnType<InspectionOptions["guardrails"]>;

export const RESPONSE_MODES: readonly FilterModes[] = [
  { request: "override", response: "override" },
  { request: "streamed", response: "streamed" },
  { request: "streamed", response: "buffered" },
  { request: "streamed", response: "duplex" },
  { request: "duplex", response: "streamed" },
  { request: "duplex", response: "duplex" },
];

async function opened(
  modes: FilterModes,
  ports: { path: string; upstream: Answering },
  counted: string[],
  records: GuardrailRecord[],
): Promise<{ inspector: Inspector; proxy: Envoy }> {
  const { metrics } = countedMetrics();
  const sinks = { trail: { record: (record: GuardrailRecord) => void records.push(record) }, metrics, log: nullLog };
  const inspector = await openInspector({
    address: "127.0.0.1:0",
    mode: modes.request === "duplex" ? "duplex" : "streamed",
    responses: modes.response === "duplex" ? "duplex" : "streamed",
    maxMessageBytes: 32 << 20,
    account: createAdmission({ ...DEFAULT_ADMISSION, maxBufferedBytes: 512 << 20 }),
    maxStreams: 100,
    maxQuietMs: 60_000,
    maxSilentMs: 60_000,
    begin: () => ({
      maxBodyBytes: 32 << 20,
      ...beginInspection({ guardrails: () => GUARDRAILS, sinks, inspectsResponses: true }),
    }),
    observer: { count: (what) => void counted.push(what), countInspection: () => undefined },
    log: nullLog,
  });
  const { port: upstream, port2: upstream2 } = ports.upstream;
  const proxy = await startEnvoy(ports.path, modes, { inspector: inspector.port, upstream, upstream2 });
  return { inspector, proxy };
}

const REQUEST_BODY = Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] }));

/** Registers the tests of one version in these modes. */
export async function describeResponses(name: PeerName, all: readonly FilterModes[]): Promise<void> {
  const envoy = await peer(name);
  for (const modes of all) describeModes(name, envoy, modes);
  refusesOverride(name, envoy);
}

function describeModes(name: PeerName, envoy: Peer, modes: FilterModes): void {
  describe(`${name}, requests ${modes.request}, responses ${modes.response}`, { skip: envoy.missing }, () => {
    let upstream: Answering;
    let inspector: Inspector;
    let proxy: Envoy;
    const counted: string[] = [];
    const records: GuardrailRecord[] = [];

    before(async () => {
      upstream = await openAnswering();
      for (const [key, answer] of ANSWERS) upstream.answers.set(key, answer);
      ({ inspector, proxy } = await opened(modes, { path: envoy.path, upstream }, counted, records));
    });
    after(async () => {
      await proxy?.stop();
      await inspector?.close(0);
      await upstream?.close();
    });

    const ask = (answer: string, isHttp2: boolean): ReturnType<Envoy["post"]> =>
      proxy.post(REQUEST_BODY, {
        headers: { "x-answer": answer, "accept-encoding": "gzip", ...(isHttp2 && { "x-http2": "1" }) },
      });
    const isWithinBuffer = (bytes: number): boolean => modes.response !== "buffered" || bytes < 1_000_000;

    for (const isHttp2 of [false, true]) {
      const over = isHttp2 ? "HTTP/2" : "HTTP/1.1";
      test(`a whole response over ${over}`, async () => {
        for (const bytes of SIZES.filter(isWithinBuffer)) {
          for (const form of ["whole", "chunked", "trailers"]) {
            if (form === "trailers" && isHttp2 && modes.response !== "duplex" && modes.response !== "buffered")
              continue;
            const allowed = await ask(`allow ${form} ${bytes}`, isHttp2);
            assert.equal(allowed.status, 200);
            assert.ok(Buffer.from(allowed.body).equals(whole(filled("allow", bytes))), `${form} ${bytes}`);

            const redacted = await ask(`redact ${form} ${bytes}`, isHttp2);
            assert.deepEqual(
              [
                redacted.status,
                redacted.body === String(whole(filled("redact", bytes))).replace(CARD, "<CREDIT_CARD>"),
              ],
              [200, true],
              `${form} ${bytes}`,
            );
            assert.equal(redacted.headers.etag, undefined);

            const denied = await ask(`deny ${form} ${bytes}`, isHttp2);
            assert.equal(JSON.parse(denied.body).error.code, "guardrail_denied");
            // In streamed mode the status has been sent, unless the whole body was there by then.
            const isHeld = modes.response === "duplex" || modes.response === "buffered";
            assert.ok(denied.status === 403 || (!isHeld && denied.status === 200), String(denied.status));
            if (denied.status === 403) assert.equal(denied.headers["x-should-retry"], "false");
          }
        }
      });

      test(`an event stream over ${over}`, async () => {
        for (const bytes of SIZES.filter(isWithinBuffer)) {
          for (const form of ["events", ...(modes.response === "duplex" ? ["events-trailers"] : [])]) {
            const allowed = readAnswer((await ask(`allow ${form} ${bytes}`, isHttp2)).body);
            assert.deepEqual([allowed.text === filled("allow", bytes), allowed.ends], [true, ["stop"]]);
            const redacted = readAnswer((await ask(`redact ${form} ${bytes}`, isHttp2)).body);
            assert.equal(redacted.text, filled("redact", bytes).replace(CARD, "<CREDIT_CARD>"));
            const denied = await ask(`deny ${form} ${bytes}`, isHttp2);
            assert.ok(!denied.body.includes(ADDRESS));
            if (denied.status === 403) assert.equal(JSON.parse(denied.body).error.code, "guardrail_denied");
            else
              assert.deepEqual(
                [readAnswer(denied.body).code, denied.body.endsWith("data: [DONE]\n\n")],
                ["guardrail_denied", true],
              );
          }
        }
      });
    }

    test("a response without a body, with an unrequested encoding, and of a failed upstream", async () => {
      assert.equal((await ask("none", false)).status, 204);
      const packed = await ask("redact gzip 1000", false);
      assert.equal(packed.headers["content-encoding"], undefined);
      assert.equal(packed.body, String(whole(filled("redact", 1_000))).replace(CARD, "<CREDIT_CARD>"));
      const failed = await ask("redact error 100", true);
      assert.deepEqual(
        [failed.status, failed.body.includes(CARD), failed.body.includes("<CREDIT_CARD>")],
        [400, false, true],
      );
      assert.equal(JSON.parse((await ask("deny error 100", true)).body).error.code, "guardrail_denied");
    });

    test("Envoy expected every one of our messages, and the trail names the callers", async () => {
      const counters = await proxy.counters();
      assert.ok((counters.get("streams_started") ?? 0) > 10, JSON.stringify([...counters]));
      for (const name of [
        "spurious_msgs_received",
        "failure_mode_allowed",
        "message_timeouts",
        "streams_failed",
        "rejected_header_mutations",
      ]) {
        assert.equal(counters.get(name) ?? 0, 0, `${name}: ${JSON.stringify([...counters])}`);
      }
      assert.deepEqual(counted, []);
      assert.equal(inspector.heldBytes(), 0);
      const directions = new Set(records.map(({ data }) => `${data["direction"]} ${data["hop"]} ${data["model"]}`));
      assert.deepEqual([...directions], ["response inspect m"]);
      assert.ok(!JSON.stringify(records).includes("4111") && !JSON.stringify(records).includes("ada@"));
    });

    test("trailers that cannot follow in this mode: nothing unproven is forwarded", async () => {
      if (modes.response === "duplex" || modes.response === "buffered") return;
      for (const verdict of ["allow", "redact", "deny"]) {
        // Cut off, or refused if no header had been sent.
        const answer = await ask(`${verdict} trailers 100`, true).catch(() => undefined);
        assert.ok(answer === undefined || answer.status === 501, JSON.stringify(answer));
      }
      assert.ok(counted.length > 0 && counted.every((what) => what === "response_trailers"), counted.join());
      assert.equal((await proxy.counters()).get("spurious_msgs_received") ?? 0, 0);
    });
  });
}

function refusesOverride(name: PeerName, envoy: Peer): void {
  test(`${name}: an override beside duplex is refused`, { skip: envoy.missing }, async () => {
    const upstream = await openAnswering();
    const counted: string[] = [];
    const { inspector, proxy } = await opened(
      { request: "override", response: "duplex" },
      { path: envoy.path, upstream },
      counted,
      [],
    );
    try {
      assert.equal((await proxy.post(REQUEST_BODY)).status, 500);
      assert.deepEqual([counted, upstream.bodies.length], [["mode_mismatch"], 0]);
    } finally {
      await proxy.stop();
      await inspector.close(0);
      await upstream.close();
    }
  });
}
