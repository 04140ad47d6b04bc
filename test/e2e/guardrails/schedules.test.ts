/**
 * Detector schedules through a running gateway: beside the upstream call, and behind the request. All of them judge the
 * texts of a session. Source: specification document 3 (`schedule`, `overlap`, `async`).
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { recordsIn } from "../admin/support/trail.ts";
import { chat, mint, say, startGoverned } from "../governance/support/governed.ts";
import { idle, sumOf } from "../support/metrics.ts";
import { eventually } from "../support/wait.ts";

const file = { after };
const CARD = "4111 1111 1111 1111";
const MAIL = "ada.lovelace@example.com";
const SSN = "536-90-4399";
/** Longer than is read synchronously, so that the detector answers during the call. */
const LONG = "an order of nothing special, called twelve. ".repeat(400);

const pii = (name: string, entity: string, more: object = {}) => ({
  type: "pii",
  name,
  prefilter: "pure",
  entities: [entity],
  ...more,
});

const { node, gateway } = await startGoverned(file, {
  deployment: {
    budgets: [{ name: "day", limit: 1_000_000 }],
    profiles: [{ name: "team", budget: "day" }],
    guardrails: {
      detectors: [
        pii("now", "EMAIL_ADDRESS"),
        pii("beside", "CREDIT_CARD", { schedule: "overlap" }),
        pii("behind", "US_SSN", { schedule: "async" }),
      ],
      rules: [
        { name: "no-cards", action: "deny", when: '"pii/CREDIT_CARD" in labels', requires: ["beside"] },
        { name: "no-ssn", action: "deny", when: '"pii/US_SSN" in labels' },
        { name: "mask-mail", action: "redact", select: 'a.label == "EMAIL_ADDRESS"' },
      ],
    },
  },
});
const key = await mint(node, "plain", { profile: "team" });
const chatWith = (content: string, more: object = {}) => chat({ messages: [{ role: "user", content }], ...more });

for (const stream of [false, true]) {
  for (const [length, text] of [
    ["short", ""],
    ["long", LONG],
  ] as const) {
    test(`a card found beside the call is denied: ${length} text, stream: ${stream}`, async () => {
      const body = chatWith(`${text} write to ${MAIL}, pay with ${CARD} ${stream}`, { stream });
      const answer = await say(gateway, { key, body });
      assert.deepEqual([answer.status, answer.code], [403, "guardrail_denied"], answer.text);
      assert.equal(answer.headers.get("x-gateway-guardrails"), "mask-mail=redact, no-cards=deny");
      const id = answer.headers.get("x-gateway-request-id");
      const records = await eventually("both records", () => {
        const own = recordsIn(node.output()).filter(({ data }) => data["request"] === id);
        return own.length === 2 ? own : undefined;
      });
      assert.deepEqual(
        records.map(({ event, data }) => [event, data["decision"], data["rule"]]),
        [
          ["guardrail.decision", "allow", "mask-mail"],
          ["guardrail.decision", "deny", "no-cards"],
        ],
      );
    });

    test(`a text without a card is answered with its rewritten parts: ${length} text, stream: ${stream}`, async () => {
      const answer = await say(gateway, { key, body: chatWith(`${text} write to ${MAIL} ${stream}`, { stream }) });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.headers.get("x-gateway-guardrails"), "mask-mail=redact");
      assert.ok(stream ? answer.text.includes("[DONE]") : answer.text.includes('"choices"'), answer.text);
    });
  }
}

test("a finding made after the answer refuses the next request that repeats the text", async () => {
  const body = chatWith(`my number is ${SSN}`);
  assert.equal((await say(gateway, { key, body })).status, 200);
  const denied = await eventually("the finding to count", async () => {
    const answer = await say(gateway, { key, body });
    return answer.status === 403 ? answer : undefined;
  });
  assert.equal(denied.headers.get("x-gateway-guardrails"), "no-ssn=deny");
});

test("denials are counted, and no matched text appears in logs or metrics", async () => {
  const series = await idle(gateway);
  assert.equal(sumOf(series, "gateway_guardrail_decisions_total", { rule: "no-cards", action: "deny" }), 4);
  const all = node.output() + (await (await fetch(String(gateway.metricsUrl))).text());
  for (const canary of [CARD, CARD.replaceAll(" ", ""), MAIL, SSN]) assert.ok(!all.includes(canary), canary);
});
