/** Properties of any answer, from either dialect and cut anywhere, and of any other input. */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { responsesReading } from "../../../../../src/server/core/dialects/translate/to-responses/answer-to-response.ts";
import { AnswerProblem } from "../../../../../src/server/core/dialects/translate/types.ts";
import {
  bytesOf,
  eventsOf,
  OPEN_SEAL,
  responseOf,
  type Sent,
  SOURCES,
  type Source,
  STAMP,
  TRANSCRIPTS,
  termsOf,
  translate,
} from "./to-responses-answer-support.ts";

interface Call {
  readonly name: string;
  readonly input: object;
}

/** An answer in neither dialect. */
interface Answer {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly Call[];
  readonly ending: "end" | "cut" | "filtered";
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

const answers: fc.Arbitrary<Answer> = fc.record({
  reasoning: fc.string({ unit: "binary", maxLength: 12 }),
  text: fc.string({ unit: "binary", maxLength: 12 }),
  calls: fc.array(
    fc.record({
      name: fc.constantFrom("f", "apply_patch", "mcp__fs__read", "mcp__fs__edit", "__proto__"),
      input: fc.oneof(
        fc.record({ input: fc.string({ unit: "binary" }) }),
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }).map((of) => ({ a: 1, ...of })),
      ),
    }),
    { maxLength: 4 },
  ),
  ending: fc.constantFrom("end", "cut", "filtered"),
  input: fc.nat(5_000),
  cached: fc.nat(5_000),
  output: fc.nat(5_000),
});

function cutter(numbers: readonly number[]): (text: string) => readonly string[] {
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

const STOPS = { end: "end_turn", cut: "max_tokens", filtered: "refusal" } as const;
const FINISHES = { end: "stop", cut: "length", filtered: "content_filter" } as const;

interface ProviderAnswer {
  readonly whole: string;
  readonly stream: readonly Sent[];
}

function fromMessages(answer: Answer, cut: (text: string) => readonly string[]): ProviderAnswer {
  const { reasoning, text, calls, ending, input, cached, output } = answer;
  const usage = { input_tokens: input, cache_read_input_tokens: cached, output_tokens: output };
  const content = [
    ...(reasoning === "" ? [] : [{ type: "thinking", thinking: reasoning, signature: "s" }]),
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...calls.map((call, at) => ({ type: "tool_use", id: `id_${at}`, name: call.name, input: call.input })),
  ];
  const blocks = content.flatMap((block, index): readonly object[] => {
    const start = (empty: object) => ({ type: "content_block_start", index, content_block: empty });
    const delta = (of: object) => ({ type: "content_block_delta", index, delta: of });
    const stop = { type: "content_block_stop", index };
    if ("thinking" in block) {
      const found = cut(reasoning).map((piece) => delta({ type: "thinking_delta", thinking: piece }));
      const signed = delta({ type: "signature_delta", signature: "s" });
      return [start({ type: "thinking", thinking: "", signature: "" }), ...found, signed, stop];
    }
    if ("text" in block) {
      const found = cut(text).map((piece) => delta({ type: "text_delta", text: piece }));
      return [start({ type: "text", text: "" }), ...found, stop];
    }
    const pieces = ["", ...cut(JSON.stringify(block.input))];
    const reported = pieces.map((partial_json) => delta({ type: "input_json_delta", partial_json }));
    return [start({ ...block, input: {} }), ...reported, stop];
  });
  const stop_reason = STOPS[ending];
  return {
    whole: JSON.stringify({ id: "m", model: "m1", content, stop_reason, usage }),
    stream: [
      { type: "message_start", message: { id: "m", model: "m1", usage: { ...usage, output_tokens: 0 } } },
      { type: "ping" },
      ...blocks,
      { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: output } },
      { type: "message_stop" },
    ],
  };
}

