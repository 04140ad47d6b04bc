// tier: test
/**
 * Guardrails on requests through a running gateway: what providers receive, what callers get, and what the operator
 * sees, which is never the text. Source: specification document 3 (`guardrails`); design decisions, section 11.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { recordsIn, type SeenRecord } from "../admin/support/trail.ts";
import { chat, mint, PROVIDER_KEY, say, simProvider, startGoverned } from "../governance/support/governed.ts";
import { idle, readMetrics, sumOf } from "../support/metrics.ts";
import { eventually } from "../support/wait.ts";
import { filesBelow } from "./support/files-below.ts";

const file = { after };
const CARD = "4111 1111 1111 1111";
const MAIL = "ada.lovelace@example.com";
const SSN = "536-90-4399";
/** Each reserves some 70 tokens of 300. */
const DENIED_OF_TIGHT = 8;
const CANARIES = [CARD, CARD.replaceAll(" ", ""), MAIL, SSN];

const { simulator, node, gateway } = await startGoverned(file, {
  deployment: (sim) => ({
    providers: [
      { ...simProvider("eu", sim), models: ["sim-*"], failover: { to: ["spare"] } },
      { ...simProvider("spare", sim), model_aliases: { "sim-500": "sim-small" } },
      {
        name: "msgs",
        dialect: "messages",
        base_url: `${sim.url}/v1`,
        api_key: PROVIDER_KEY,
        model_aliases: { translated: "sim-small" },
      },
    ],
    default_provider: "eu",
    budgets: [
      { name: "day", limit: 1_000_000, shared: true },
      { name: "tight", limit: 300, shared: true },
    ],
    profiles: [
      { name: "team", budget: "day" },
      { name: "frugal", budget: "tight" },
      { name: "trusted", guardrails: { detectors: [] } },
    ],
    guardrails: {
      detectors: [
        { type: "pii", name: "finder", prefilter: "pure", entities: ["CREDIT_CARD", "US_SSN"] },
        { type: "pii", name: "watcher", prefilter: "pure", entities: ["EMAIL_ADDRESS"], mode: "shadow" },
      ],
      rules: [
        {
          name: "no-ssn",
          when: '"pii/US_SSN" in labels',
          action: "deny",
          message: "Numbers of persons stay here.",
          controls: ["SC-7"],
        },
        { name: "mask-cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"', controls: ["PCI-3.4"] },
      ],
    },
  }),
});
const key = await mint(node, "plain", { profile: "team" });
const frugal = await mint(node, "frugal", { profile: "frugal" });
const free = await mint(node, "free");
const trusted = await mint(node, "trusted", { profile: "trusted" });

/** Returns the newest request that the provider received, as JSON text. */
const sent = async (): Promise<string> =>
  (await fetch(`${simulator.url}/sim/last`, { headers: { authorization: `Bearer ${PROVIDER_KEY}` } })).text();

const recordOf = (event: string, requestId: string | null): Promise<SeenRecord> =>
  eventually(`the record ${event}`, () =>
    recordsIn(node.output()).find((record) => record.event === event && record.data["request"] === requestId),
  );

const chatWith = (content: string, model = "sim-small") => chat({ model, messages: [{ role: "user", content }] });

const inMessages = (content: string, model: string, more: object = {}) => ({
  key,
  path: "/v1/messages",
  headers: { "anthropic-version": "2023-06-01" },
  body: chatWith(content, model),
  ...more,
});

const WAYS = [
  { what: "compat", asked: { key, body: chatWith(`pay with ${CARD}, please`) } },
  { what: "compat, translated to messages", asked: { key, body: chatWith(`pay with ${CARD}, please`, "translated") } },
  { what: "messages, translated to compat", asked: inMessages(`pay with ${CARD}, please`, "sim-small") },
  { what: "messages", asked: inMessages(`pay with ${CARD}, please`, "translated") },
] as const;

for (const { what, asked } of WAYS) {
  test(`a card is rewritten before the provider sees it: ${what}`, async () => {
    const answer = await say(gateway, asked);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers.get("x-gateway-guardrails"), "mask-cards=redact");
    const body = await sent();
    assert.ok(body.includes("pay with <CREDIT_CARD>, please"), body);
    assert.ok(!body.includes(CARD), body);
    const { controls, data } = await recordOf("guardrail.decision", answer.headers.get("x-gateway-request-id"));
    assert.deepEqual(controls, ["PCI-3.4"]);
    assert.deepEqual(
      [data["decision"], data["rule"], data["key"], data["profile"], data["matched"]],
      [
        "allow",
        "mask-cards",
        "plain",
        "team",
        [{ rule: "mask-cards", action: "redact", types: { "pii/CREDIT_CARD": 1 }, kinds: ["user"] }],
      ],
    );
  });
}

