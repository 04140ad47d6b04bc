/**
 * Guardrails on WebSocket sessions through a running gateway: what providers and callers receive from each other, how a
 * denial ends both sides, and what the operator sees. Source: design decisions, section 11, WebSocket.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { recordsIn } from "../admin/support/trail.ts";
import { mint, PROVIDER_KEY, simProvider, startGoverned } from "../governance/support/governed.ts";
import type { Document } from "../support/config.ts";
import { idle, readMetrics, sumOf } from "../support/metrics.ts";
import { eventually, within } from "../support/wait.ts";

const file = { after };
const CARD = "4111 1111 1111 1111";
const MAIL = "ada.lovelace@example.com";
const SSN = "536-90-4399";
const CANARIES = [CARD, CARD.replaceAll(" ", ""), MAIL, SSN];
const DENIED = { code: 1008, reason: "guardrail_denied" };

interface ReceivedMessage {
  readonly text: string;
  readonly isBinary: boolean;
}

/** A session provider that sends what a test scripts and records what it receives. */
async function scripted() {
  const webSockets = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: true });
  await once(webSockets, "listening");
  after(() => {
    for (const client of webSockets.clients) client.terminate();
    webSockets.close();
  });
  const address = webSockets.address();
  assert.ok(typeof address === "object" && address !== null);
  return { url: `http://127.0.0.1:${address.port}/v1`, webSockets };
}

const provider = await scripted();

const document = (sim: Parameters<typeof simProvider>[1], rules: readonly Document[] = RULES): Document => ({
  providers: [
    { name: "talk", dialect: "compat", base_url: provider.url, api_key: PROVIDER_KEY, models: ["talk"] },
    simProvider("sim", sim),
  ],
  default_provider: "sim",
  budgets: [{ name: "day", limit: 1_000_000, shared: true }],
  profiles: [
    { name: "team", budget: "day" },
    { name: "trusted", guardrails: { detectors: [] } },
  ],
  guardrails: {
    detectors: [
      {
        type: "pii",
        name: "finder",
        prefilter: "pure",
        apply_to: ["system", "user", "tool_args", "tool_result", "header"],
      },
    ],
    rules,
  },
});

