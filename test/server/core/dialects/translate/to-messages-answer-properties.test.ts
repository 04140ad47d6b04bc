/** Properties of any answer, however the provider cuts it into chunks, and of any other input. */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { MAX_HELD } from "../../../../../src/server/core/dialects/translate/chat-answers/block-queue.ts";
import {
  chatAsEvents,
  chatToMessage,
} from "../../../../../src/server/core/dialects/translate/to-messages/chat-to-message.ts";
import { openEventStream } from "../../../../../src/server/core/dialects/translate/to-messages/event-stream.ts";
import { AnswerProblem } from "../../../../../src/server/core/dialects/translate/types.ts";
import {
  bytesOf,
  framesOf,
  messageOf,
  readGolden,
  STAMP,
  type StreamCase,
  termsOf,
  textOf,
  translate,
  type WholeCase,
} from "./to-messages-answer-support.ts";

const TERMS = termsOf({ showsThinking: true });

interface Call {
  readonly name: string;
  readonly input: string;
}

/** An answer in neither form. */
interface Answer {
  readonly reasoning: string;
  readonly content: string;
  readonly refusal: string;
  readonly calls: readonly Call[];
  readonly finishReason: string | null;
  readonly usage: object | undefined;
}

const texts = fc.string({ unit: "binary", maxLength: 12 });
const counts = fc.nat(5_000);

const answers: fc.Arbitrary<Answer> = fc.record({
  reasoning: texts,
  content: texts,
  refusal: fc.oneof({ arbitrary: fc.constant(""), weight: 4 }, texts),
  calls: fc.array(
    fc.record({
      name: fc.constantFrom("f", "g", "short_name", "__proto__"),
      input: fc.oneof(
        fc.constant(""),
        fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }).map((object) => JSON.stringify(object)),
      ),
    }),
    { maxLength: 4 },
  ),
  finishReason: fc.constantFrom("stop", "length", "tool_calls", "content_filter", "", "eos", null),
  usage: fc.option(
    fc.record({
      prompt_tokens: counts,
      completion_tokens: counts,
      prompt_tokens_details: fc.record({ cached_tokens: counts, cache_write_tokens: counts }),
    }),
    { nil: undefined },
  ),
});

const nameOf = (at: number): string => `call_${at}`;

function wholeOf({ reasoning, content, refusal, calls, finishReason, usage }: Answer): string {
  const message = {
    role: "assistant",
    content: content === "" ? null : content,
    refusal,
    reasoning_content: reasoning,
    tool_calls: calls.map(({ name, input }, at) => ({ id: nameOf(at), function: { name, arguments: input } })),
  };
  return JSON.stringify({ id: "c", choices: [{ index: 0, message, finish_reason: finishReason }], usage });
}

/** Random places to cut at, as many as requested. */
type Cuts = (text: string) => readonly string[];

function cutter(numbers: readonly number[]): Cuts {
  let at = 0;
  return (text) => {
    const pieces: string[] = [];
    for (let from = 0; from < text.length; ) {
      const length = 1 + ((numbers[at++ % numbers.length] ?? 0) % 6);
      pieces.push(text.slice(from, from + length));
      from += length;
    }
    return pieces;
  };
}

interface Habits {
  readonly hasIndexes: boolean;
  readonly repeatsIds: boolean;
  readonly interleaves: boolean;
  readonly repeatsRole: boolean;
  readonly saysDone: boolean;
  readonly usageAt: "every chunk" | "the finish chunk" | "the end";
  readonly cuts: readonly number[];
}

const habits: fc.Arbitrary<Habits> = fc.record({
  hasIndexes: fc.boolean(),
  repeatsIds: fc.boolean(),
  interleaves: fc.boolean(),
  repeatsRole: fc.boolean(),
  saysDone: fc.boolean(),
  usageAt: fc.constantFrom("every chunk", "the finish chunk", "the end"),
  cuts: fc.array(fc.nat(), { minLength: 1, maxLength: 20 }),
});

/** Without indexes only ids distinguish fragments, and calls can interleave only if each has one. */
function fragmentsOf(calls: readonly Call[], input: Habits, cut: Cuts): readonly object[] {
  const { hasIndexes, repeatsIds } = input;
  const queues = calls.map(({ name, input }, at) =>
    ["", ...cut(input)].map((piece, place) => ({
      ...(hasIndexes && { index: at }),
      ...((place === 0 || repeatsIds) && { id: nameOf(at) }),
      function: { ...(place === 0 && { name }), arguments: piece },
    })),
  );
  if (!input.interleaves || !(hasIndexes || repeatsIds)) return queues.flat();
  const rounds = Math.max(0, ...queues.map((queue) => queue.length));
  return Array.from({ length: rounds }, (_, round) => queues.flatMap((queue) => queue.slice(round, round + 1))).flat();
}

