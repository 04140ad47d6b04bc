// tier: long
/**
 * An inspector behind a real Envoy under faults: slow, stopped, out of memory, reloaded, killed, restarted. With a
 * fail-closed filter no uninspected byte of a request or response passes; with a fail-open one the documented bytes
 * pass, which in duplex are none once a piece of a body was sent. No stream is stuck. Source: ext-proc reference, A.2,
 * A.3, A.8.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { peer } from "../../peers/index.ts";
import { startAnalyzer } from "../../server/detectors/remote/analyzer.ts";
import { freePort } from "../support/ports.ts";
import { eventually, type Owner, within } from "../support/wait.ts";
import { type Posting, postPieces, postWhole, recordingUpstream, startProxy } from "./support/envoy.ts";
import { startInspector } from "./support/inspecting.ts";
import { chat } from "./support/peer.ts";

const envoy = await peer("envoy");

const IN_FLIGHT = 20;
const RELOADED = 200;
/** Timeout of the filter in milliseconds; a streamed filter waits as long for an answer. */
const MESSAGE_TIMEOUT_MS = 2_000;
/** Head and body of each request and of the one response, each a message of its stream. */
const MESSAGES = 2 * IN_FLIGHT + 4;
const HELD_BYTES = 2_000_000;
const ADDRESS = /\w+@example\.com/;

const SIDES = [
  { name: "streamed", modes: { request_body_mode: "streamed", inspect_responses: "streamed" } },
  { name: "duplex", modes: { request_body_mode: "duplex", inspect_responses: "duplex" } },
] as const;

const guardrails = (analyzer: string, action: "redact" | "deny") => ({
  guardrails: {
    detectors: [
      { name: "own", type: "pii", prefilter: "pure", entities: ["EMAIL_ADDRESS"], apply_to: ["user", "output"] },
      { name: "far", type: "remote", apply_to: ["system"], timeout: "60s", remote: { endpoint: analyzer } },
    ],
    rules: [{ name: "mails", action }],
  },
});

async function setUp(t: Owner, modes: (typeof SIDES)[number]["modes"]) {
  const inspector = `127.0.0.1:${await freePort()}`;
  const analyzer = await startAnalyzer(t);
  const env = { GATEWAY_MAX_BUFFERED_BYTES: String(HELD_BYTES) };
  const start = () =>
    startInspector(t, guardrails(analyzer.url, "redact"), { address: inspector, extproc: modes, env });
  const fronted = async (allowsFailure: boolean) => {
    const upstream = await recordingUpstream(t);
    const options = { inspector, upstream: upstream.address, modes, allowsFailure, keepalive: "1s" };
    const proxy = await startProxy(t, envoy.path, { ...options, messageTimeout: `${MESSAGE_TIMEOUT_MS / 1_000}s` });
    return { ...proxy, upstream, allowsFailure };
  };
  const [gateway, closed, open] = await Promise.all([start(), fronted(false), fronted(true)]);
  const both = [closed, open];
  return { gateway, closed, open, both, analyzer, start };
}

type Fronted = Awaited<ReturnType<typeof setUp>>["closed"];

/** A text that the remote detector reads too. */
const farChat = (content: string): string =>
  JSON.stringify({
    model: "m",
    messages: [
      { role: "system", content: "be brief" },
      { role: "user", content },
    ],
  });

/** Messages by direction, over all streams. */
async function messages({ counters }: Fronted): Promise<{ readonly sent: number; readonly received: number }> {
  const counted = await counters();
  return { sent: counted.get("stream_msgs_sent") ?? 0, received: counted.get("stream_msgs_received") ?? 0 };
}

const isInspected = async ({ url, upstream }: Fronted, tag: string): Promise<boolean> => {
  const { status } = await postWhole(url, chat(`${tag} ada@example.com`));
  return status === 200 && upstream.seen().endsWith(chat(`${tag} <EMAIL_ADDRESS>`));
};

/** Returns NaN if there is no metric of that name. */
async function gaugeAt(metricsUrl: string | undefined, name: string): Promise<number> {
  const text = await (await fetch(metricsUrl ?? "")).text();
  return Number(new RegExp(`^gateway_${name} (\\d+)$`, "m").exec(text)?.[1]);
}

