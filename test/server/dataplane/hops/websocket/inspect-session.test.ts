/** Messages that a session's client and upstream receive from each other, with real guards. */
import assert from "node:assert/strict";
import test from "node:test";
import { type GatewayError, nullLog } from "../../../../../src/base/index.ts";
import { ANONYMOUS } from "../../../../../src/server/auth/index.ts";
import { findRoute } from "../../../../../src/server/core/dialects/index.ts";
import type { EffectiveProfile } from "../../../../../src/server/dataplane/governance/effective-profile.ts";
import type { Target } from "../../../../../src/server/dataplane/hops/model/resolve-target.ts";
import { inspectSession } from "../../../../../src/server/dataplane/hops/websocket/inspect-session.ts";
import type { RefusedMessage } from "../../../../../src/server/dataplane/hops/websocket/tunnel-types.ts";
import type { DecisionRecord } from "../../../../../src/server/dataplane/ports.ts";
import type { Guard } from "../../../../../src/server/snapshot/index.ts";
import { countedMetrics, guardOf } from "../../support/guards.ts";

const CARD = "4111 1111 1111 1111";
const OTHER = "5500 0000 0000 0004";

const RULES = [
  { name: "no-ssn", when: '"pii/US_SSN" in labels', action: "deny", message: "Not here." },
  { name: "cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"', operator: "placeholder" },
];
const guarding = (more: object = {}): Guard =>
  guardOf({
    detectors: [{ type: "pii", prefilter: "pure", apply_to: ["user", "output"] }],
    rules: RULES,
    ...more,
  });
const guard = guarding();

type Event = Readonly<Record<string, unknown>>;

interface Opened {
  /** Resolves once the event was judged. */
  readonly pass: (event: Event | string | Buffer, from?: "client" | "upstream") => Promise<void>;
  readonly end: () => Promise<void>;
  readonly close: () => void;
  /** Events of the upstream received by the client. */
  readonly events: Event[];
  readonly texts: string[];
  readonly farTexts: string[];
  readonly refused: RefusedMessage[];
  readonly records: DecisionRecord[];
  readonly counted: Record<string, number>;
  readonly held: () => number;
}

function open(current: () => Guard | undefined = () => guard, path = "/v1/realtime"): Opened {
  const route = findRoute("UPGRADE", path) ?? assert.fail(path);
  const records: DecisionRecord[] = [];
  const { metrics, counted } = countedMetrics();
  const refusals: GatewayError[] = [];
  let held = 0;
  const target = { route, dialect: "compat", model: "m", query: "" } as Target;
  const { inspector } = inspectSession({
    target,
    effective: { caller: ANONYMOUS, profile: { name: undefined }, variables: {} } as EffectiveProfile,
    guard: current,
    request: { requestId: "r", hop: "llm", route: route.name, to: "p", model: "m" },
    sinks: { trail: { record: (record) => records.push(record) }, metrics, log: nullLog },
    memory: {
      hold(bytes) {
        held += bytes;
      },
      release: (bytes) => {
        held -= bytes;
      },
    },
    span: undefined,
    endedSignal: new AbortController().signal,
    recordRefusal: (refusal) => refusals.push(refusal),
  });
  const texts: string[] = [];
  const farTexts: string[] = [];
  const events: Event[] = [];
  const refused: RefusedMessage[] = [];
  const receive = (data: Buffer): void => {
    texts.push(String(data));
    if (texts.at(-1)?.startsWith("{")) events.push(JSON.parse(texts.at(-1) ?? "") as Event);
  };
  inspector.attach("upstream", { pass: ({ data }) => receive(data), refuse: (why) => refused.push(why) });
  const take = async (from: "client" | "upstream", passing: ReturnType<typeof inspector.message>): Promise<void> => {
    const made = await passing;
    if (made.kind === "refused") refused.push(made);
    else if (from === "client") farTexts.push(...made.frames.map(({ data }) => String(data)));
    else for (const { data } of made.frames) receive(data);
  };
  return {
    pass: (event, from = "upstream") => {
      const data = Buffer.isBuffer(event)
        ? event
        : Buffer.from(typeof event === "string" ? event : JSON.stringify(event));
      return take(from, inspector.message(from, { data, isBinary: Buffer.isBuffer(event) }));
    },
    end: () => take("upstream", inspector.end("upstream")),
    close: inspector.close,
    ...{ events, texts, farTexts, refused, records, counted, held: () => held },
  };
}

interface ResponseForm {
  readonly delta?: string;
  readonly done?: string;
  readonly member?: string;
}

const TRANSCRIPT: ResponseForm = {
  delta: "response.output_audio_transcript.delta",
  done: "response.output_audio_transcript.done",
  member: "transcript",
};

/** A response as a provider sends it, with its text in these pieces. */
function response(id: string, pieces: readonly string[], form: ResponseForm = {}): Event[] {
  const { delta = "response.output_text.delta", done = "response.output_text.done", member = "text" } = form;
  const text = pieces.join("");
  const place = { response_id: id, item_id: `item_${id}`, output_index: 0, content_index: 0 };
  const type = member === "text" ? "output_text" : "output_audio";
  const whole = {
    ...{ id: `item_${id}`, object: "realtime.item", type: "message", role: "assistant", status: "completed" },
    content: [{ type, [member]: text }],
  };
  let sent = 0;
  const event = (kind: string, more: Event): Event => ({ type: kind, event_id: `event_${id}_${++sent}`, ...more });
  const begun = { ...whole, status: "in_progress", content: [] };
  return [
    event("response.created", { response: { id, status: "in_progress", output: [], instructions: "be kind" } }),
    event("response.output_item.added", { response_id: id, output_index: 0, item: begun }),
    event("conversation.item.added", { previous_item_id: null, item: begun }),
    event("response.content_part.added", { ...place, part: { type, [member]: "" } }),
    ...pieces.map((piece) => event(delta, { ...place, delta: piece })),
    event(done, { ...place, [member]: text }),
    event("response.content_part.done", { ...place, part: { type, [member]: text } }),
    event("conversation.item.done", { previous_item_id: null, item: whole }),
    event("response.output_item.done", { response_id: id, output_index: 0, item: whole }),
    event("response.done", { response: { id, status: "completed", output: [whole], usage: { total_tokens: 3 } } }),
  ];
}

const deltas = (events: readonly Event[]): string =>
  events
    .filter(({ type }) => String(type).endsWith(".delta"))
    .map(({ delta }) => delta)
    .join("");

for (const [what, form] of [
  ["text", {}],
  ["transcript", TRANSCRIPT],
] as const) {
  test(`a ${what} cut at every place shows nothing of a card, and its repetitions are consistent`, async () => {
    const text = `pay with ${CARD}, and that is it`;
    for (let cut = 1; cut < text.length; cut++) {
      const session = open();
      for (const event of response("a", [text.slice(0, cut), text.slice(cut)], form)) await session.pass(event);
      const all = session.texts.join("\n");
      assert.equal(deltas(session.events), "pay with <CREDIT_CARD_1>, and that is it", all);
      assert.ok(!/4111|1111/.test(all), all);
      assert.equal(all.split("<CREDIT_CARD_1>, and that is it").length, 7, all);
      assert.deepEqual(
        [session.events[0]?.["type"], session.events.at(-1)?.["type"]],
        ["response.created", "response.done"],
      );
      const ids = session.events.map((event) => event["event_id"]);
      assert.equal(new Set(ids).size, ids.length);
      // The value behind a placeholder.
      assert.ok(session.held() < 200);
      assert.equal(session.records.length, 1);
    }
  });
}

test("a text with one character per event, and arguments with escapes, are inspected", async () => {
  const session = open();
  for (const event of response("a", [...`it is ${CARD}`])) await session.pass(event);
  assert.equal(deltas(session.events), "it is <CREDIT_CARD_1>");
  const written = `{"card":"${CARD.replaceAll("1", "\\u0031")}","n":4}`;
  const place = { response_id: "b", item_id: "item_b", output_index: 0, call_id: "call_1" };
  const call = { id: "item_b", type: "function_call", call_id: "call_1", name: "pay", arguments: written };
  const kept = session.events.length;
  await session.pass({ type: "response.created", response: { id: "b", output: [] } });
  for (const delta of written) await session.pass({ type: "response.function_call_arguments.delta", ...place, delta });
  await session.pass({ type: "response.function_call_arguments.done", ...place, arguments: written });
  await session.pass({ type: "response.output_item.done", response_id: "b", output_index: 0, item: call });
  await session.pass({ type: "response.done", response: { id: "b", status: "completed", output: [call] } });
  const events = session.events.slice(kept);
  assert.equal(deltas(events), '{"card":"<CREDIT_CARD_1>","n":4}');
  for (const text of session.texts.slice(kept)) assert.ok(!text.includes("0031 "), text);
  const item = events.at(-2)?.["item"] as Event | undefined;
  assert.equal(item?.["arguments"], '{"card":"<CREDIT_CARD_1>","n":4}');
});

test("two concurrent responses are two texts, and a request meanwhile does not cut one", async () => {
  const session = open();
  const one = response("a", ["card 4111 1111", " 1111 1111."]);
  const two = response("b", ["card 5500 0000", " 0000 0004."]);
  const item = {
    id: "item_a",
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text: "card 4111 1111" }],
  };
  for (let i = 0; i < one.length; i++) {
    await session.pass(one[i] as Event);
    await session.pass(two[i] as Event);
    await session.pass({ type: "conversation.item.retrieved", event_id: `e${i}`, item });
    await session.pass({ type: "error", event_id: `f${i}`, error: { type: "invalid_request_error", message: "no" } });
  }
  assert.equal(
    deltas(session.events.filter((event) => event["response_id"] === "a")),
    "card <CREDIT_CARD_1>.",
    session.texts.join("\n"),
  );
  assert.equal(deltas(session.events.filter((event) => event["response_id"] === "b")), "card <CREDIT_CARD_2>.");
  assert.ok(!/1111 1111 1111|0004/.test(session.texts.join("\n")));
});

