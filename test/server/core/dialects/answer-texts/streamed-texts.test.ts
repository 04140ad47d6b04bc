/** Texts of a stream: by channel, held back, rewritten, and returned in frames that clients can assemble. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { type Dialect, readAnswerTexts } from "../../../../../src/server/core/dialects/index.ts";
import { drive, eventsOf, hide, hiding, holding, showing, streamOf } from "./driver.ts";

const golden = (name: string): readonly { readonly row: string; readonly given: readonly unknown[] }[] =>
  JSON.parse(readFileSync(new URL(`../translate/golden/${name}.json`, import.meta.url), "utf8"));

const chat = (choice: unknown, more: object = {}): object => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [choice],
  ...more,
});
const delta = (own: object, finish: string | null = null, index = 0): object =>
  chat({ index, delta: own, logprobs: null, finish_reason: finish });
const call = (own: string, id?: string): object =>
  delta({
    tool_calls: [
      { index: 0, ...(id && { id, type: "function" }), function: { ...(id && { name: "f" }), arguments: own } },
    ],
  });

const CHAT = [
  delta({ role: "assistant", content: "" }),
  delta({ reasoning_content: "I think SEC" }),
  delta({ reasoning_content: "RET" }),
  delta({ content: "my SE" }),
  delta({ content: "CRET is" }),
  delta({ content: "other SECRE" }, null, 1),
  call("", "t1"),
  call('{"a": 1.0, "SECRET'),
  call('": "x \\u0'),
  call("0e9 SEC"),
  call("RET\\"),
  call('n", "b": ["SECRET", ""], "c":"'),
  call('end"}'),
  delta({}, "tool_calls"),
  delta({ content: "T" }, "stop", 1),
  { id: "c1", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage: { total_tokens: 3 } },
  "[DONE]",
];

const item = { id: "m1", type: "message", role: "assistant" };
const part = (text: string): object => ({ type: "output_text", text, annotations: [], logprobs: [] });
const at = { item_id: "m1", output_index: 1, content_index: 0 };
const ARGS = '{"q":"SECRET \\u0041"}';
const message = { ...item, content: [part("my SECRET word")] };
const invoked = { id: "f1", type: "function_call", call_id: "k", name: "f", arguments: ARGS };
const thought = {
  id: "r1",
  type: "reasoning",
  summary: [{ type: "summary_text", text: "SECRET why" }],
  encrypted_content: "E",
};
const responses = [
  {
    type: "response.created",
    response: { id: "r", object: "response", instructions: "SECRET of the caller", output: [] },
  },
  { type: "response.output_item.added", output_index: 0, item: { ...thought, summary: [] } },
  { type: "response.reasoning_summary_text.delta", item_id: "r1", output_index: 0, summary_index: 0, delta: "SECRE" },
  { type: "response.reasoning_summary_text.delta", item_id: "r1", output_index: 0, summary_index: 0, delta: "T why" },
  {
    type: "response.reasoning_summary_text.done",
    item_id: "r1",
    output_index: 0,
    summary_index: 0,
    text: "SECRET why",
  },
  {
    type: "response.reasoning_summary_part.done",
    item_id: "r1",
    output_index: 0,
    summary_index: 0,
    part: thought.summary[0],
  },
  { type: "response.output_item.done", output_index: 0, item: thought },
  { type: "response.output_item.added", output_index: 1, item: { ...item, content: [] } },
  { type: "response.content_part.added", ...at, part: part("") },
  { type: "response.output_text.delta", ...at, delta: "my SEC", logprobs: [] },
  { type: "response.output_text.delta", ...at, delta: "RET word", logprobs: [] },
  { type: "response.output_text.done", ...at, text: "my SECRET word", logprobs: [] },
  { type: "response.content_part.done", ...at, part: part("my SECRET word") },
  { type: "response.output_item.done", output_index: 1, item: message },
  { type: "response.output_item.added", output_index: 2, item: { ...invoked, arguments: "" } },
  { type: "response.function_call_arguments.delta", item_id: "f1", output_index: 2, delta: ARGS.slice(0, 9) },
  { type: "response.function_call_arguments.delta", item_id: "f1", output_index: 2, delta: ARGS.slice(9, 13) },
  { type: "response.function_call_arguments.delta", item_id: "f1", output_index: 2, delta: ARGS.slice(13) },
  { type: "response.function_call_arguments.done", item_id: "f1", output_index: 2, arguments: ARGS },
  { type: "response.output_item.done", output_index: 2, item: invoked },
  {
    type: "response.completed",
    response: { id: "r", object: "response", output: [thought, message, invoked], usage: {} },
  },
].map((event, sequence_number) => ({ ...event, sequence_number }));

const MESSAGES = [
  {
    type: "message_start",
    message: { id: "m", type: "message", role: "assistant", model: "m", content: [], usage: {} },
  },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "SEC" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "RET why" } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "proof" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
  { type: "ping" },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "my SECRE" } },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "T" } },
  { type: "content_block_stop", index: 1 },
  { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "t", name: "f", input: {} } },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: "" } },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"a":"SEC' } },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: 'RET","b":' } },
  { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: "2.0}" } },
  { type: "content_block_stop", index: 2 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: "message_stop" },
];

interface Case {
  readonly what: string;
  readonly dialect: Dialect;
  readonly route: string;
  readonly given: readonly unknown[];
}

const OWN: readonly Case[] = [
  { what: "chat", dialect: "compat", route: "chat_completions", given: CHAT },
  { what: "messages", dialect: "messages", route: "messages", given: MESSAGES },
  { what: "responses", dialect: "compat", route: "responses", given: responses },
];
const cases = (name: string, dialect: Dialect, route: string): readonly Case[] =>
  golden(name).map(({ row, given }) => ({ what: row, dialect, route, given }));
const SOUND: readonly Case[] = [
  ...cases("to-compat-answer/streams", "messages", "messages"),
  ...cases("to-messages-answer/streams", "compat", "chat_completions"),
];
const GOLDEN: readonly Case[] = [
  ...SOUND,
  ...cases("to-compat-answer/broken-streams", "messages", "messages"),
  ...cases("to-messages-answer/broken", "compat", "chat_completions"),
];

/** Returns everything that a client's stream helper assembles: each string by its place, with deltas joined. */
function assembled(stream: string): ReadonlyMap<string, string> {
  const made = new Map<string, string>();
  for (const { data } of eventsOf(stream)) {
    if (!data?.startsWith("{")) continue;
    const event = JSON.parse(data);
    const add = (place: string, text: unknown): void => {
      if (typeof text === "string") made.set(place, (made.get(place) ?? "") + text);
    };
    for (const choice of Array.isArray(event.choices) ? event.choices : []) {
      const { tool_calls: calls = [], ...own } = choice?.delta ?? {};
      for (const [name, text] of Object.entries(own)) add(`${choice.index} ${name}`, text);
      for (const one of calls ?? []) {
        add(`${choice.index} call ${one.index} id`, one.id);
        add(`${choice.index} call ${one.index} name`, one.function?.name);
        add(`${choice.index} call ${one.index}`, one.function?.arguments);
      }
      add(`${choice.index} finish`, choice.finish_reason);
    }
    for (const name of event.type === "content_block_start" ? ["text", "thinking"] : []) {
      add(`${event.index} ${name}`, event.content_block?.[name]);
    }
    if (event.type === "content_block_delta") {
      for (const [name, text] of Object.entries(event.delta ?? {}))
        if (name !== "type") add(`${event.index} ${name}`, text);
    }
    const { output_index: output, content_index: content, summary_index: summary } = event;
    if (/\.delta$/.test(event.type ?? "")) add(`${output} ${content ?? summary ?? ""}`, event.delta);
  }
  return new Map([...made].filter(([, text]) => text !== ""));
}

