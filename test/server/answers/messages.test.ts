/** Answers of MCP servers and A2A agents with a real guard, whole and as events: what is shown of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AnswerEvents,
  inspectWhole,
  type ReadMessage,
  typeOf,
  UnreadableAnswer,
} from "../../../src/server/answers/index.ts";
import { type AgentProtocol, proxiedAnswerTexts } from "../../../src/server/core/agents/index.ts";
import { type Detector, JudgedAnswer } from "../../../src/server/core/guardrails/index.ts";
import type { Guard } from "../../../src/server/snapshot/index.ts";
import { countedMetrics, guardOf, occasion } from "../dataplane/support/guards.ts";

const MAIL = "ada.lovelace@example.com";
const SSN = "536-90-4399";
const RULES = [
  { name: "no-ssn", when: '"pii/US_SSN" in labels', action: "deny" },
  { name: "hide", action: "redact", operator: "replace" },
];
const PII = {
  name: "pii",
  type: "pii",
  prefilter: "pure",
  apply_to: ["output", "tool_result"],
  entities: ["EMAIL_ADDRESS", "US_SSN"],
};
const GUARD = guardOf({ detectors: [PII], rules: RULES });

const reading =
  (protocol: AgentProtocol): ReadMessage =>
  (message) =>
    proxiedAnswerTexts({ protocol, binding: "rpc", ids: [], isBatch: false }, message);
const answered = (protocol: AgentProtocol) =>
  ({ dialect: "compat", route: { name: "compat_other" }, read: reading(protocol) }) as const;

const result = (value: object, id: unknown = 1): string => JSON.stringify({ jsonrpc: "2.0", id, result: value });
const MCP = result({ content: [{ type: "text", text: `write to ${MAIL}` }], structuredContent: { to: MAIL } });
const A2A = result({
  statusUpdate: { taskId: "t", status: { state: "TASK_STATE_WORKING", message: { parts: [{ text: MAIL }] } } },
});

async function shownOf(protocol: AgentProtocol, pieces: Iterable<string | Buffer>, guard: Guard = GUARD) {
  const { metrics, counted } = countedMetrics();
  const answer = new JudgedAnswer(guard, occasion(), new AbortController().signal);
  const events = new AnswerEvents(answer, answered(protocol), metrics, {
    woke: () => undefined,
    failed: (error) => assert.fail(String(error)),
    onSilence: () => undefined,
  });
  try {
    let shown = "";
    const done: unknown[] = [];
    for (const piece of pieces) {
      done.push(events.push(Buffer.from(piece)));
      shown += events.take() ?? "";
    }
    await Promise.all(done);
    await events.end();
    shown += events.take() ?? "";
    return { shown, isRefused: answer.isRefused, counted, heldBytes: events.heldBytes };
  } finally {
    events.close();
  }
}

async function wholeOf(protocol: AgentProtocol, body: string | Buffer) {
  const { metrics, counted } = countedMetrics();
  const answer = new JudgedAnswer(GUARD, occasion(), new AbortController().signal);
  const made = await inspectWhole(Buffer.from(body), typeOf("application/json"), answer, answered(protocol), metrics);
  return { body: made && String(made.body), mending: made?.change, counted };
}

const hidden = (text: string): string => text.replaceAll(MAIL, "<EMAIL_ADDRESS>");

for (const [protocol, message] of [
  ["mcp", MCP],
  ["mcp", `[${MCP},${result({ tools: [{ name: "a", description: MAIL }] }, 2)}]`],
  ["mcp", JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: -1, message: `no ${MAIL}` } })],
  ["mcp", `not JSON, but it says ${MAIL}`],
  ["a2a", A2A],
  ["a2a", JSON.stringify({ error: { code: 403, message: `no ${MAIL}` } })],
] as const) {
  test(`whole, ${protocol}: ${message.slice(0, 60)}`, async () => {
    const made = await wholeOf(protocol, message);
    assert.equal(made.body, hidden(message));
    assert.equal(made.mending?.length, hidden(message).length);
  });
}

test("whole: a message without findings keeps its bytes; a denied one is dropped; media are counted", async () => {
  assert.deepEqual((await wholeOf("mcp", "")).mending, {});
  assert.deepEqual((await wholeOf("mcp", result({ content: [] }))).mending, {});
  assert.equal((await wholeOf("mcp", result({ content: [{ type: "text", text: SSN }] }))).body, undefined);
  const image = result({ content: [{ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }] });
  assert.deepEqual((await wholeOf("mcp", image)).counted, { "uninspected image": 1 });
});

test("whole: data that a client might read and the gateway does not is refused", async () => {
  await assert.rejects(() => wholeOf("mcp", `{"a":"${MAIL}"`), UnreadableAnswer);
  await assert.rejects(() => wholeOf("a2a", Buffer.from([0x7b, 0xff, 0x7d])), UnreadableAnswer);
});

const STREAM = [
  ": hello\n\n",
  `event: message\nid: 4\ndata: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: `saw ${MAIL}` } })}\n\n`,
  `data: ${MCP}\r\n\r\n`,
].join("");

test("events: each message is inspected separately, however the stream is cut, and all other bytes are unchanged", async () => {
  for (const size of [1, 7, 50, 10_000]) {
    const pieces = Array.from({ length: Math.ceil(STREAM.length / size) }, (_, at) =>
      STREAM.slice(at * size, (at + 1) * size),
    );
    const { shown, heldBytes } = await shownOf("mcp", pieces);
    assert.equal(shown, hidden(STREAM));
    assert.equal(heldBytes, 0);
  }
  const { shown } = await shownOf("a2a", [`data: ${A2A}\n\n`, `data: ${A2A}`]);
  assert.equal(shown, `data: ${hidden(A2A)}\n\ndata: ${hidden(A2A)}\n\n`);
});

test("events: neither a denied message nor any later one is shown", async () => {
  const denied = `data: ${result({ content: [{ type: "text", text: SSN }] })}\n\n`;
  const { shown, isRefused } = await shownOf("mcp", [STREAM, denied, STREAM]);
  assert.deepEqual([shown, isRefused], [hidden(STREAM), true]);
});

test("events: a slow detector keeps their order", async () => {
  let callCount = 0;
  const slow: Detector = {
    name: "slow",
    type: "pii",
    fingerprint: "f",
    readsContext: [],
    horizon: undefined,
    async detect(texts) {
      for (let left = 20 - callCount++; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
      return texts.map(() => []);
    },
  };
  const guard = guardOf({ detectors: [{ ...PII, name: "slow" }], rules: RULES }, { slow });
  const events = Array.from(
    { length: 10 },
    (_, at) => `data: ${result({ content: [{ type: "text", text: `n ${at}` }] }, at)}\n\n`,
  );
  const { shown } = await shownOf("mcp", events, guard);
  assert.equal(shown, events.join(""));
  assert.equal(callCount, 10);
});

test("events: text that an agent streams in pieces is judged as its client assembles it", async () => {
  const update = (text: string, append = true) =>
    `data: ${result({ artifactUpdate: { taskId: "t", append, artifact: { artifactId: "a", parts: [{ text }] } } })}\n\n`;
  const status = (text: string) =>
    `data: ${result({ statusUpdate: { taskId: "t", status: { message: { parts: [{ text }] } } } })}\n\n`;
  for (const of of [update, status]) {
    const pieces = ["write to ada.love", "lace@exam", "ple.com today", " and more"];
    const { shown, isRefused } = await shownOf(
      "a2a",
      pieces.map((text) => of(text)),
    );
    const text = [...shown.matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text).join("");
    assert.ok(!isRefused && !text.includes("@example.com") && text.endsWith(" and more"), shown);
    assert.equal(
      (
        await shownOf(
          "a2a",
          ["it is 536-90", "-4399"].map((text) => of(text)),
        )
      ).isRefused,
      true,
    );
    const plain = ["a word ", "in pieces"].map((text) => of(text)).join("");
    assert.equal((await shownOf("a2a", [plain])).shown, plain);
  }
});