test("a transcription of the caller's speech and an error that repeats text are inspected too", async () => {
  const session = open();
  const place = { item_id: "item_u", content_index: 0 };
  const base = "conversation.item.input_audio_transcription";
  const transcript = `my card is ${CARD}`;
  for (const delta of [transcript.slice(0, 20), transcript.slice(20)])
    await session.pass({ type: `${base}.delta`, ...place, delta });
  const usage = { type: "duration", seconds: 3 };
  await session.pass({ type: `${base}.completed`, ...place, transcript, usage });
  await session.pass({ type: "error", error: { message: `Invalid value: ${CARD}`, code: "invalid_value" } });
  await session.pass({ type: "something.new", deep: [{ deeper: OTHER }] });
  await session.pass(`no JSON ${CARD}`);
  const all = session.texts.join("\n");
  assert.ok(!all.includes("1111") && !all.includes("0004"), all);
  assert.equal(deltas(session.events), "my card is <CREDIT_CARD_1>");
  assert.equal(
    session.events.find(({ type }) => type === `${base}.completed`)?.["transcript"],
    "my card is <CREDIT_CARD_1>",
  );
  assert.equal(session.texts.at(-1), "no JSON <CREDIT_CARD_1>");
});

test("events without text pass byte for byte; audio passes and is counted; echoed settings are no answer", async () => {
  const session = open();
  const passes = [
    '{ "type":"rate_limits.updated", "rate_limits":[{"name":"tokens","limit":1e3}]}',
    `{"type":"session.updated","session":{"instructions":"cards such as ${CARD}","voice":"alloy"}}`,
    '{"type":"response.output_audio.delta","response_id":"a","item_id":"i","output_index":0,"content_index":0,"delta":"NTM2LTkwLTQzOTk="}',
    '{"type":"conversation.item.retrieved","item":{"id":"i","content":[{"type":"input_audio","audio":"NTM2LTkwLTQzOTk="}]}}',
  ];
  for (const text of passes) await session.pass(text);
  assert.deepEqual(session.texts, passes);
  await session.pass(Buffer.alloc(32));
  assert.equal(session.counted["uninspected audio"], 3);
});