for (const { what, dialect, route, given } of OWN) {
  const stream = streamOf(given);

  test(`${what}: held-back text is shown in time, and the word is never shown`, () => {
    const whole = assembled(stream);
    const signed = (place: string, text: string): string => (place === "0 signature" ? "" : text);
    const expected = new Map(
      [...whole]
        .map(([place, text]): [string, string] => [place, signed(place, hide(text).replace('"[x]":', '"SECRET":'))])
        .filter(([, text]) => text !== ""),
    );
    for (const open of [hiding, holding]) {
      const { shown } = drive(dialect, route, eventsOf(stream), open);
      const decoded = (texts: ReadonlyMap<string, string>): unknown =>
        new Map([...texts].map(([place, text]) => [place, text.startsWith("{") ? JSON.parse(text) : text]));
      assert.deepEqual(decoded(assembled(shown)), decoded(expected));
      const rest = shown.replaceAll('"SECRET', "").replace("SECRET of the caller", "").replaceAll('\\"SECRET\\":', "");
      assert.ok(!rest.includes("SECRET") && !/SEC(?!RET)/.test(rest), rest);
    }
  });

  test(`${what}: cut at any event, held-back text is shown before the end`, () => {
    for (let count = 0; count <= given.length; count++) {
      const cut = streamOf(given.slice(0, count));
      const before = assembled(cut);
      const after = assembled(drive(dialect, route, eventsOf(cut), holding).shown);
      for (const [place, text] of before) {
        if (place === "0 signature" || text.startsWith("{")) continue;
        assert.equal(after.get(place), hide(text), `${count}: ${place}`);
      }
    }
  });
}

