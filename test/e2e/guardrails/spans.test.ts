/** The span of an inspection, as a collector sees it: what guardrails did to a request, never what stood in it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type SeenSpan, startCollector } from "../../server/telemetry/otlp/collector.ts";
import { startWithFiles } from "../support/config.ts";
import { simulated } from "../support/simulated.ts";
import { eventually } from "../support/wait.ts";

const CARD = "4111 1111 1111 1111";
const SSN = "536-90-4399";

test("an inspection is a child of its request, with its outcome and the rules that acted", async (t) => {
  const collector = await startCollector(t);
  const provider = await simulated(t);
  const gateway = await startWithFiles(
    t,
    {
      providers: [{ name: "sim", dialect: "compat", base_url: `${provider.url}/v1`, api_key: "k" }],
      guardrails: {
        detectors: [{ type: "pii", prefilter: "pure", entities: ["CREDIT_CARD", "US_SSN"] }],
        rules: [
          { name: "no numbers", when: '"pii/US_SSN" in labels', action: "deny" },
          { name: "cards", action: "redact" },
        ],
      },
    },
    {},
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "20",
    },
  );
  const said: [content: string, outcome: string, rules: unknown][] = [
    ["nothing to see", "allow", undefined],
    [`pay with ${CARD}`, "redact", ["cards=redact"]],
    [`I am ${SSN}`, "deny", ["no%20numbers=deny"]],
  ];
  for (const [content] of said) {
    const body = JSON.stringify({ model: "sim-chat", messages: [{ role: "user", content }] });
    await (await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", body })).text();
  }
  const inspections = (spans: readonly SeenSpan[]) => spans.filter(({ name }) => name === "guardrails request");
  // A request that is refused has no attempt.
  const spans = await eventually("all spans", () => collector.spans().length >= 8 && collector.spans());
  assert.deepEqual(
    inspections(spans).map(({ kind, attributes, status }) => [kind, attributes, status]),
    said.map(([, outcome, rules]) => [
      1,
      {
        "gateway.guardrails.direction": "request",
        "gateway.guardrails.outcome": outcome,
        "gateway.guardrails.segments": 1,
        ...(rules !== undefined && { "gateway.guardrails.rules": rules }),
      },
      0,
    ]),
  );
  const requests = spans.filter(({ kind }) => kind === 2);
  assert.deepEqual(
    inspections(spans).map(({ parentSpanId }) => parentSpanId),
    requests.map(({ spanId }) => spanId),
  );
  for (const { body } of collector.posted) {
    for (const canary of [CARD, SSN]) assert.ok(!body.includes(canary), body.toString());
  }
});
