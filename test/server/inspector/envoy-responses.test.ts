/**
 * A real Envoy asks the service about responses: what is allowed arrives byte for byte, what is redacted as it was rewritten,
 * and of what is denied nothing; a duplex filter answers a denial with its status, and a streamed one says it behind the status
 * that went already. Source: ext-proc reference, A.7, C.4. `INSPECTOR_MATRIX=full` adds
 * 20 MB and all modes of the older one.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { nullLog } from "../../../src/base/index.ts";
import type { GuardrailRecord } from "../../../src/server/core/guardrails/index.ts";
import {
  beginInspecting,
  type InspectingWith,
  type Inspector,
  openInspector,
} from "../../../src/server/inspector/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../../src/server/memory/index.ts";
import { peer } from "../../peers/index.ts";
import { countedMetrics, guardOf } from "../dataplane/support/guards.ts";
import { type Answer, type Answering, openAnswering } from "./answering.ts";
import { type Envoy, type FilterModes, startEnvoy } from "./envoy.ts";

const CARD = "4111 1111 1111 1111";
const ADDRESS = "ada@example.org";
const IS_FULL = process.env["INSPECTOR_MATRIX"] === "full";

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

const SAYS = { allow: "hello", redact: `card ${CARD} it is`, deny: `write to ${ADDRESS} now` } as const;
type Says = keyof typeof SAYS;

const JSON_TYPE = { "content-type": "application/json" };
const filled = (says: Says, bytes: number): string => `${"word ".repeat(Math.ceil(bytes / 5))}${SAYS[says]}`;

function whole(text: string): Buffer {
  const choice = { index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" };
  return Buffer.from(
    JSON.stringify({ id: "c-1", object: "chat.completion", created: 1, model: "m", choices: [choice] }),
  );
}

const cut = (body: Buffer, into: number): readonly Buffer[] => {
  const size = Math.ceil(body.length / into);
  return Array.from({ length: into }, (_, at) => body.subarray(at * size, (at + 1) * size));
};

function events(text: string): readonly Buffer[] {
  const size = Math.max(7, Math.ceil(text.length / 60));
  const deltas = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  );
  const chunk = (content: string | undefined): Buffer => {
    const choice = { index: 0, delta: { content }, finish_reason: content === undefined ? "stop" : null };
    const told = { id: "c-1", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice] };
    return Buffer.from(`data: ${JSON.stringify(told)}\n\n`);
  };
  return [...deltas.map(chunk), chunk(undefined), Buffer.from("data: [DONE]\n\n")];
}

/** By the name that a request asks for it by. */
const ANSWERS = new Map<string, Answer>([["none", { status: 204, headers: {}, chunks: [] }]]);
const SIZES = [100, 1_500_000, ...(IS_FULL ? [20_000_000] : [])];
for (const says of Object.keys(SAYS) as Says[]) {
  for (const bytes of SIZES) {
    const text = filled(says, bytes);
    const body = whole(text);
    const stream = { headers: { "content-type": "text/event-stream" }, chunks: events(text) };
    ANSWERS.set(`${says} whole ${bytes}`, { headers: { ...JSON_TYPE, etag: '"1"' }, chunks: [body] });
    ANSWERS.set(`${says} chunked ${bytes}`, { headers: JSON_TYPE, chunks: cut(body, 5) });
    ANSWERS.set(`${says} trailers ${bytes}`, { headers: JSON_TYPE, chunks: cut(body, 3), trailers: { "x-sum": "1" } });
    ANSWERS.set(`${says} events ${bytes}`, stream);
    ANSWERS.set(`${says} events-trailers ${bytes}`, { ...stream, trailers: { "x-sum": "1" } });
  }
  const packed = gzipSync(whole(filled(says, 1_000)));
  ANSWERS.set(`${says} gzip 1000`, { headers: { ...JSON_TYPE, "content-encoding": "gzip" }, chunks: [packed] });
  ANSWERS.set(`${says} error 100`, { status: 400, headers: JSON_TYPE, chunks: [whole(filled(says, 100))] });
}

/** What a client of a stream hears. */
function heard(body: string): {
  readonly text: string;
  readonly ends: readonly (string | null)[];
  readonly code: unknown;
} {
  const said = body
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice(6)));
  const choices = said.flatMap((event) => event.choices ?? []);
  return {
    text: choices.map(({ delta }) => delta.content ?? "").join(""),
    ends: choices.map((choice) => choice.finish_reason).filter((reason) => reason !== null),
    code: said.map((event) => event.gateway?.code ?? event.error?.code).find((code) => code !== undefined),
  };
}

const GUARDRAILS = { of: () => GUARD } as unknown as ReturnType<InspectingWith["guardrails"]>;