test("a denial has the rule's message in the dialect's format and reaches no provider", async () => {
  const before = simulator.counts().requests;
  const compat = await say(gateway, { key, body: chatWith(`my number is ${SSN}`) });
  assert.deepEqual([compat.status, compat.code], [403, "guardrail_denied"], compat.text);
  assert.match(compat.text, /Numbers of persons stay here\./);
  assert.equal(compat.headers.get("x-should-retry"), "false");
  assert.equal(compat.headers.get("x-gateway-guardrails"), "no-ssn=deny");
  const messages = await say(gateway, inMessages(`my number is ${SSN}`, "translated"));
  assert.equal(messages.status, 403);
  assert.equal((JSON.parse(messages.text) as { type: string }).type, "error");
  assert.equal(simulator.counts().requests, before);
  const { controls, data } = await recordOf("guardrail.decision", compat.headers.get("x-gateway-request-id"));
  assert.deepEqual(
    [controls, data["decision"], data["rule"], data["route"]],
    [["SC-7"], "deny", "no-ssn", "chat_completions"],
  );
  const refusals = (await node.client.call("list_refusals")).items;
  assert.ok(
    refusals.some((row) => row.code === "guardrail_denied" && JSON.stringify(row).includes("no-ssn")),
    JSON.stringify(refusals),
  );
});

test("a denial returns the reserved budget", async () => {
  for (let asked = 0; asked < DENIED_OF_TIGHT; asked++) {
    const answer = await say(gateway, { key: frugal, body: chatWith(`my number is ${SSN}`) });
    assert.equal(answer.code, "guardrail_denied", answer.text);
  }
  const response = await say(gateway, { key: frugal, body: chatWith("nothing of note") });
  assert.equal(response.status, 200, response.text);
});

test("the failover provider receives the rewritten text too", async () => {
  const answer = await say(gateway, { key, body: chatWith(`pay with ${CARD}`, "sim-500") });
  assert.equal(answer.headers.get("x-gateway-provider"), "spare", answer.text);
  const body = await sent();
  assert.ok(body.includes("pay with <CREDIT_CARD>") && !body.includes(CARD), body);
});

test("an encoded body is read and forwarded without its encoding", async () => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "content-encoding": "gzip" },
    body: gzipSync(JSON.stringify(chatWith(`pay with ${CARD}`))),
  });
  assert.equal(response.status, 200, await response.text());
  const body = await sent();
  assert.ok(body.includes("pay with <CREDIT_CARD>") && !body.includes(CARD) && !body.includes("gzip"), body);
});

test("a profile without detectors is exempt, and a request without findings passes unchanged", async () => {
  const exempt = await say(gateway, { key: trusted, body: chatWith(`pay with ${CARD}`) });
  assert.deepEqual([exempt.status, exempt.headers.get("x-gateway-guardrails")], [200, null]);
  assert.ok((await sent()).includes(CARD));
  const plain = await say(gateway, { key, body: chatWith("nothing of note") });
  assert.deepEqual([plain.status, plain.headers.get("x-gateway-guardrails")], [200, null]);
});

test("a shadow detector's finding is recorded and decides nothing", async () => {
  const answer = await say(gateway, { key, body: chatWith(`write to ${MAIL}`) });
  assert.deepEqual([answer.status, answer.headers.get("x-gateway-guardrails")], [200, null]);
  const { data } = await recordOf("guardrail.shadow", answer.headers.get("x-gateway-request-id"));
  assert.deepEqual(data["detectors"], { watcher: { "pii/EMAIL_ADDRESS": 1 } });
});

test("non-text content is counted, and an unreadable body is refused", async () => {
  const url = "data:image/png;base64,iVBORw0KGgo=";
  const content = [
    { type: "image_url", image_url: { url } },
    { type: "text", text: "what is it" },
  ];
  const seen = await say(gateway, { key, body: chat({ model: "sim-small", messages: [{ role: "user", content }] }) });
  assert.equal(seen.status, 200, seen.text);
  const response = await fetch(`${gateway.url}/v1/something/new`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/x-unheard-of" },
    body: Buffer.from([0, 1, 2, 255]),
  });
  assert.equal(response.status, 400, await response.text());
  const series = await readMetrics(gateway);
  assert.equal(sumOf(series, "gateway_guardrail_uninspected_total", { what: "image" }), 1);
});

test("blocks that translation joins into one turn are inspected in the form that is sent", async () => {
  const blocks = [
    { type: "text", text: "pay with 4111 1111" },
    { type: "text", text: " 1111 1111, please" },
  ];
  const turns = (role: string) => [
    { role: "user", content: "hello" },
    { role, content: blocks },
    { role: "user", content: "go on" },
  ];
  for (const role of ["assistant", "user"]) {
    const body = { ...chat({ model: "sim-small" }), messages: turns(role) };
    const answer = await say(gateway, { ...inMessages("", "sim-small"), body });
    assert.equal(answer.status, 200, answer.text);
    const upstreamBody = await sent();
    assert.ok(upstreamBody.includes("<CREDIT_CARD>") && !upstreamBody.includes("1111"), upstreamBody);
  }
});

