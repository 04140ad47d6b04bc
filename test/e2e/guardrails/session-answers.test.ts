/**
 * Guardrails on upstream messages of a WebSocket session, through a running gateway: what callers receive, how a denial
 * ends both sides, how budgets are charged, and what an official client sees. Source: design decisions, section 11,
 * WebSocket.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { WebSocket, WebSocketServer } from "ws";
import { recordsIn } from "../admin/support/trail.ts";
import { mint, PROVIDER_KEY, simProvider, startGoverned } from "../governance/support/governed.ts";
import { idle, readMetrics, sumOf } from "../support/metrics.ts";
import { eventually, within } from "../support/wait.ts";

const file = { after };
const CARD = "4111 1111 1111 1111";
const SSN = "536-90-4399";
const CANARIES = [CARD, CARD.replaceAll(" ", ""), SSN];
const DENIED = { code: 1008, reason: "guardrail_denied" };

const webSockets = new WebSocketServer({ host: "127.0.0.1", port: 0 });
await once(webSockets, "listening");
after(() => {
  for (const client of webSockets.clients) client.terminate();
  webSockets.close();
});
webSockets.on("connection", (socket, { url = "" }) => {
  if (!url.includes("/responses")) return;
  socket.on("message", (data) => {
    const { input } = JSON.parse(String(data)) as { readonly input: string };
    for (const event of repeating(input)) socket.send(JSON.stringify(event));
  });
});
const address = webSockets.address();
assert.ok(typeof address === "object" && address !== null);

const { node, gateway } = await startGoverned(file, {
  deployment: (sim) => ({
    providers: [
      {
        name: "talk",
        dialect: "compat",
        base_url: `http://127.0.0.1:${address.port}/v1`,
        api_key: PROVIDER_KEY,
        models: ["talk"],
      },
      simProvider("sim", sim),
    ],
    default_provider: "talk",
    budgets: [{ name: "day", limit: 1_000_000, shared: true }],
    profiles: [{ name: "team", budget: "day" }],
    guardrails: {
      detectors: [{ type: "pii", name: "finder", prefilter: "pure", apply_to: ["output"] }],
      rules: [
        { name: "no-ssn", when: '"pii/US_SSN" in labels', action: "deny", message: "Not here." },
        { name: "number-cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"', operator: "placeholder" },
      ],
    },
  }),
});
const key = await mint(node, "plain", { profile: "team" });

type Event = Readonly<Record<string, unknown>>;

async function open() {
  const connected = once(webSockets, "connection");
  const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/realtime?model=talk`, {
    headers: { authorization: `Bearer ${key}` },
  });
  after(() => socket.terminate());
  const texts: string[] = [];
  socket.on("message", (data) => texts.push(String(data)));
  const closed = once(socket, "close").then(([code, reason]) => ({ code, reason: String(reason) }));
  const [upgraded, opened] = [once(socket, "upgrade"), once(socket, "open")];
  const [far] = (await within("the provider's end", connected)) as [WebSocket];
  const farClosed = once(far, "close").then(([code, reason]) => ({ code, reason: String(reason) }));
  const [answer] = await upgraded;
  await within("the session", opened);
  const sendEvent = (event: Event): void => far.send(JSON.stringify(event));
  return {
    socket,
    far,
    texts,
    closed,
    farClosed,
    sendEvent,
    requestId: String(answer.headers["x-gateway-request-id"]),
  };
}

const PLACE = { response_id: "resp_1", item_id: "item_1", output_index: 0, content_index: 0 };
const delta = (text: string): Event => ({ type: "response.output_text.delta", event_id: "e", ...PLACE, delta: text });
const done = (text: string): readonly Event[] => {
  const item = { id: "item_1", type: "message", role: "assistant", content: [{ type: "output_text", text }] };
  const usage = { total_tokens: 12, input_tokens: 5, output_tokens: 7 };
  return [
    { type: "response.output_text.done", ...PLACE, text },
    { type: "response.output_item.done", response_id: "resp_1", output_index: 0, item },
    { type: "response.done", response: { id: "resp_1", status: "completed", output: [item], usage } },
  ];
};

/** A response over WebSocket with this text. */
function repeating(text: string): readonly Event[] {
  const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const item = { id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text }] };
  const pieces = Array.from({ length: Math.ceil(text.length / 3) }, (_, at) => text.slice(3 * at, 3 * at + 3));
  const events: readonly Event[] = [
    { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
    ...pieces.map((piece) => ({ type: "response.output_text.delta", ...place, delta: piece })),
    { type: "response.output_text.done", ...place, text },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { id: "resp_1", status: "completed", output: [item] } },
  ];
  return events.map((event, at) => ({ ...event, sequence_number: at }));
}

