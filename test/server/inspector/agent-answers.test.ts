/** Answers of MCP servers and A2A agents through a proxy: each message is read in the protocol of its request. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nullLog } from "../../../src/base/index.ts";
import type { GuardrailRecord } from "../../../src/server/core/guardrails/index.ts";
import type { ResponseNews } from "../../../src/server/inspector/exchange/index.ts";
import { beginInspection, type InspectionOptions } from "../../../src/server/inspector/index.ts";
import { countedMetrics, guardOf } from "../dataplane/support/guards.ts";

const MAIL = "ada.lovelace@example.com";
const SSN = "536-90-4399";
const GUARD = guardOf({
  detectors: [
    {
      name: "pii",
      type: "pii",
      prefilter: "pure",
      apply_to: ["output", "tool_result"],
      entities: ["EMAIL_ADDRESS", "US_SSN"],
    },
  ],
  rules: [
    { name: "no-ssn", when: "'pii/US_SSN' in labels && method == 'tools/call'", action: "deny", message: "Not shown." },
    { name: "hide", action: "redact", operator: "replace" },
  ],
});

interface InspectedAnswer {
  readonly bytes: string;
  readonly last: ResponseNews | undefined;
  readonly records: readonly GuardrailRecord[];
}

/** Returns the outcome of an answer to a request. */
async function answerTo(
  request: string,
  requestHeaders: readonly string[],
  type: string,
  answer: string,
): Promise<InspectedAnswer> {
  const records: GuardrailRecord[] = [];
  const { metrics } = countedMetrics();
  const memory = { maxBodyBytes: 1_000_000, reserve: () => true };
  const { inspect, answers } = beginInspection({
    guardrails: () => ({ of: () => GUARD }) as unknown as ReturnType<InspectionOptions["guardrails"]>,
    inspectsResponses: true,
    sinks: { trail: { record: (record) => void records.push(record) }, metrics, log: nullLog },
  });
  const verb = request === "" ? "GET" : "POST";
  const headers = [":method", verb, ":path", "/tools", "content-type", "application/json", ...requestHeaders];
  const verdict = await inspect({ headers, body: Buffer.from(request), memory }, new AbortController().signal);
  assert.equal(verdict.kind, "allow");
  const begun = answers?.begin(headers, [":status", "200", "content-type", type]);
  const news: ResponseNews[] = [];
  const read = begun?.read({ report: (one) => void news.push(one), onCaughtUp: () => undefined }, () => true);
  read?.push(Buffer.from(answer));
  read?.end();
  const bytes = news.map((one) => (one.kind === "refused" ? "" : one.bytes.toString())).join("");
  return { bytes, last: news.at(-1), records };
}

const call = JSON.stringify({ jsonrpc: "2.0", id: 9, method: "tools/call", params: { name: "a" } });
const toolResult = (text: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 9, result: { content: [{ type: "text", text }], nextCursor: MAIL } });

test("a result, whole and as an event, has its texts rewritten and everything else unchanged", async () => {
  for (const [type, of] of [
    ["application/json", (message: string): string => message],
    ["text/event-stream", (message: string): string => `event: message\ndata: ${message}\n\n`],
  ] as const) {
    const { bytes, last, records } = await answerTo(call, [], type, of(toolResult(`to ${MAIL}`)));
    assert.equal(bytes, of(toolResult("to <EMAIL_ADDRESS>")));
    assert.equal(last?.kind, "ended");
    assert.deepEqual(
      records.map(({ data }) => [data["direction"], data["route"], data["name"], data["rule"]]),
      [["response", "tools/call", "a", "hide"]],
    );
  }
});

test("a denial is an error of the protocol for the request id, by rules that read the method", async () => {
  const { bytes, last } = await answerTo(call, [], "application/json", toolResult(SSN));
  assert.equal(bytes, "");
  assert.ok(last?.kind === "refused");
  const { id, error } = JSON.parse(String(last.late)) as { readonly id: number; readonly error: object };
  assert.deepEqual([id, { ...error, data: undefined }], [9, { code: -31403, message: "Not shown.", data: undefined }]);
});

test("a stream that a client opens without a body is recognized by its headers", async () => {
  const event = (text: string): string =>
    `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { data: text, cursor: MAIL } })}\n\n`;
  const { bytes } = await answerTo("", ["mcp-session-id", "s"], "text/event-stream", event(MAIL));
  assert.equal(bytes, event("<EMAIL_ADDRESS>"));
});

test("data that is not a message of the protocol is not passed on", async () => {
  const { bytes, last } = await answerTo(call, [], "application/json", "{broken");
  assert.equal(bytes, "");
  assert.equal(last?.kind === "refused" && last.error.code, "upstream_invalid");
});