test("a denial shows only proven text, informs the client, and is recorded", async () => {
  const session = open();
  const events = response("a", ["the number is 536-90", "-4399, so", " there"]);
  for (const event of events) {
    await session.pass(event);
    if (session.refused.length > 0) break;
  }
  const [refused] = session.refused;
  assert.deepEqual([refused?.closing.code, refused?.closing.reason], [1008, "guardrail_denied"]);
  assert.ok(refused?.notice?.includes("Not here."));
  assert.ok(!/536|4399/.test(session.texts.join("\n")));
  assert.deepEqual(
    session.records.map(({ data }) => [data["decision"], data["direction"], data["rule"]]),
    [["deny", "response", "no-ssn"]],
  );
  session.close();
  assert.equal(session.records.length, 1);
});

test("placeholder numbers run through both directions", async () => {
  const session = open();
  await session.pass(
    { type: "conversation.item.create", item: { role: "user", content: [{ type: "input_text", text: OTHER }] } },
    "client",
  );
  assert.ok(session.farTexts[0]?.includes("<CREDIT_CARD_1>"), session.farTexts[0]);
  for (const event of response("a", [`not ${CARD} but ${OTHER}`])) await session.pass(event);
  assert.equal(deltas(session.events), "not <CREDIT_CARD_2> but <CREDIT_CARD_1>");
});