test("every golden stream, cut at each event, keeps its bytes while nothing changes", () => {
  for (const { what, dialect, route, given } of [...GOLDEN, ...OWN]) {
    for (let count = 1; count <= given.length; count++) {
      const stream = streamOf(given.slice(0, count));
      const { shown } = drive(dialect, route, eventsOf(stream), showing);
      // A truncated escape is held back until it is complete.
      if (given === CHAT) assert.deepEqual(assembled(shown), assembled(stream));
      else assert.equal(shown, stream, `${what}: ${count}`);
    }
  }
});

test("every golden stream has the same content if its texts are held back to their ends", () => {
  for (const { what, dialect, route, given } of SOUND) {
    const stream = streamOf(given);
    assert.deepEqual(assembled(drive(dialect, route, eventsOf(stream), holding).shown), assembled(stream), what);
  }
});

test("repeated texts of responses show what their pieces showed; different ones are inspected separately", () => {
  const { shown, texts } = drive("compat", "responses", eventsOf(streamOf(responses)), hiding);
  const events = eventsOf(shown).map(({ data }) => JSON.parse(data ?? ""));
  const last = events.at(-1).response.output;
  assert.deepEqual(
    [last[0].summary[0].text, last[0].encrypted_content, last[1].content[0].text, JSON.parse(last[2].arguments)],
    ["[x] why", null, "my [x] word", { q: "[x] A" }],
  );
  const numbers = events.map((event) => event.sequence_number);
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].toSorted((one, other) => one - other),
  );
  assert.deepEqual([...texts.keys()], ["output.0.summary.0.text", "output.1.content.0.text", "output.2.arguments#0"]);
  const withRepetition = [responses[9], { ...responses[11], text: "another SECRET" }];
  const translated = eventsOf(drive("compat", "responses", eventsOf(streamOf(withRepetition)), holding).shown);
  assert.deepEqual(
    translated.map(({ data }) => JSON.parse(data ?? "")).map((event) => event.delta ?? event.text),
    ["my SEC", "another [x]"],
  );
});

test("token lists of a choice are dropped with its text, and a frame with more than text stays", () => {
  const tokens = { content: [{ token: "SECRET" }] };
  const stream = streamOf([
    chat({ index: 0, delta: { role: "assistant", content: "SECRET" }, logprobs: tokens, finish_reason: null }),
    chat({ index: 0, delta: { content: "SEC" }, logprobs: null, finish_reason: null }),
    chat({ index: 0, delta: { content: "." }, finish_reason: "stop" }, { usage: { total_tokens: 1 } }),
  ]);
  const { shown } = drive("compat", "chat_completions", eventsOf(stream), holding);
  const events = eventsOf(shown).map(({ data }) => JSON.parse(data ?? ""));
  assert.deepEqual(
    events.map(({ choices: [choice], usage }) => [choice.delta, choice.logprobs, choice.finish_reason, usage]),
    [
      [{ role: "assistant", content: "" }, null, null, undefined],
      [{ content: "[x]SEC." }, undefined, "stop", { total_tokens: 1 }],
    ],
  );
});

test("data that is not JSON is one text with its own lines", () => {
  const stream = "event: odd\ndata: SECRET\ndata: two\n\n";
  assert.equal(
    drive("compat", "chat_completions", eventsOf(stream), hiding).shown,
    "event: odd\ndata: [x]\ndata: two\n\n",
  );
});

