/** Spans of inspections and judges, as a collector sees them: what guardrails did to a request, never its text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startAnalyzer } from "../../server/detectors/remote/analyzer.ts";
import { type SeenSpan, startCollector } from "../../server/telemetry/otlp/collector.ts";
import { startWithFiles } from "../support/config.ts";
import { ONE_PROCESS } from "../support/gateway.ts";
import { simulated } from "../support/simulated.ts";
import { eventually } from "../support/wait.ts";

const CARD = "4111 1111 1111 1111";
const SSN = "536-90-4399";

test("an inspection is a child span of its request, with its outcome and the rules that acted", async (t) => {
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
      // With one process spans are in request order.
      ...ONE_PROCESS,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "20",
    },
  );
  const result: [content: string, outcome: string, rules: unknown][] = [
    ["nothing to see", "allow", undefined],
    [`pay with ${CARD}`, "redact", ["cards=redact"]],
    [`I am ${SSN}`, "deny", ["no%20numbers=deny"]],
  ];
  for (const [content] of result) {
    const body = JSON.stringify({ model: "sim-chat", messages: [{ role: "user", content }] });
    await (await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", body })).text();
  }
  const inspections = (spans: readonly SeenSpan[]) => spans.filter(({ name }) => name === "guardrails request");
  // A refused request has no attempt.
  const spans = await eventually("all spans", () => collector.spans().length >= 8 && collector.spans());
  assert.deepEqual(
    inspections(spans).map(({ kind, attributes, status }) => [kind, attributes, status]),
    result.map(([, outcome, rules]) => [
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

test("each call of a judge is a span below its request, and not an attempt of the request", async (t) => {
  const [collector, provider, judge, spare] = await Promise.all([
    startCollector(t),
    simulated(t),
    startAnalyzer(t),
    startAnalyzer(t),
  ]);
  assert.ok(judge && spare);
  judge.answer = (_, response) => void response.writeHead(503).end();
  spare.answer = () => ({
    choices: [{ index: 0, message: { role: "assistant", content: '{"verdicts":[]}' }, finish_reason: "stop" }],
  });
  const compat = (name: string, url: string, more: object = {}) => ({
    name,
    dialect: "compat",
    base_url: `${url}/v1`,
    api_key: "k",
    ...more,
  });
  const llm = { provider: "judges", model: "judge", labels: ["BAD"], prompt: `BAD: what is like ${SSN}.` };
  const gateway = await startWithFiles(
    t,
    {
      providers: [
        compat("sim", provider.url),
        compat("judges", judge.url, {
          models: ["judge"],
          failover: { to: ["spare"] },
          retry: { attempts: 1, backoff: "1ms" },
        }),
        compat("spare", spare.url, { models: ["spare"] }),
      ],
      default_provider: "sim",
      guardrails: {
        detectors: [
          { type: "llm", name: "now", llm },
          { type: "llm", name: "beside", llm: { ...llm, max_tokens: 8 }, schedule: "overlap" },
          { type: "llm", name: "later", llm: { ...llm, max_tokens: 9 }, schedule: "async" },
          { type: "llm", name: "answers", llm: { ...llm, max_tokens: 7 }, apply_to: ["output"] },
        ],
        rules: [{ name: "bad", action: "deny", when: '"injection/BAD" in labels' }],
      },
    },
    {},
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "20",
    },
  );
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const body = JSON.stringify({ model: "sim-chat", messages: [{ role: "user", content: "hello" }] });
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", body, headers });
  assert.deepEqual([answer.status, answer.headers.get("x-gateway-attempts")], [200, "1"], await answer.text());
  const asked = (spans: readonly SeenSpan[]) => spans.filter(({ attributes }) => attributes["gateway.detector"]);
  const spans = await eventually("all spans", () => asked(collector.spans()).length >= 12 && collector.spans());
  const request = spans.find(({ kind }) => kind === 2);
  assert.equal(request?.attributes["gateway.attempts"], 1);
  for (const detector of ["now", "beside", "later", "answers"]) {
    const own = asked(spans).filter(({ attributes }) => attributes["gateway.detector"] === detector);
    assert.deepEqual(
      own.map(({ kind, parentSpanId, traceId, attributes }) => [
        kind,
        parentSpanId,
        traceId,
        attributes["gateway.provider"],
        attributes["gateway.attempt"],
        attributes["http.response.status_code"],
      ]),
      [
        [3, request.spanId, traceId, "judges", 1, 503],
        [3, request.spanId, traceId, "judges", 2, 503],
        [3, request.spanId, traceId, "spare", 3, 200],
      ],
      detector,
    );
  }
  assert.deepEqual(
    spare.received.map(({ headers }) => headers["traceparent"]).toSorted(),
    asked(spans)
      .flatMap(({ attributes, spanId }) =>
        attributes["gateway.provider"] === "spare" ? [`00-${traceId}-${spanId}-01`] : [],
      )
      .toSorted(),
  );
  for (const { body } of collector.posted) assert.ok(!body.includes(SSN), body.toString());
});