const answers = (postings: readonly Posting[]) =>
  Promise.all(postings.map(({ answered }) => within("an answer", answered)));

/** Starts requests without their last piece. */
function begun(url: string, count: number, text: string): readonly Posting[] {
  const postings = Array.from({ length: count }, () => postPieces(url));
  for (const posting of postings) posting.write(text.slice(0, -10));
  return postings;
}

for (const { name, modes } of SIDES) {
  const isDuplex = name === "duplex";

  describe(`${name} in both directions`, { skip: envoy.missing }, () => {
    test("an inspector that is slow, stopped, out of memory, reloaded, killed and restarted fails as configured", async (t) => {
      const { gateway, closed, open, both, analyzer, start } = await setUp(t, modes);
      let { metricsUrl } = gateway;
      const streams = (): Promise<number> => gaugeAt(metricsUrl, "inspector_streams");
      for (const one of both) await eventually("an inspected request", () => isInspected(one, "first"));
      /** Waits longer than the timeout of a streamed filter. */
      const waited = (): Promise<boolean> => {
        const began = performance.now();
        return eventually("the filter's time", () => performance.now() - began > 1.5 * MESSAGE_TIMEOUT_MS);
      };
      /** Waits past both timeouts and returns both answers with the result of `then`. */
      const outlasting = async (tag: string, then: (postings: readonly Posting[]) => void) => {
        const postings = both.map(({ url }) => postPieces(url));
        for (const posting of postings) posting.end(farChat(`${tag} ada@example.com`));
        await waited();
        if (!isDuplex)
          assert.deepEqual(
            (await answers(postings)).map(({ status }) => status),
            [504, 200],
          );
        then(postings);
        const statuses = (await answers(postings)).map(({ status }) => status);
        assert.equal(closed.upstream.seen().includes(`${tag} ada`), false);
        // Its timer expires, and the original request is forwarded.
        assert.equal(open.upstream.seen().includes(`${tag} ada`), !isDuplex);
        return statuses;
      };

      await t.test("slow: the filter times out", async () => {
        let go = (): void => undefined;
        const held = new Promise<readonly unknown[]>((resolve) => {
          go = () => resolve([]);
        });
        analyzer.answer = () => held;
        const statuses = await outlasting("slow", () => go());
        analyzer.answer = () => [];
        assert.deepEqual(statuses, isDuplex ? [200, 200] : [504, 200]);
      });

      await t.test("stopped: a duplex filter has no timeout, and learns from its connection", async () => {
        gateway.signal("SIGSTOP");
        try {
          const left = isDuplex ? postPieces(closed.url) : undefined;
          left?.end(chat("left ada@example.com"));
          const statuses = await outlasting("stopped", () => left?.leave());
          assert.deepEqual(statuses, isDuplex ? [500, 500] : [504, 200]);
        } finally {
          gateway.signal("SIGCONT");
        }
        for (const one of both) await eventually("inspection again", () => isInspected(one, "continued"));
        await eventually("no stuck stream", async () => (await streams()) === 0);
      });

      await t.test("out of memory: requests are refused, and not as a failure", async () => {
        for (const one of both) {
          const large = await postWhole(one.url, chat(`large ada@example.com ${"x".repeat(HELD_BYTES)}`));
          assert.deepEqual([large.status, JSON.parse(large.body).error.code], [503, "overloaded"]);
          assert.ok(!one.upstream.seen().includes("large ada"));
          assert.ok(await isInspected(one, "small"));
        }
      });

      await t.test(`reloaded under ${RELOADED} streams: each keeps the rules it began with`, async () => {
        const text = chat("reloaded ada@example.com");
        const postings = begun(closed.url, RELOADED, text);
        await eventually("streams under way", async () => (await streams()) >= RELOADED);
        const from = gateway.log().length;
        await gateway.files.writeDeployment({ version: 2, ...guardrails(analyzer.url, "deny") });
        gateway.signal("SIGHUP");
        await gateway.logged("reloaded", from);
        for (const posting of postings) posting.end(text.slice(-10));
        assert.deepEqual(new Set((await answers(postings)).map(({ status }) => status)), new Set([200]));
        assert.equal(closed.upstream.seen().split("reloaded <EMAIL_ADDRESS>").length - 1, RELOADED);
        assert.ok(!closed.upstream.seen().includes("reloaded ada"));
        assert.equal((await postWhole(closed.url, text)).status, 403);
        await eventually("no stuck stream", async () => (await streams()) === 0);
      });

      await t.test("a gateway is killed with requests and responses in flight, and restarted", async () => {
        const text = chat(`killed ada@example.com ${"x".repeat(20_000)}`);
        const before = await Promise.all(both.map(messages));
        const requests = both.map(({ url }) => begun(url, IN_FLIGHT, text));
        const asking = both.map(({ url }) => postPieces(url, { "x-held": "1" }));
        for (const posting of asking) posting.end(chat("hello"));
        for (const [at, one] of both.entries()) {
          await eventually("all of them under way, and what is not waited for answered", async () => {
            const now = await messages(one);
            const [sent, received] = [now.sent - (before[at]?.sent ?? 0), now.received - (before[at]?.received ?? 0)];
            return one.upstream.holds() > 0 && sent >= MESSAGES && (isDuplex || sent === received);
          });
        }
        gateway.signal("SIGKILL");
        await gateway.ended;
        for (const postings of requests) for (const posting of postings) posting.end(text.slice(-10));
        for (const { upstream } of both) upstream.release();
        for (const [at, { allowsFailure, upstream }] of both.entries()) {
          for (const { status } of await answers(requests[at] ?? [])) {
            const isLetPast = allowsFailure && !isDuplex && status === 200;
            assert.ok(isLetPast || status === 0 || status >= 500, `status ${status}`);
          }
          // Its first part was held by the inspector and lost with it.
          assert.ok(!upstream.seen().includes("killed ada"), "what was held went on");
          const [{ body } = { body: "" }] = await answers(asking.slice(at, at + 1));
          assert.ok(!body.includes("ada@"), body);
          if (!allowsFailure || isDuplex) assert.doesNotMatch(body, ADDRESS);
        }
        // A duplex filter that began to send a request's body cannot continue it without the inspector.
        const [refused, other] = await Promise.all(both.map(({ url }) => postWhole(url, chat("down ada@"))));
        assert.equal(refused?.status, 500);
        assert.ok(other?.status === 200 || (isDuplex && other?.status === 500), String(other?.status));
        assert.equal(closed.upstream.seen().includes("down ada@"), false);
        assert.equal(open.upstream.seen().includes("down ada@"), other?.status === 200);
        const bodiless = await Promise.all(both.map(({ url }) => fetch(`${url}/v1/models`)));
        assert.deepEqual(
          bodiless.map(({ status }) => status),
          [500, 200],
        );
        const again = await start();
        for (const one of both) await eventually("inspection again", () => isInspected(one, "again"), 60_000);
        metricsUrl = again.metricsUrl;
        await eventually("no stuck stream", async () => (await streams()) === 0);
      });

      const counted = await Promise.all(both.map(({ counters }) => counters()));
      assert.deepEqual(
        counted.map((counters) => counters.get("spurious_msgs_received")),
        [0, 0],
      );
      assert.equal(counted[0]?.get("failure_mode_allowed"), 0);
      assert.ok((counted[1]?.get("failure_mode_allowed") ?? 0) > 0);
      assert.doesNotMatch(closed.upstream.seen(), ADDRESS);

      await t.test("its proxy is killed: nothing is kept for it", async () => {
        begun(closed.url, IN_FLIGHT, chat(`gone ada@example.com ${"x".repeat(20_000)}`));
        await eventually("streams under way", async () => (await streams()) >= IN_FLIGHT);
        await eventually("bytes held", async () => (await gaugeAt(metricsUrl, "inspector_held_bytes")) > 0);
        await closed.kill();
        await eventually("no stuck stream", async () => (await streams()) === 0);
        await eventually("nothing held", async () => (await gaugeAt(metricsUrl, "inspector_held_bytes")) === 0);
        assert.ok(await isInspected(open, "beside"));
        assert.doesNotMatch(closed.upstream.seen(), ADDRESS);
      });
    });
  });
}
