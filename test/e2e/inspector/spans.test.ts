/**
 * Spans of an inspecting node, as a collector sees them: below the trace of the proxied request, with the guardrails'
 * actions and never its text.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startAnalyzer } from "../../server/detectors/remote/analyzer.ts";
import { type SeenSpan, startCollector } from "../../server/telemetry/otlp/collector.ts";
import { eventually } from "../support/wait.ts";
import { startInspector } from "./support/inspecting.ts";
import { answerTo, body, chat, connectFilter, headers, verdictOf } from "./support/peer.ts";

const CARD = "4111 1111 1111 1111";
const SSN = "536-90-4399";
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";

const judge = await startAnalyzer({ after });
judge.answer = () => ({
  choices: [{ index: 0, message: { role: "assistant", content: '{"verdicts":[]}' }, finish_reason: "stop" }],
});
const collector = await startCollector({ after });
const state = await mkdtemp(join(tmpdir(), "gateway-spans-"));
after(() => rm(state, { recursive: true, force: true }));
const GUARDED = {
  providers: [{ name: "judges", dialect: "compat", base_url: `${judge.url}/v1`, api_key: "k", models: ["judge"] }],
  guardrails: {
    detectors: [
      {
        name: "numbers",
        type: "pii",
        prefilter: "pure",
        entities: ["CREDIT_CARD", "US_SSN"],
        apply_to: ["user", "tool_args", "output"],
      },
      {
        name: "judge",
        type: "llm",
        on_error: "fail_closed",
        llm: { provider: "judges", model: "judge", labels: ["BAD"], prompt: "BAD: what is bad." },
      },
    ],
    rules: [
      { name: "no numbers", when: '"pii/US_SSN" in labels', action: "deny" },
      { name: "cards", action: "redact" },
    ],
  },
};
const gateway = await startInspector({ after }, GUARDED, {
  extproc: { request_body_mode: "streamed", inspect_responses: "streamed" },
  changes: { listen: "127.0.0.1:0", cluster: { node_id: "n1", bootstrap: true, data_dir: state } },
  env: {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "20",
  },
});
const filter = connectFilter(gateway.inspector);
after(() => filter.close());

/** Resolves with the spans of one trace once there are `count`. */
const spansIn = (traceId: string, count: number): Promise<readonly SeenSpan[]> =>
  eventually(`${count} spans`, () => {
    const own = collector.spans().filter((span) => span.traceId === traceId);
    return own.length >= count && own;
  });

const traced = (traceId: string) => ({ traceparent: `00-${traceId}-${PARENT}-01` });

const completionOf = (content: string): string =>
  JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] });

test("a request and its response are inspections of one span below the proxy's, with judge calls below it", async () => {
  const stream = filter.openStream();
  stream.send(headers("/v1/chat/completions", traced(TRACE)));
  await stream.nextAnswer();
  stream.send(body(chat(`pay with ${CARD}`)));
  assert.match(verdictOf(await stream.nextAnswer()), /<CREDIT_CARD>/);
  assert.equal(await answerTo(stream, completionOf(`and with ${CARD}`)), completionOf("and with <CREDIT_CARD>"));
  stream.end();
  await stream.ended;

  const spans = await spansIn(TRACE, 4);
  const [root] = spans.filter(({ kind }) => kind === 2);
  assert.ok(root !== undefined);
  assert.deepEqual(
    [root.name, root.parentSpanId, root.status, root.attributes],
    [
      "inspect chat_completions",
      PARENT,
      0,
      {
        "gateway.hop": "inspect",
        "http.request.method": "POST",
        "http.route": "chat_completions",
        "network.peer.address": "127.0.0.1",
      },
    ],
  );
  const inspections = spans.filter(({ kind }) => kind === 1).toSorted((one, other) => (one.name < other.name ? -1 : 1));
  assert.deepEqual(
    inspections.map(({ name, parentSpanId, attributes }) => [name, parentSpanId, attributes]),
    ["request", "response"].map((direction) => [
      `guardrails ${direction}`,
      root.spanId,
      {
        "gateway.guardrails.direction": direction,
        "gateway.guardrails.outcome": "redact",
        "gateway.guardrails.segments": 1,
        "gateway.guardrails.rules": ["cards=redact"],
      },
    ]),
  );
  const [call] = spans.filter(({ kind }) => kind === 3);
  assert.deepEqual(
    [call?.parentSpanId, call?.attributes["gateway.detector"], call?.attributes["gateway.provider"]],
    [root.spanId, "judge", "judges"],
  );
  assert.equal(judge.received.at(-1)?.headers["traceparent"], `00-${TRACE}-${call?.spanId}-01`);
});

test("a refusal is not an error span and a failure is; an invalid method and an invalid trace context are dropped", async () => {
  const denied = TRACE.replace(/^0/, "1");
  const refused = filter.openStream();
  refused.send(headers("/v1/chat/completions", traced(denied)));
  await refused.nextAnswer();
  refused.send(body(chat(`I am ${SSN}`)));
  assert.equal(verdictOf(await refused.nextAnswer()), "guardrail_denied");
  const [root] = (await spansIn(denied, 2)).filter(({ kind }) => kind === 2);
  assert.deepEqual([root?.attributes["gateway.code"], root?.status], ["guardrail_denied", 0]);

  const failed = TRACE.replace(/^0/, "2");
  const { answer } = judge;
  judge.answer = (_, response) => void response.writeHead(400).end();
  const failing = filter.openStream();
  failing.send(headers("/v1/chat/completions", traced(failed)));
  await failing.nextAnswer();
  failing.send(body(chat("hello there")));
  assert.equal(verdictOf(await failing.nextAnswer()), "guardrail_error");
  judge.answer = answer;
  const spans = await spansIn(failed, 3);
  const own = spans.find(({ kind }) => kind === 2);
  assert.deepEqual([own?.attributes["error.type"], own?.status], ["guardrail_error", 2]);
  const inspection = spans.find(({ kind }) => kind === 1);
  assert.deepEqual(inspection?.attributes["gateway.guardrails.failed_detectors"], ["judge"]);

  const oddStream = filter.openStream();
  oddStream.send(headers("/elsewhere", { ":method": `SEND-${SSN}`, traceparent: `00-${SSN}` }));
  await oddStream.nextAnswer();
  oddStream.send(body("{}"));
  await oddStream.nextAnswer();
  oddStream.end();
  await oddStream.ended;
  const lone = await eventually("its span", () =>
    collector.spans().find(({ attributes }) => attributes["http.request.method"] === "_OTHER"),
  );
  assert.deepEqual([lone?.parentSpanId === PARENT, lone?.name], [false, "inspect"]);
});

test("no text appears in the export", () => {
  assert.ok(collector.posted.length > 0);
  for (const { body: exported } of collector.posted) {
    for (const canary of [CARD, SSN, "hello there"]) assert.ok(!exported.includes(canary), exported.toString());
  }
});