test("a card in pieces is rewritten in deltas and repetitions, and spoken text is charged", async () => {
  const before = sumOf(await readMetrics(gateway), "gateway_tokens_total");
  const session = await open();
  const text = `pay with ${CARD}. Thanks.`;
  session.sendEvent({ type: "response.created", response: { id: "resp_1", output: [] } });
  for (const character of text) session.sendEvent(delta(character));
  session.sendEvent({ type: "response.output_audio.delta", ...PLACE, content_index: 1, delta: "AAAA" });
  for (const event of done(text)) session.sendEvent(event);
  await eventually("the end", () => session.texts.some((it) => it.includes('"response.done"')));
  const events = session.texts.map((it) => JSON.parse(it) as Event);
  const shown = events.flatMap((it) => (it["type"] === "response.output_text.delta" ? [it["delta"]] : [])).join("");
  assert.equal(shown, "pay with <CREDIT_CARD_1>. Thanks.");
  assert.equal(events.at(-3)?.["text"], shown);
  for (const canary of CANARIES) assert.ok(!session.texts.join("\n").includes(canary));
  session.socket.close();
  await session.farClosed;
  const [record] = await eventually("the record", () => {
    const records = recordsIn(node.output()).filter(({ data }) => data["request"] === session.requestId);
    return records.length > 0 && records;
  });
  assert.deepEqual(
    [record?.event, record?.data["direction"], record?.data["rule"]],
    ["guardrail.decision", "response", "number-cards"],
  );
  await eventually("the usage", async () => sumOf(await readMetrics(gateway), "gateway_tokens_total") > before);
  assert.equal(sumOf(await readMetrics(gateway), "gateway_guardrail_uninspected_total", { what: "audio" }), 1);
});

test("a denied answer closes both sides, and none of its bytes arrives", async () => {
  const session = await open();
  session.sendEvent({ type: "response.created", response: { id: "resp_1", output: [] } });
  for (const piece of ["the number is 5", "36-90-4", "399, so"]) session.sendEvent(delta(piece));
  for (const event of done("the number is 536-90-4399, so")) session.sendEvent(event);
  assert.deepEqual(await within("the close", session.closed), DENIED);
  assert.deepEqual(await within("the far close", session.farClosed), DENIED);
  assert.ok(!/5|4399/.test(session.texts.filter((it) => it.includes(".delta")).join("")), session.texts.join("\n"));
  const parsed = JSON.parse(session.texts.at(-1) ?? "{}");
  assert.deepEqual([parsed.type, parsed.error.code, parsed.error.message], ["error", "guardrail_denied", "Not here."]);
});

test("held-back text is sent before the close when an upstream disconnects midway", async () => {
  const session = await open();
  session.sendEvent({ type: "response.created", response: { id: "resp_1", output: [] } });
  session.sendEvent(delta(`card ${CARD}`));
  session.far.close(4000, "enough");
  assert.deepEqual(await within("the close", session.closed), { code: 4000, reason: "enough" });
  const all = session.texts.join("\n");
  assert.ok(all.includes("<CREDIT_CARD_1>") && !all.includes(CARD), all);
});

test("the official client of responses over WebSocket receives rewritten text, and the reason of a denial", async () => {
  // Several providers could serve the session, so the handshake names the model.
  const defaultQuery = { model: "talk" };
  const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0, defaultQuery });
  const ask = async (input: string) => {
    const socket = new ResponsesWS(client);
    const events: Event[] = [];
    const errors: string[] = [];
    let isOver = false;
    socket.on("event", (event) => {
      events.push(event as unknown as Event);
      isOver ||= event.type === "response.completed";
    });
    socket.on("error", (error) => {
      errors.push(String(error.message));
      isOver = true;
    });
    socket.send({ type: "response.create", model: "talk", input });
    await eventually("the answer", () => isOver);
    socket.close();
    return { events, errors };
  };
  const { events, errors } = await ask(`please repeat ${CARD} now`);
  assert.deepEqual(errors, []);
  const all = JSON.stringify(events);
  for (const canary of CANARIES) assert.ok(!all.includes(canary), all);
  assert.ok(all.includes("<CREDIT_CARD_1>"), all);
  const denied = await ask(`please repeat ${SSN} now`);
  assert.ok(
    denied.errors.some((it) => it.includes("Not here.")),
    denied.errors.join(),
  );
});

test("a reader that stops throttles the upstream, and no text appears elsewhere", async () => {
  const session = await open();
  session.socket.pause();
  session.sendEvent({ type: "response.created", response: { id: "resp_1", output: [] } });
  // Audio, since inspecting texts takes time.
  const long = Buffer.alloc(12_000, "sound").toString("base64");
  let sent = 0;
  while (session.far.bufferedAmount < 1 << 20 && sent < 4_000) {
    session.sendEvent({ type: "response.output_audio.delta", ...PLACE, content_index: 1, delta: long });
    sent++;
    if (sent % 50 === 0) await new Promise((resume) => setImmediate(resume));
  }
  assert.ok(session.far.bufferedAmount > 0, "the gateway read all of it");
  session.socket.resume();
  for (const event of done("x")) session.sendEvent(event);
  await eventually("the end", () => session.texts.some((it) => it.includes('"response.done"')));
  assert.equal(session.texts.filter((it) => it.includes(long)).length, sent);
  session.socket.close();
  await session.closed;
  await idle(gateway);
  const all = node.output() + (await (await fetch(String(gateway.metricsUrl))).text());
  for (const canary of CANARIES) assert.ok(!all.includes(canary), canary);
});