test("data that looks like another field of its event is rewritten in place", () => {
  const alike = "event: SECRET\ndata: SECRET\nid: 7\n\n";
  const { shown } = drive("compat", "chat_completions", eventsOf(alike), hiding);
  assert.equal(shown, "event: SECRET\ndata: [x]\nid: 7\n\n");
});

test("arguments in any fragments give the string values of the whole, and are JSON again", () => {
  const value = fc.dictionary(fc.string(), fc.jsonValue({ stringUnit: "binary" }));
  fc.assert(
    fc.property(value, fc.array(fc.nat(40), { maxLength: 12 }), fc.boolean(), (args, sizes, isEscaped) => {
      const plain = JSON.stringify(args);
      const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
      const json = isEscaped ? plain.replace(/[^\x20-\x7e]/g, escaped) : plain;
      const fragments: string[] = [];
      let from = 0;
      for (const size of sizes) {
        fragments.push(json.slice(from, from + size));
        from += size;
      }
      fragments.push(json.slice(from));
      const events = eventsOf(streamOf([...fragments.map((each) => call(each)), delta({}, "tool_calls")]));
      const whole = readAnswerTexts(
        "chat_completions",
        "compat",
        Buffer.from(JSON.stringify({ choices: [{ message: { tool_calls: [{ function: { arguments: json } }] } }] })),
      );
      const { shown, texts } = drive("compat", "chat_completions", events, showing);
      assert.deepEqual(
        [...texts.values()],
        whole.texts.map(({ text }) => text),
      );
      assert.equal(assembled(shown).get("0 call 0") ?? "", json);
      const held = drive("compat", "chat_completions", events, holding).shown;
      assert.deepEqual(JSON.parse(assembled(held).get("0 call 0") ?? ""), JSON.parse(json));
    }),
  );
});

test("arguments that turn out not to be JSON are text from there on", () => {
  for (const [json, expected] of [
    ["SECRET", "[x]"],
    ['{"a":SECRET}', '{"a":[x]}'],
    ['{"a":1} SECRET', '{"a":1} [x]'],
    ['{"a":"SECRET', '{"a":"[x]'],
    ['{"a":"SECRET\\u00', '{"a":"[x]\\u00'],
    ["4111 1111 SECRET", "4111 1111 [x]"],
  ] as const) {
    const events = eventsOf(streamOf([...[...json].map((char) => call(char)), delta({}, "stop")]));
    for (const open of [hiding, holding]) {
      assert.equal(assembled(drive("compat", "chat_completions", events, open).shown).get("0 call 0"), expected);
    }
  }
});

test("arguments that are sent cumulatively are inspected once, and shown as pieces", () => {
  const json = '{"a":"x SECRET y","b":{"SECRET":["SECRET",1.5,"\\u0040 {"]}}';
  const hidden = '{"a":"x [x] y","b":{"SECRET":["[x]",1.5,"\\u0040 {"]}}';
  for (const size of [1, 3, 7, 20]) {
    const ends = Array.from({ length: Math.ceil(json.length / size) }, (_, at) => (at + 1) * size);
    const repeated = [...ends, json.length].map((end) => call(json.slice(0, end)));
    const events = eventsOf(streamOf([call("", "t1"), ...repeated, delta({}, "tool_calls"), "[DONE]"]));
    for (const open of [showing, hiding, holding]) {
      const { shown } = drive("compat", "chat_completions", events, open);
      assert.equal(assembled(shown).get("0 call 0"), open === showing ? json : hidden, `${size}`);
    }
  }
});

test("arguments in pieces that look like a repetition are pieces", () => {
  for (const pieces of [
    ['{"', '{":1}'],
    ['{"a":', '{"a":1}', "}"],
    ['{"a":[', '{"a":[', "]}]}"],
    ['{"a":"', "{", '"}'],
  ]) {
    const events = eventsOf(streamOf([...pieces.map((each) => call(each)), delta({}, "tool_calls")]));
    assert.equal(
      drive("compat", "chat_completions", events, showing).shown,
      streamOf([...pieces.map((each) => call(each)), delta({}, "tool_calls")]),
    );
  }
});