test("texts of a thread created together with its run are inspected", async () => {
  const body = { assistant_id: "asst_1", thread: { messages: [{ role: "user", content: `it is ${SSN}` }] } };
  const answer = await say(gateway, { key: free, path: "/v1/threads/runs", body });
  assert.deepEqual([answer.status, answer.code], [403, "guardrail_denied"], answer.text);
});

const form = (purpose: string): FormData => {
  const fields = new FormData();
  fields.set("purpose", purpose);
  fields.set("file", new Blob([`{"custom_id":"1","body":{"input":"${SSN}"}}\n`]), "requests.jsonl");
  return fields;
};
const BATCH = { input_file_id: "file-1", endpoint: "/v1/chat/completions", completion_window: "24h" };
const PAST: readonly (readonly [path: string, body: FormData | object | string | undefined, type?: string])[] = [
  ["/v1/files", form("batch")],
  ["/v1/files?purpose=batch", form("user_data")],
  ["/v1/files", "purpose=batch&file=x", "application/x-www-form-urlencoded"],
  ["/v1/uploads", { purpose: "batch", filename: "a.jsonl", bytes: 1, mime_type: "text/jsonl" }],
  ["/v1/batches", BATCH],
  ["/v1/batches/batch_1/cancel", undefined],
  ["/v1/batch/jobs", { model: "sim-small", input_files: ["file-1"], endpoint: "/v1/chat/completions" }],
  ["/v1/messages/batches", { requests: [{ custom_id: "1", params: chatWith("hello") }] }],
  ["/v1/fine_tuning/jobs", { model: "sim-small", training_file: "file-1" }],
  ["/v1/fine-tunes", { model: "sim-small", training_file: "file-1" }],
  ["/v1/evals", { data_source_config: { type: "logs" }, testing_criteria: [] }],
  ["/v1/evals/eval_1/runs", { data_source: { type: "jsonl", source: { type: "file_id", id: "file-1" } } }],
  ["/v1/realtime/client_secrets", { session: { type: "realtime" } }],
  ["/v1/realtime/sessions", { model: "sim-realtime" }],
  ["/v1/realtime/transcription_sessions", {}],
  ["/v1/realtime/translations/client_secrets", {}],
  ["/v1/realtime/calls", { model: "sim-realtime" }],
  ["/v1/chatkit/sessions", { user: "u", workflow: { id: "wf" } }],
];

const knock = async (by: string, path: string, body: FormData | object | string | undefined, type?: string) => {
  const isPlain = body instanceof FormData || typeof body === "string" || body === undefined;
  const named = type ?? (isPlain ? undefined : "application/json");
  const response = await fetch(gateway.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${by}`, ...(named !== undefined && { "content-type": named }) },
    ...(body !== undefined && { body: isPlain ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text };
};

test("upload routes that bypass guardrails are refused even without a model list and a budget, and open to exempt callers", async () => {
  for (const [path, body, type] of PAST) {
    const before = simulator.counts().requests;
    const { status, text } = await knock(free, path, body, type);
    assert.deepEqual([path, status, /"code":"([a-z_]+)"/.exec(text)?.[1]], [path, 403, "policy_denied"], text);
    assert.equal(simulator.counts().requests, before, path);
  }
  const uploaded = await knock(trusted, "/v1/files", form("batch"));
  assert.notEqual(uploaded.status, 403, uploaded.text);
  const others = await knock(free, "/v1/files", form("user_data"));
  assert.notEqual(others.status, 403, others.text);
});

test("decisions and detectors are counted, and no matched text appears in logs, metrics, records or on the disk", async () => {
  await idle(gateway);
  const series = await readMetrics(gateway);
  const decided = (rule: string, action: string) =>
    sumOf(series, "gateway_guardrail_decisions_total", { rule, action });
  assert.equal(decided("no-ssn", "deny"), 3 + DENIED_OF_TIGHT);
  assert.equal(decided("mask-cards", "redact"), WAYS.length + 4);
  assert.ok(sumOf(series, "gateway_detector_seconds_count", { detector: "finder" }) > 0);
  const all = node.output() + (await (await fetch(String(gateway.metricsUrl))).text());
  // The log of the cluster, its tables and the journal.
  const held = [all, ...filesBelow(node.dataDir)];
  for (const canary of CANARIES) for (const text of held) assert.ok(!text.includes(canary), canary);
});