const RULES: readonly Document[] = [
  {
    name: "no-ssn",
    when: '"pii/US_SSN" in labels',
    action: "deny",
    message: "Numbers of persons stay here.",
    controls: ["SC-7"],
  },
  {
    name: "no-mail-for-other",
    when: 'model == "other" && "pii/EMAIL_ADDRESS" in labels',
    action: "deny",
  },
  { name: "number-cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"', operator: "placeholder" },
];

const { simulator, node, gateway } = await startGoverned(file, { deployment: document });
const key = await mint(node, "plain", { profile: "team" });
const trusted = await mint(node, "trusted", { profile: "trusted" });

interface Session {
  readonly socket: WebSocket;
  /** The provider's end. */
  readonly far: WebSocket;
  readonly received: readonly ReceivedMessage[];
  readonly farHeard: readonly ReceivedMessage[];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly farClosed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly requestId: string;
  say(event: unknown): void;
}

const keeping = (socket: WebSocket): readonly ReceivedMessage[] => {
  const reported: ReceivedMessage[] = [];
  socket.on("message", (data, isBinary) => reported.push({ text: String(data), isBinary }));
  return reported;
};
const closeOf = (socket: WebSocket) =>
  once(socket, "close").then(([code, reason]) => ({ code: code as number, reason: String(reason) }));

async function open(bearer = key, path = "/v1/realtime?model=talk", headers = {}): Promise<Session> {
  const connected = once(provider.webSockets, "connection");
  const socket = new WebSocket(gateway.url.replace("http", "ws") + path, {
    headers: { authorization: `Bearer ${bearer}`, ...headers },
  });
  after(() => socket.terminate());
  const received = keeping(socket);
  const closed = closeOf(socket);
  const upgraded = once(socket, "upgrade");
  const opened = once(socket, "open");
  const [far] = (await within("the provider's end", connected)) as [WebSocket];
  const farHeard = keeping(far);
  const farClosed = closeOf(far);
  const [answer] = await upgraded;
  await within("the session", opened);
  const say = (event: unknown): void =>
    socket.send(typeof event === "string" || Buffer.isBuffer(event) ? event : JSON.stringify(event));
  const requestId = String(answer.headers["x-gateway-request-id"]);
  return { socket, far, received, farHeard, closed, farClosed, requestId, say };
}

/** Resolves with the provider's received messages once there are `count`. */
async function hearing({ farHeard }: Session, count: number): Promise<readonly string[]> {
  await eventually(`${count} messages`, () => farHeard.length >= count);
  return farHeard.map(({ text }) => text);
}

const item = (text: string, more: Document = {}): Document => ({
  type: "conversation.item.create",
  item: { type: "message", role: "user", content: [{ type: "input_text", text }], ...more },
});

const recordsOf = (requestId: string) =>
  recordsIn(node.output()).filter(({ event, data }) => event === "guardrail.decision" && data["request"] === requestId);

test("client text is rewritten event by event, and numbering continues through the session", async () => {
  const session = await open();
  const output = { type: "function_call_output", call_id: "call_1", output: `{"card":"${CARD}"}` };
  const untouched = '{ "type":"session.update", "event_id":"e1","session":{"instructions":"be kind \\u00e9"}}';
  session.say(item(`pay with ${CARD}`));
  session.say(untouched);
  session.say({ type: "conversation.item.create", item: output });
  session.say({ type: "session.update", session: { instructions: "use 5500 0000 0000 0004", tools: [] } });
  session.say({ type: "response.create", response: { input: [{ role: "user", content: `again ${CARD}` }] } });
  session.say({ type: "something.new", deep: [{ deeper: `and ${CARD}` }] });
  // Twice under one name, escaped, in fragments.
  const written = JSON.stringify(CARD).replaceAll("1", "\\u0031");
  session.socket.send(`{"type":"response.create","instructions":${written},"instru`, { fin: false });
  session.socket.send(`ctions":${written}}`, { fin: true });
  session.say(Buffer.from(JSON.stringify(item(`in bytes ${CARD}`))));
  const texts = await hearing(session, 8);
  assert.equal(texts[1], untouched);
  const all = texts.join("\n");
  for (const canary of CANARIES) assert.ok(!all.includes(canary), all);
  assert.ok(texts[0]?.includes("pay with <CREDIT_CARD_1>"), all);
  assert.ok(texts[2]?.includes('"output":"{\\"card\\":\\"<CREDIT_CARD_1>\\"}"'), all);
  assert.ok(texts[3]?.includes("use <CREDIT_CARD_2>"), all);
  assert.ok(texts[4]?.includes("again <CREDIT_CARD_1>"), all);
  assert.ok(texts[5]?.includes("and <CREDIT_CARD_1>"), all);
  assert.equal(
    texts[6],
    '{"type":"response.create","instructions":"<CREDIT_CARD_1>","instructions":"<CREDIT_CARD_1>"}',
  );
  assert.deepEqual([texts[7]?.includes("in bytes <CREDIT_CARD_1>"), session.farHeard[7]?.isBinary], [true, true]);
  session.socket.close();
  await session.farClosed;
  const records = await eventually("a record of each event", () => {
    const written = recordsOf(session.requestId);
    return written.length >= 7 && written;
  });
  assert.equal(records.length, 7);
  assert.ok(records.every(({ data }) => data["rule"] === "number-cards" && data["direction"] === "request"));
});

test("a denied event closes both sides, its client gets the reason, and none of it arrives", async () => {
  const session = await open();
  session.say(item("hello"));
  session.say(item(`my number is ${SSN}`));
  session.say(item("behind"));
  assert.deepEqual(await within("the close", session.closed), DENIED);
  assert.deepEqual(await within("the far close", session.farClosed), DENIED);
  assert.equal(session.farHeard.length, 1);
  const parsed = JSON.parse(session.received.at(-1)?.text ?? "{}");
  assert.deepEqual(
    [parsed.type, parsed.error.code, parsed.error.message],
    ["error", "guardrail_denied", "Numbers of persons stay here."],
  );
  const [record] = await eventually("the record", () => {
    const records = recordsOf(session.requestId);
    return records.length > 0 && records;
  });
  assert.deepEqual([record?.data["decision"], record?.data["rule"], record?.controls], ["deny", "no-ssn", ["SC-7"]]);
  const { items } = await node.client.call("list_refusals", {});
  assert.ok(items.some((it) => it.code === "guardrail_denied" && JSON.stringify(it).includes('"no-ssn"')));
});

test("an event that the provider might read differently ends the session", async () => {
  const utf16 = Buffer.from(JSON.stringify(item(`my number is ${SSN}`)), "utf16le");
  const unusual = [
    '{"type":"response.create","instructions":NaN}',
    `{"a":1,}`,
    `${"[".repeat(2_000)}${"]".repeat(2_000)}`,
    utf16,
  ];
  for (const event of unusual) {
    const session = await open();
    session.say(event);
    assert.deepEqual(await within("the close", session.closed), { code: 1008, reason: "invalid_request" });
    assert.equal((await within("the far close", session.farClosed)).code, 1008);
    assert.equal(session.farHeard.length, 0);
  }
});

test("text that is not JSON is inspected as plain text", async () => {
  const session = await open();
  session.say(`card ${CARD}`);
  assert.deepEqual(await hearing(session, 1), ["card <CREDIT_CARD_1>"]);
  session.socket.close();
});

test("compression is declined so that nothing hides in it", async () => {
  const session = await open();
  assert.equal(session.socket.extensions, "");
  assert.equal(session.far.extensions, "");
  session.socket.close();
});

test("audio passes and is counted; a large event passes", async () => {
  const before = sumOf(await readMetrics(gateway), "gateway_guardrail_uninspected_total", { what: "audio" });
  const session = await open();
  const audio = Buffer.alloc(3 << 20, 0x5a).toString("base64");
  session.say({ type: "input_audio_buffer.append", audio });
  session.say(Buffer.alloc(4_096));
  session.say(item("behind"));
  const texts = await hearing(session, 3);
  assert.ok(texts[0]?.includes(audio));
  session.socket.close();
  await session.closed;
  const series = await readMetrics(gateway);
  assert.equal(sumOf(series, "gateway_guardrail_uninspected_total", { what: "audio" }), before + 2);
});

test("a long text is inspected on a thread, and later events wait", async () => {
  const session = await open();
  const long = `${"all is well. ".repeat(20_000)} ${CARD}`;
  session.say(item(long));
  for (let i = 0; i < 50; i++) session.say(item(`short ${i}`));
  const texts = await hearing(session, 51);
  assert.ok(texts[0]?.endsWith('<CREDIT_CARD_1>"}]}}'), texts[0]?.slice(-60));
  for (const [i, text] of texts.slice(1).entries()) assert.ok(text.includes(`"short ${i}"`), text);
  session.socket.close();
});

test("header values of the handshake are inspected, and a rule may read the model that an event names", async () => {
  const refused = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/realtime?model=talk`, {
    headers: { authorization: `Bearer ${key}`, "x-note": SSN },
  });
  refused.on("error", () => undefined);
  const [, response] = await within("the refusal", once(refused, "unexpected-response"));
  assert.equal(response.statusCode, 403);
  const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/responses?model=sim-1`, {
    headers: { authorization: `Bearer ${key}` },
  });
  after(() => socket.terminate());
  const closed = closeOf(socket);
  await within("the session", once(socket, "open"));
  socket.send(JSON.stringify({ type: "response.create", model: "sim-1", input: `write to ${MAIL}` }));
  await within("an answer", once(socket, "message"));
  socket.send(JSON.stringify({ type: "response.create", model: "other", input: `write to ${MAIL}` }));
  assert.deepEqual(await within("the close", closed), DENIED);
});

test("a profile without detectors is exempt", async () => {
  const session = await open(trusted);
  session.say(item(`my number is ${SSN}`));
  assert.ok((await hearing(session, 1))[0]?.includes(SSN));
  session.socket.close();
});

test("a new rule applies to open sessions", async () => {
  const session = await open();
  const mail = item(`write to ${MAIL}`);
  session.say(mail);
  await hearing(session, 1);
  const rules = [...RULES, { name: "no-mail", when: '"pii/EMAIL_ADDRESS" in labels', action: "deny" }];
  const changed = { auth: { virtual_keys: true }, ...document(simulator, rules) };
  await node.writeDeployment(changed);
  assert.equal((await node.client.call("reload_config")).applied, true);
  session.say(mail);
  assert.deepEqual(await within("the close", session.closed), DENIED);
  assert.equal(session.farHeard.length, 1);
});

test("no text appears in logs, metrics or records, and nothing is held back at the end", async () => {
  await idle(gateway);
  const all = node.output() + (await (await fetch(String(gateway.metricsUrl))).text());
  for (const canary of CANARIES) assert.ok(!all.includes(canary), canary);
});
