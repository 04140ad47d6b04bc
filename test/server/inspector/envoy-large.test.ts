/**
 * Bodies of 20 MB through a real Envoy: byte for byte, rewritten, or not at all, and what the service takes of memory while
 * they pass is bounded. One after the other, and several at once. Runs with `INSPECTOR_MATRIX=full`. Source: ext-proc reference, C.4.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { peer } from "../../peers/index.ts";
import { type FilterModes, openUpstream, startEnvoy } from "./envoy.ts";
import { serveApart } from "./support/in-process.ts";

const envoy = await peer("envoy");
const IS_FULL = process.env["INSPECTOR_MATRIX"] === "full";
const BYTES = 20_000_000;
const MODES: readonly FilterModes["request"][] = ["override", "streamed", "duplex"];
const MISSING = envoy.missing || (IS_FULL ? false : "with INSPECTOR_MATRIX=full: it takes a minute");

/** The body, its text, what its text becomes and the pieces that are judged; beside it the process itself. */
const MOST_RESIDENT_BYTES = 700 << 20;
const AT_ONCE = 8;
/** With several: what may be held in all, what is written and not collected, and the process itself. */
const MOST_AT_ONCE_BYTES = 1_400 << 20;

const CARD = "4111 1111 1111 1111";
const saying = (what: string): Buffer =>
  Buffer.from(
    JSON.stringify({ model: "m", messages: [{ role: "user", content: `${"word ".repeat(BYTES / 5)}${what}` }] }),
  );
const ALLOWED = saying("hello");
const REDACTED = saying(`card ${CARD} it is`);
const DENIED = saying("write to ada@example.org now");

describe("20 MB", { skip: MISSING }, () => {
  for (const mode of MODES) {
    test(`requests, ${mode}`, async (t) => {
      const service = await serveApart(new URL("support/judging.ts", import.meta.url), [
        mode === "duplex" ? "duplex" : "streamed",
      ]);
      t.after(service.stop);
      const upstream = await openUpstream();
      t.after(upstream.close);
      const ports = { inspector: service.port, upstream: upstream.port };
      const proxy = await startEnvoy(envoy.path, { request: mode, response: "off" }, ports);
      t.after(proxy.stop);
      for (const isChunked of [false, true]) {
        upstream.bodies.length = 0;
        assert.equal((await proxy.post(ALLOWED, { isChunked })).status, 200);
        assert.ok(upstream.bodies[0]?.equals(ALLOWED), `${upstream.bodies[0]?.length} bytes arrived`);
        assert.equal((await proxy.post(REDACTED, { isChunked })).status, 200);
        assert.ok(String(upstream.bodies[1]) === String(REDACTED).replace(CARD, "<CREDIT_CARD>"));
        assert.equal((await proxy.post(DENIED, { isChunked })).status, 403);
        assert.equal(upstream.bodies.length, 2);
      }
      const peak = service.peakBytes();
      t.diagnostic(`peak ${peak >> 20} MiB`);
      assert.ok(peak < MOST_RESIDENT_BYTES, `it took ${peak >> 20} MiB`);
      upstream.bodies.length = 0;
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => proxy.post(ALLOWED)));
      for (const { status } of answers) assert.ok(status === 200 || status === 503, String(status));
      assert.ok(upstream.bodies.length > 0 && upstream.bodies.every((body) => body.equals(ALLOWED)));
      const most = service.peakBytes();
      t.diagnostic(`${AT_ONCE} at once: ${upstream.bodies.length} passed, peak ${most >> 20} MiB`);
      assert.ok(most < MOST_AT_ONCE_BYTES, `it took ${most >> 20} MiB`);
      const counters = await proxy.counters();
      for (const name of ["spurious_msgs_received", "failure_mode_allowed", "message_timeouts", "streams_failed"]) {
        assert.equal(counters.get(name) ?? 0, 0, `${name}: ${JSON.stringify([...counters])}`);
      }
    });
  }
});
