/**
 * Requests of each size and outcome through a real Envoy: allowed ones arrive unchanged, redacted ones rewritten,
 * denied ones not at all; and Envoy expects all of our answers. Source: ext-proc reference, C.4.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { GatewayError, nullLog } from "../../../../src/base/index.ts";
import { type Inspector, openInspector, type Verdict } from "../../../../src/server/inspector/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../../../src/server/memory/index.ts";
import { type Peer, type PeerName, peer } from "../../../peers/index.ts";
import { type Envoy, type FilterModes, openUpstream, startEnvoy, type Upstream } from "../envoy.ts";

const SIZES = [0, 100, 1_000, 1_500_000];

const bodyOf = (bytes: number, text: string): Buffer => {
  if (bytes === 0) return Buffer.alloc(0);
  const shell = JSON.stringify({ model: "m", messages: [{ role: "user", content: text }] });
  return Buffer.from(shell.replace(text, text + "x".repeat(bytes - shell.length)));
};

/** The word in the body decides its outcome. */
async function inspect({ body }: { readonly body: Buffer }): Promise<Verdict> {
  if (body.includes("deny-me")) return { kind: "refuse", error: new GatewayError("guardrail_denied", "Not here.") };
  return body.includes("redact-me")
    ? { kind: "rewrite", body: Buffer.from(String(body).replace("redact-me", "[REDACTED]")) }
    : { kind: "allow" };
}

const MODES = ["override", "streamed", "duplex"] as const satisfies readonly FilterModes["request"][];

/** Registers the tests of one version in each mode. */
export async function describeRequests(name: PeerName): Promise<void> {
  const envoy = await peer(name);
  for (const mode of MODES) describeMode(name, envoy, mode);
}

function describeMode(name: PeerName, envoy: Peer, mode: FilterModes["request"]): void {
  describe(`${name}, a filter in mode ${mode}`, { skip: envoy.missing }, () => {
    let inspector: Inspector;
    let upstream: Upstream;
    let proxy: Envoy;
    const counted: string[] = [];

    before(async () => {
      inspector = await openInspector({
        address: "127.0.0.1:0",
        mode: mode === "duplex" ? "duplex" : "streamed",
        maxMessageBytes: 4 << 20,
        account: createAdmission({ ...DEFAULT_ADMISSION, maxBufferedBytes: 64 << 20 }),
        maxStreams: 100,
        maxQuietMs: 60_000,
        maxSilentMs: 60_000,
        begin: () => ({ maxBodyBytes: 2_000_000, inspect }),
        observer: { count: (what) => void counted.push(what), countInspection: () => undefined },
        log: nullLog,
      });
      upstream = await openUpstream();
      proxy = await startEnvoy(
        envoy.path,
        { request: mode, response: "off" },
        {
          inspector: inspector.port,
          upstream: upstream.port,
        },
      );
    });

    after(async () => {
      await proxy?.stop();
      await inspector?.close(0);
      await upstream?.close();
    });

    for (const bytes of SIZES) {
      for (const isChunked of [false, true]) {
        test(`${bytes} bytes${isChunked ? ", chunked" : ""}`, async () => {
          const seen = upstream.bodies.length;
          const allowed = bodyOf(bytes, "hello");
          assert.equal((await proxy.post(allowed, { isChunked })).status, 200);
          assert.ok(upstream.bodies[seen]?.equals(allowed), `${upstream.bodies[seen]?.length} bytes arrived`);
          if (bytes === 0) return;

          const redacted = bodyOf(bytes, "redact-me");
          assert.equal((await proxy.post(redacted, { isChunked })).status, 200);
          assert.equal(String(upstream.bodies[seen + 1]), String(redacted).replace("redact-me", "[REDACTED]"));

          const denied = await proxy.post(bodyOf(bytes, "deny-me"), { isChunked });
          assert.equal(denied.status, 403);
          assert.equal(JSON.parse(denied.body).error.code, "guardrail_denied");
          assert.equal(denied.headers["content-type"], "application/json");
          assert.equal(upstream.bodies.length, seen + 2);
        });
      }
    }

    test("a body above the limit is refused", async () => {
      const seen = upstream.bodies.length;
      assert.equal((await proxy.post(bodyOf(2_000_001, "hello"))).status, 413);
      assert.equal(upstream.bodies.length, seen);
    });

    for (const bytes of [100, 1_500_000]) {
      test(`${bytes} bytes that end with trailers`, async () => {
        const seen = upstream.bodies.length;
        const [allowed, redacted] = [bodyOf(bytes, "hello"), bodyOf(bytes, "redact-me")];
        const answered = [];
        for (const body of [allowed, redacted, bodyOf(bytes, "deny-me")])
          answered.push(await proxy.postWithTrailers(body));
        const statuses = answered.map(({ status }) => status);
        if (mode === "duplex") {
          assert.deepEqual(statuses, [200, 200, 403]);
          assert.ok(upstream.bodies[seen]?.equals(allowed));
          assert.equal(String(upstream.bodies[seen + 1]), String(redacted).replace("redact-me", "[REDACTED]"));
          assert.equal(upstream.bodies.length, seen + 2);
          return;
        }
        assert.deepEqual(statuses, [501, 501, 501]);
        for (const { body } of answered) assert.equal(JSON.parse(body).error.code, "trailers_not_inspected");
        assert.equal(upstream.bodies.length, seen);
      });
    }

    test("Envoy expected every one of our messages", async () => {
      const counters = await proxy.counters();
      assert.ok((counters.get("streams_started") ?? 0) > 10, JSON.stringify([...counters]));
      for (const name of ["spurious_msgs_received", "failure_mode_allowed", "message_timeouts", "streams_failed"]) {
        assert.equal(counters.get(name) ?? 0, 0, `${name}: ${JSON.stringify([...counters])}`);
      }
      assert.deepEqual(counted, []);
    });
  });
}