test("responses over WebSocket name their response once, and follow each other", async () => {
  const session = open(() => guard, "/v1/responses");
  for (const id of ["a", "b"]) {
    let sequence = 0;
    const place = { item_id: `msg_${id}`, output_index: 0, content_index: 0 };
    const whole = {
      id: `msg_${id}`,
      type: "message",
      content: [{ type: "output_text", text: `card ${CARD} of ${id}` }],
    };
    await session.pass({ type: "response.created", sequence_number: sequence++, response: { id, output: [] } });
    for (const delta of ["card 4111 1111", " 1111 1111 of", ` ${id}`]) {
      await session.pass({ type: "response.output_text.delta", sequence_number: sequence++, ...place, delta });
    }
    await session.pass({
      type: "response.output_text.done",
      sequence_number: sequence++,
      ...place,
      text: `card ${CARD} of ${id}`,
    });
    await session.pass({
      type: "response.completed",
      sequence_number: sequence++,
      response: { id, output: [whole], usage: {} },
    });
    const mine = session.events.splice(0);
    assert.equal(deltas(mine), `card <CREDIT_CARD_1> of ${id}`);
    const numbers = mine.map((event) => Number(event["sequence_number"]));
    assert.ok(
      numbers.every((number, at) => at === 0 || number > (numbers[at - 1] ?? 0)),
      String(numbers),
    );
    assert.ok(JSON.stringify(mine.at(-1)).includes(`card <CREDIT_CARD_1> of ${id}`));
  }
  assert.ok(session.held() < 200);
  assert.equal(session.records.length, 2);
});

test("held-back text is judged and shown before the close when the upstream closes", async () => {
  const session = open();
  for (const event of response("a", [`card ${CARD}`]).slice(0, 5)) await session.pass(event);
  assert.ok(!deltas(session.events).includes("<"));
  await session.end();
  assert.equal(deltas(session.events), "card <CREDIT_CARD_1>");
  session.close();
  assert.ok(session.held() < 200);
  assert.equal(session.records.length, 1);
});

test("new guardrails apply from the next event on, and an answer keeps those it began with", async () => {
  let current: Guard | undefined;
  const session = open(() => current);
  const events = response("a", ["card 4111 1111", " 1111 1111"]);
  for (const event of events) await session.pass(event);
  assert.ok(deltas(session.events).includes(CARD));
  session.events.length = 0;
  current = guard;
  const later = response("b", ["card 4111 1111", " 1111 1111"]);
  for (const [at, event] of later.entries()) {
    if (at === 5) current = undefined;
    await session.pass(event);
  }
  assert.equal(deltas(session.events), "card <CREDIT_CARD_1>");
});

test("with `policy: buffer` a response is shown once it is complete", async () => {
  const buffering = guarding({ stream: { policy: "buffer" } });
  const session = open(() => buffering);
  const events = response("a", ["card 4111 1111", " 1111 1111."]);
  for (const event of events.slice(0, -1)) await session.pass(event);
  assert.equal(session.texts.length, 0);
  await session.pass(events.at(-1) as Event);
  assert.equal(session.texts.length, events.length);
  assert.ok(!session.texts.join("\n").includes("1111"));
  assert.equal(deltas(session.events), "card <CREDIT_CARD_1>.");
});

test("values with placeholders are limited in number, and above the limit the session ends", async () => {
  const session = open(() => mails);
  let event = 0;
  while (session.refused.length === 0 && event < 500) {
    const words = Array.from({ length: 1_000 }, (_, at) => `${"m".repeat(50)}${event}-${at}@example.com`);
    event++;
    await session.pass({ type: "response.create", response: { instructions: "", input: words.join(" ") } }, "client");
  }
  assert.deepEqual(
    session.refused.map(({ closing }) => [closing.code, closing.reason]),
    [[1013, "overloaded"]],
  );
  assert.ok(session.held() > 7 << 20 && session.held() <= 8 << 20, String(session.held()));
});
const mails = guardOf({
  detectors: [{ type: "pii", prefilter: "pure", entities: ["EMAIL_ADDRESS"], apply_to: ["user"] }],
  rules: [{ name: "mails", action: "redact", select: "true", operator: "placeholder" }],
});

test("many endless answers and endless ids keep a bounded number of answers", async () => {
  const session = open();
  for (let i = 0; i < 500; i++) {
    for (const event of response(`r${i}`, ["never ends 4111"]).slice(0, 5)) await session.pass(event);
  }
  assert.ok(session.held() < 2_000_000, `${session.held()} bytes`);
  session.close();
  assert.equal(session.held(), 0);
});

test("a refused client is informed in the format of its route", async () => {
  for (const [path, id] of Object.entries({ "/v1/realtime": "event_r", "/v1/responses": undefined })) {
    const session = open(() => guard, path);
    await session.pass({ type: "response.create", input: "536-90-4399" }, "client");
    const notice = JSON.parse(session.refused[0]?.notice ?? "{}") as Event;
    const { code, message } = notice["error"] as Event;
    assert.deepEqual(
      [notice["type"], notice["event_id"], code, message],
      ["error", id, "guardrail_denied", "Not here."],
    );
  }
});