const MODES: readonly FilterModes[] = [
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
  const sinks = { trail: { decided: (record: GuardrailRecord) => void records.push(record) }, metrics, log: nullLog };
  const inspector = await openInspector({
    address: "127.0.0.1:0",
    mode: modes.request === "duplex" ? "duplex" : "streamed",
    responses: modes.response === "duplex" ? "duplex" : "streamed",
    maxMessageBytes: 32 << 20,
    account: createAdmission({ ...DEFAULT_ADMISSION, maxBufferedBytes: 512 << 20 }),
    maxStreams: 100,
    maxQuietMs: 60_000,
    maxSilentMs: 60_000,
    begin: () => ({ maxBodyBytes: 32 << 20, ...beginInspecting({ guardrails: () => GUARDRAILS, sinks }) }),
    observer: { counted: (what) => void counted.push(what), inspected: () => undefined },
    log: nullLog,
  });
  const { port: upstream, port2: upstream2 } = ports.upstream;
  const proxy = await startEnvoy(ports.path, modes, { inspector: inspector.port, upstream, upstream2 });
  return { inspector, proxy };
}

const ASKED = Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] }));

for (const name of ["envoy", "envoy-oldest"] as const) {
  const envoy = await peer(name);
  // The older one is asked in what its successors changed: overrides, and duplex.
  for (const modes of MODES.filter(({ request }) => name === "envoy" || IS_FULL || request !== "streamed")) {
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
        proxy.post(ASKED, {
          headers: { "x-answer": answer, "accept-encoding": "gzip", ...(isHttp2 && { "x-http2": "1" }) },
        });
      const isWithinBuffer = (bytes: number): boolean => modes.response !== "buffered" || bytes < 1_000_000;

      for (const isHttp2 of [false, true]) {
        const over = isHttp2 ? "HTTP/2" : "HTTP/1.1";
        test(`whole, over ${over}`, async () => {
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
              // Of a streamed one the status has left, unless all of the body was there by then.
              const isHeld = modes.response === "duplex" || modes.response === "buffered";
              assert.ok(denied.status === 403 || (!isHeld && denied.status === 200), String(denied.status));
              if (denied.status === 403) assert.equal(denied.headers["x-should-retry"], "false");
            }
          }
        });

        test(`events, over ${over}`, async () => {
          for (const bytes of SIZES.filter(isWithinBuffer)) {
            for (const form of ["events", ...(modes.response === "duplex" ? ["events-trailers"] : [])]) {
              const allowed = heard((await ask(`allow ${form} ${bytes}`, isHttp2)).body);
              assert.deepEqual([allowed.text === filled("allow", bytes), allowed.ends], [true, ["stop"]]);
              const redacted = heard((await ask(`redact ${form} ${bytes}`, isHttp2)).body);
              assert.equal(redacted.text, filled("redact", bytes).replace(CARD, "<CREDIT_CARD>"));
              const denied = await ask(`deny ${form} ${bytes}`, isHttp2);
              assert.ok(!denied.body.includes(ADDRESS));
              if (denied.status === 403) assert.equal(JSON.parse(denied.body).error.code, "guardrail_denied");
              else
                assert.deepEqual(
                  [heard(denied.body).code, denied.body.endsWith("data: [DONE]\n\n")],
                  ["guardrail_denied", true],
                );
            }
          }
        });
      }

      test("without a body, encoded although nobody asked, and of an upstream that failed", async () => {
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

      test("Envoy expected each of our answers, and the trail says whose they were", async () => {
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

      test("trailers where the mode leaves no way behind them: nothing unproven goes on", async () => {
        if (modes.response === "duplex" || modes.response === "buffered") return;
        for (const says of ["allow", "redact", "deny"]) {
          // Cut off, or refused where no header had left.
          const told = await ask(`${says} trailers 100`, true).catch(() => undefined);
          assert.ok(told === undefined || told.status === 501, JSON.stringify(told));
        }
        assert.ok(counted.length > 0 && counted.every((what) => what === "response_trailers"), counted.join());
        assert.equal((await proxy.counters()).get("spurious_msgs_received") ?? 0, 0);
      });
    });
  }

  test(`${name}: an override beside duplex cannot be, and is refused`, { skip: envoy.missing }, async () => {
    const upstream = await openAnswering();
    const counted: string[] = [];
    const { inspector, proxy } = await opened(
      { request: "override", response: "duplex" },
      { path: envoy.path, upstream },
      counted,
      [],
    );
    try {
      assert.equal((await proxy.post(ASKED)).status, 500);
      assert.deepEqual([counted, upstream.bodies.length], [["mode_mismatch"], 0]);
    } finally {
      await proxy.stop();
      await inspector.close(0);
      await upstream.close();
    }
  });
}