function fromChat(answer: Answer, cut: (text: string) => readonly string[]): ProviderAnswer {
  const { reasoning, text, calls, ending, input, cached, output } = answer;
  const usage = {
    prompt_tokens: input + cached,
    completion_tokens: output,
    prompt_tokens_details: { cached_tokens: cached },
  };
  const tool_calls = calls.map((call, index) => ({
    index,
    id: `id_${index}`,
    function: { name: call.name, arguments: JSON.stringify(call.input) },
  }));
  const finish_reason = FINISHES[ending];
  const message = { content: text === "" ? null : text, reasoning_content: reasoning, tool_calls };
  const deltas: object[] = [
    { role: "assistant", content: "" },
    ...cut(reasoning).map((piece) => ({ reasoning_content: piece })),
    ...cut(text).map((piece) => ({ content: piece })),
    ...tool_calls.flatMap(({ index, id, function: { name, arguments: json } }) => [
      { content: "", tool_calls: [{ index, id, function: { name, arguments: "" } }] },
      ...cut(json).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ];
  return {
    whole: JSON.stringify({ model: "m1", choices: [{ message, finish_reason }], usage }),
    stream: [
      ...deltas.map((delta) => ({ model: "m1", choices: [{ index: 0, delta, finish_reason: null }] })),
      { choices: [{ index: 0, delta: {}, finish_reason }] },
      { choices: [], usage },
      "data: [DONE]\n\n",
    ],
  };
}

test("an answer is the same response whole, as one stream and as a stream of any cut, from either dialect", () => {
  fc.assert(
    fc.property(answers, fc.array(fc.nat(), { minLength: 1, maxLength: 20 }), (answer, numbers) => {
      const cut = cutter(numbers);
      const found = SOURCES.flatMap((from) => {
        const { whole, stream } = from === "messages" ? fromMessages(answer, cut) : fromChat(answer, cut);
        const reading = responsesReading(from, termsOf());
        const { frames, problem } = translate(from, [bytesOf(stream)], termsOf());
        assert.equal(problem, undefined);
        return [
          JSON.parse(reading.translateWhole(whole, STAMP, false)),
          responseOf(reading.translateWhole(whole, STAMP, true)),
          responseOf(frames),
        ];
      });
      for (const each of found.slice(1)) assert.deepEqual(each, found[0]);
    }),
    { numRuns: 200, verbose: 1 },
  );
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
  fc.constantFrom<unknown>(
    { type: "tool_use", id: 7, name: "f", input: {} },
    { type: "redacted_thinking", data: "x" },
    { reasoning_details: [{ type: "reasoning.text", text: "a", index: 0 }, 3, null] },
    { tool_calls: [{ index: 0, id: "", function: { name: "", arguments: "{}" } }] },
  ),
);
const sources = fc.constantFrom<Source>(...SOURCES);

test("with any value in place of any part of a stream its frames are well formed, and an end is sent if there is one", () => {
  fc.assert(
    fc.property(fc.constantFrom(...TRANSCRIPTS), sources, fc.nat(40), paths, junk, (input, from, place, path, part) => {
      const changed = input[from].map((sent, at) =>
        at === place % input[from].length && typeof sent === "object" ? (withPart(sent, path, part) as object) : sent,
      );
      const { frames, failure, state } = translate(from, [bytesOf(changed)], termsOf({ seal: OPEN_SEAL }));
      const status = responseOf(frames + failure)?.["status"];
      if (state === "ended") assert.match(String(status), /^(?:completed|incomplete)$/);
      else assert.equal(status, "failed");
    }),
    { numRuns: 1_500, verbose: 1 },
  );
});

test("any value in place of any part of a whole answer gives a response or a problem", () => {
  const answer: Answer = {
    reasoning: "Hm.",
    text: "Hi",
    calls: [{ name: "f", input: { a: [1, { b: null }] } }],
    ending: "end",
    input: 1,
    cached: 2,
    output: 3,
  };
  fc.assert(
    fc.property(sources, paths, junk, fc.boolean(), (from, path, part, asStream) => {
      const { whole } =
        from === "messages" ? fromMessages(answer, (text) => [text]) : fromChat(answer, (text) => [text]);
      try {
        const body = JSON.stringify(withPart(JSON.parse(whole), path, part));
        const result = responsesReading(from, termsOf({ seal: OPEN_SEAL })).translateWhole(body, STAMP, asStream);
        const response = asStream ? responseOf(result) : JSON.parse(result);
        assert.match(response.status, /^(?:completed|incomplete)$/);
      } catch (error) {
        assert.ok(error instanceof AnswerProblem, String(error));
      }
    }),
    { numRuns: 1_500, verbose: 1 },
  );
});

const delta = (of: object): string => JSON.stringify({ choices: [{ index: 0, delta: of }] });

test("the buffered part of an answer is bounded, since its end repeats it", () => {
  const stream = responsesReading("chat", termsOf()).openStream(STAMP) ?? assert.fail();
  const piece = delta({ content: "x".repeat(1 << 20) });
  let count = 0;
  assert.throws(() => {
    for (; count < 100; count++) stream.translateEvent("", piece);
  }, AnswerProblem);
  assert.equal(count, 7);
});

test("a hundred thousand deltas, a thousand calls and four MiB of arguments form an answer", () => {
  const stream = responsesReading("chat", termsOf()).openStream(STAMP) ?? assert.fail();
  for (let count = 0; count < 100_000; count++) stream.translateEvent("", delta({ content: "ab" }));
  const call = (index: number, json: string) =>
    stream.translateEvent(
      "",
      delta({ tool_calls: [{ index, id: `c${index}`, function: { name: "f", arguments: json } }] }),
    );
  for (let index = 0; index < 1_000; index++) call(index, "{}");
  call(1_000, `{"a":"${"x".repeat(4 << 20)}"}`);
  stream.translateEvent("", JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] }));
  // Without usage, which may follow, the answer has only its end.
  assert.equal(stream.translateEvent("", "[DONE]"), "");
  assert.equal(stream.state, "ending");
  const last = stream.end();
  assert.equal(stream.state, "ended");
  const output = eventsOf(last).at(-1)?.response?.["output"] as readonly { readonly arguments?: string }[];
  assert.equal(output.length, 1_002);
  assert.equal(output.at(-1)?.arguments?.length, (4 << 20) + 8);
});

test("nothing follows after an end or a failure", () => {
  for (const [last, state] of [
    ["[DONE]", "ended"],
    ['{"error":{"message":"No"}}', "failed"],
  ] as const) {
    const stream = responsesReading("chat", termsOf()).openStream(STAMP) ?? assert.fail();
    assert.equal(stream.keepAlive(), ": ping\n\n");
    stream.translateEvent("", delta({ content: "Hi" }));
    stream.translateEvent("", JSON.stringify({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }));
    assert.notEqual(stream.translateEvent("", last), "");
    assert.equal(stream.state, state);
    const after = [
      stream.translateEvent("", "{"),
      stream.keepAlive(),
      stream.end(),
      stream.endWithFailure?.({ code: "a", message: "b" }),
    ];
    assert.deepEqual(after, ["", "", "", ""]);
  }
});
