/** A text that takes long to inspect delays only its own caller. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { chat, mint, say, startGoverned } from "../governance/support/governed.ts";
import { idle, sumOf } from "../support/metrics.ts";

const file = { after };
const CARD = "4111 1111 1111 1111";
const MIB = 1 << 20;

const { node, gateway } = await startGoverned(file, {
  deployment: {
    profiles: [{ name: "exempt", guardrails: { detectors: [] } }],
    guardrails: {
      cache_entries: 0,
      detectors: [{ type: "pii", prefilter: "pure", on_error: "fail_open" }],
      rules: [{ name: "mask-cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"' }],
    },
  },
});
const key = await mint(node, "guarded");
const exempt = await mint(node, "exempt", { profile: "exempt" });
const chatWith = (content: string) => chat({ messages: [{ role: "user", content }] });

test("while a text of 8 MiB is inspected, callers with short texts and exempt callers are answered", async () => {
  const long = `${"an order of nothing special, called 12-34. ".repeat((8 * MIB) / 43)}${CARD}`;
  await Promise.all([
    say(gateway, { key }),
    say(gateway, { key: exempt }),
    say(gateway, { key, body: chatWith("x ".repeat(4_000)) }),
  ]);
  let isRead = false;
  const began = performance.now();
  const reading = say(gateway, { key, body: chatWith(long) }).finally(() => {
    isRead = true;
  });
  const waited: number[] = [];
  while (!isRead) {
    for (const caller of [key, exempt]) {
      const startedAt = performance.now();
      const { status, text } = await say(gateway, { key: caller, body: chatWith(`my card is ${CARD}`) });
      assert.equal(status, 200, text);
      waited.push(performance.now() - startedAt);
    }
  }
  const { status, headers, text } = await reading;
  const took = performance.now() - began;
  assert.deepEqual([status, headers.get("x-gateway-guardrails")], [200, "mask-cards=redact"], text);
  // How many there are depends on the machine. If they waited for the long text, there would be no more than one.
  assert.ok(waited.length >= 4, `${waited.length} others in ${took} ms`);
  const most = Math.max(...waited);
  assert.ok(most < took / 3, `one of the others waited ${most} ms of ${took} ms`);
  const metrics = await idle(gateway);
  assert.ok(sumOf(metrics, "gateway_detector_pool_busy_seconds_total") > 0);
  assert.equal(sumOf(metrics, "gateway_detector_pool_queue_units"), 0);
  assert.equal(sumOf(metrics, "gateway_detector_pool_restarts_total"), 0);
});

test("a request whose client waits only a millisecond is refused, and nothing uninspected is forwarded", async () => {
  const long = `${"an order of nothing special. ".repeat((4 * MIB) / 29)}${CARD}`;
  const { status, code } = await say(gateway, {
    key,
    body: chatWith(long),
    headers: { "x-stainless-timeout": "0.001" },
  });
  assert.deepEqual([status, code], [503, "guardrail_error"]);
});

test("a message with more findings than the limit is refused with the remedy", async () => {
  const { status, code, text } = await say(gateway, { key, body: chatWith(`${CARD}, `.repeat(21_000)) });
  assert.deepEqual([status, code], [413, "body_too_large"], text);
  assert.match(text, /pii finds more than 20000 places in the message: send it in parts/);
});