function streamOf(answer: Answer, input: Habits): Buffer {
  const cut = cutter(input.cuts);
  const deltas: object[] = [
    { role: "assistant", content: "" },
    ...cut(answer.reasoning).map((piece) => ({ reasoning_content: piece, content: null })),
    ...cut(answer.content).map((piece) => ({ content: piece, tool_calls: [] })),
    ...cut(answer.refusal).map((piece) => ({ refusal: piece })),
    ...fragmentsOf(answer.calls, input, cut).map((fragment) => ({ content: "", tool_calls: [fragment] })),
  ];
  const { usage } = answer;
  const chunks: object[] = deltas.map((delta) => ({
    id: "c",
    choices: [{ index: 0, delta: input.repeatsRole ? { role: "assistant", ...delta } : delta, finish_reason: null }],
    ...(input.usageAt === "every chunk" && usage !== undefined && { usage: { ...usage, completion_tokens: 0 } }),
  }));
  chunks.push({
    id: "c",
    choices: [{ index: 0, delta: {}, finish_reason: answer.finishReason }],
    usage: input.usageAt === "the end" ? null : usage,
  });
  if (input.usageAt === "the end") chunks.push({ id: "c", choices: [], usage });
  const isTold = typeof answer.finishReason === "string" && answer.finishReason !== "";
  return bytesOf([...chunks, input.saysDone || !isTold ? "data: [DONE]\n\n" : ": bye\n\n"]);
}

test("an answer is the same whole, as one stream and in chunks of any cut, with any provider quirk", () => {
  fc.assert(
    fc.property(answers, habits, (answer, input) => {
      const whole = wholeOf(answer);
      const message = JSON.parse(chatToMessage(whole, TERMS, STAMP));
      assert.deepEqual(messageOf(chatAsEvents(whole, TERMS, STAMP)), message);
      const { frames, problem, state } = translate([streamOf(answer, input)], TERMS);
      assert.deepEqual([problem, state], [undefined, "ended"]);
      assert.deepEqual(messageOf(frames), message);
    }),
    { numRuns: 250, verbose: 1 },
  );
});

test("a stream that breaks between any two events ends normally only if the provider gave a finish reason", () => {
  const cases = ["streams.json", "deviations.json"].flatMap((name) => readGolden<StreamCase>(name));
  for (const { row, terms, given } of cases) {
    for (let count = 0; count < given.length; count++) {
      const sent = given.slice(0, count);
      const hasReason = sent.some((each) => /"finish_reason": ?"[a-z_]+"|\[DONE\]/.test(textOf(each)));
      const { frames, state } = translate([bytesOf(sent)], termsOf(terms));
      if (!hasReason) assert.equal(state, "open", row);
      if (state !== "ended") assert.doesNotMatch(frames, /message_delta|message_stop/, row);
    }
  }
});

/** Returns the value with one of its parts replaced, the root included. */
function withPart(value: unknown, path: readonly number[], part: unknown): unknown {
  const [first, ...rest] = path;
  if (first === undefined || typeof value !== "object" || value === null) return part;
  const entries = Object.entries(value);
  if (entries.length === 0) return part;
  const [name, member] = entries[first % entries.length] ?? assert.fail();
  const changed = withPart(member, rest, part);
  if (Array.isArray(value)) return value.map((item, at) => (String(at) === name ? changed : item));
  return { ...value, [name]: changed };
}

const paths = fc.array(fc.nat(50), { maxLength: 9 });
const junk = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(null, "", 0, -1, 1e300, [], {}, [[]], [null], "{", "}", '"', "[DONE]", "error", { text: 1 }),
);

test("any value in place of any part of an answer is translated or is a problem", () => {
  const cases = readGolden<WholeCase>("whole.json").filter(({ given }) => typeof given === "object");
  fc.assert(
    fc.property(fc.constantFrom(...cases), paths, junk, ({ given, terms }, path, part) => {
      const body = JSON.stringify(withPart(given, path, part));
      for (const each of [chatToMessage, chatAsEvents]) {
        try {
          const text = each(body, termsOf(terms), STAMP);
          if (each === chatToMessage) assert.equal(JSON.parse(text).type, "message");
          else assert.ok(messageOf(text));
        } catch (error) {
          assert.ok(error instanceof AnswerProblem, String(error));
        }
      }
    }),
    { numRuns: 3_000, verbose: 1 },
  );
});

test("with any value in place of any part of a stream its frames are well formed", () => {
  const cases = ["streams.json", "deviations.json", "broken.json"].flatMap((name) => readGolden<StreamCase>(name));
  fc.assert(
    fc.property(fc.constantFrom(...cases), fc.nat(40), paths, junk, ({ given, terms }, place, path, part) => {
      const changed = given.map((sent, at) =>
        at === place % given.length && typeof sent === "object" ? (withPart(sent, path, part) as object) : sent,
      );
      const { frames, state } = translate([bytesOf(changed)], termsOf(terms));
      assert.equal(messageOf(frames) !== undefined, state === "ended");
      if (state === "failed") assert.equal(framesOf(frames).at(-1)?.type, "error");
    }),
    { numRuns: 3_000, verbose: 1 },
  );
});

const chunk = (...calls: readonly object[]): string =>
  JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: calls } }] });

test("the buffer for interleaved calls is bounded in total", () => {
  const stream = openEventStream(TERMS, STAMP);
  stream.translateEvent("", chunk({ index: 0, id: "a", function: { name: "f", arguments: '{"a":' } }));
  const fragment = "x".repeat(1 << 20);
  let sent = 0;
  assert.throws(() => {
    for (let index = 1; index < 20; index++) {
      const text = stream.translateEvent(
        "",
        chunk({ index, id: `c${index}`, function: { name: "g", arguments: `{"${fragment}` } }),
      );
      assert.equal(text, "");
      sent += fragment.length;
    }
  }, AnswerProblem);
  assert.ok(sent < MAX_HELD && sent >= MAX_HELD - 2 * fragment.length, String(sent));
});

test("an open call is not buffered, however long its arguments are", () => {
  const stream = openEventStream(TERMS, STAMP);
  stream.translateEvent("", chunk({ index: 0, id: "a", function: { name: "f", arguments: '{"a":"' } }));
  const fragment = "x".repeat(1 << 20);
  for (let count = 0; count < 20; count++) {
    const text = stream.translateEvent("", chunk({ index: 0, function: { arguments: fragment } }));
    assert.ok(text.length > fragment.length);
  }
  assert.match(stream.translateEvent("", chunk({ index: 0, function: { arguments: '"}' } })), /partial_json/);
});

test("unlimited calls are a problem and not a memory leak", () => {
  const stream = openEventStream(TERMS, STAMP);
  assert.throws(() => {
    for (let index = 0; index < 100_000; index++) {
      stream.translateEvent("", chunk({ index, id: `c${index}`, function: { name: "f", arguments: "{}" } }));
    }
  }, AnswerProblem);
});

test("nothing follows after an end or a failure", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const hi = JSON.stringify({ choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }], usage });
  for (const [last, state] of [
    ["[DONE]", "ended"],
    ['{"error":{"message":"No"}}', "failed"],
  ] as const) {
    const stream = openEventStream(TERMS, STAMP);
    assert.equal(stream.keepAlive(), ": ping\n\n");
    stream.translateEvent("", hi);
    assert.equal(stream.keepAlive(), 'event: ping\ndata: {"type":"ping"}\n\n');
    assert.notEqual(stream.translateEvent("", last), "");
    assert.equal(stream.state, state);
    assert.deepEqual(
      [stream.translateEvent("", hi), stream.translateEvent("", "{"), stream.keepAlive(), stream.end()],
      ["", "", "", ""],
    );
  }
});

test("the frames match the dialect byte for byte", () => {
  const stream = openEventStream(termsOf({}), STAMP);
  const frames =
    stream.translateEvent(
      "",
      '{"id":"c","model":"model-sent","choices":[{"index":0,"delta":{"content":"\u2028\\n"}}]}',
    ) +
    stream.translateEvent("", '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}') +
    stream.end();
  assert.deepEqual(frames.split("\n"), [
    "event: message_start",
    'data: {"type":"message_start","message":{"id":"c","type":"message","role":"assistant","model":"model-asked","content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}',
    "",
    "event: content_block_start",
    'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    "",
    "event: content_block_delta",
    'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\u2028\\n"}}',
    "",
    "event: content_block_stop",
    'data: {"type":"content_block_stop","index":0}',
    "",
    "event: message_delta",
    'data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null,"stop_details":null},"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0,"output_tokens_details":{"thinking_tokens":0}}}',
    "",
    "event: message_stop",
    'data: {"type":"message_stop"}',
    "",
    "",
  ]);
});
