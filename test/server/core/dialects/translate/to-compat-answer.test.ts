import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import {
  messageAsChunks,
  messageToChat,
} from "../../../../../src/server/core/dialects/translate/to-compat/message-to-chat.ts";
import { AnswerProblem } from "../../../../../src/server/core/dialects/translate/types.ts";
import { BROKEN_STREAMS, bodyOf, PROBLEMS, STAMP, STREAMS, termsOf, trace, WHOLE } from "./to-compat-answer-golden.ts";
import { type Completion, gather, meaningOf } from "./to-compat-answer-meaning.ts";

/** Rows of the tables 8.5 and 9.1 for this direction; server tool blocks and the service tier are additional. */
const ROWS = [
  "8.5 id",
  "8.5 created",
  "8.5 text blocks",
  "8.5 tool_use",
  "8.5 thinking",
  "8.5 citations",
  "8.5 stop_reason: end_turn",
  "8.5 stop_reason: stop_sequence",
  "8.5 stop_reason: max_tokens",
  "8.5 stop_reason: model_context_window_exceeded",
  "8.5 stop_reason: tool_use",
  "8.5 stop_reason: refusal",
  "8.5 stop_reason: pause_turn",
  "8.5 stop_reason: null",
  "8.5 stop_reason: of_tomorrow",
  "8.5 refusal",
  "8.5 usage",
  "8.5 service_tier",
  "8.5 server tool blocks",
  "9.1 message_start",
  "9.1 content_block_start text",
  "9.1 content_block_start tool_use",
  "9.1 content_block_start thinking",
  "9.1 content_block_start redacted_thinking",
  "9.1 text_delta",
  "9.1 thinking_delta",
  "9.1 signature_delta",
  "9.1 input_json_delta",
  "9.1 citations_delta",
  "9.1 content_block_stop",
  "9.1 message_delta",
  "9.1 message_stop",
  "9.1 ping",
  "9.1 error",
  "9.1 end without message_stop",
  "9.1 unknown event",
];

/** Bugs of the dialects reference, 10.3; 10 and 12 are of the other direction and have counterparts here. */
const BUGS = [3, 4, 7, 8, 10, 12, 13, 14, 17, 19, 20, 23];

test("the golden files cover every table row and every bug of this direction", () => {
  const shown = [...WHOLE, ...STREAMS].flatMap(({ row }) => row.split("; "));
  assert.deepEqual(
    ROWS.filter((row) => !shown.some((titles) => titles.startsWith(row))),
    [],
  );
  const bugs = shown.flatMap((titles) => [...titles.matchAll(/#(\d+)/g)].map((match) => Number(match[1])));
  assert.deepEqual(
    [...new Set(bugs)].sort((a, b) => a - b),
    BUGS,
  );
  assert.ok(BROKEN_STREAMS.length > 0);
});

for (const { row, terms, given, expect } of WHOLE) {
  test(`a whole answer is translated: ${row}`, () => {
    assert.deepEqual(JSON.parse(messageToChat(bodyOf(given), termsOf(terms), STAMP)), expect);
  });
}

test("absent members are absent in the translated text too", () => {
  const text = messageToChat('{"content":[{"type":"text","text":"Hi"}]}', termsOf(), STAMP);
  assert.equal(
    text,
    '{"id":"chatcmpl-s1","object":"chat.completion","created":1790000000,"model":"model-asked",' +
      '"choices":[{"index":0,"message":{"role":"assistant","content":"Hi","refusal":null},"finish_reason":"stop","logprobs":null}]}',
  );
});

for (const { row, terms, given, expect } of WHOLE) {
  test(`the answer as a stream has the same content: ${row}`, () => {
    const frames = messageAsChunks(bodyOf(given), termsOf({ ...terms, showsUsage: true }), STAMP);
    const completion = expect as Completion;
    assert.deepEqual(gather(frames), meaningOf(completion));
    assert.equal(trace(frames).at(-1), "done");
    for (const frame of frames.split("\n\n").slice(0, -2)) {
      const chunk = JSON.parse(frame.slice("data: ".length)) as Completion;
      assert.equal(chunk.id, completion.id);
      assert.equal(chunk.model, completion.model);
      assert.equal(chunk.service_tier, completion.service_tier);
      assert.ok(Object.hasOwn(chunk, "usage"));
    }
  });
}

for (const { row, given } of PROBLEMS) {
  test(`input that is not an answer is a problem: ${row}`, () => {
    const body = bodyOf(given);
    assert.throws(() => messageToChat(body, termsOf(), STAMP), AnswerProblem);
    assert.throws(() => messageAsChunks(body, termsOf(), STAMP), AnswerProblem);
  });
}

test("a problem quotes nothing of the answer", () => {
  for (const content of [["secret"], [{ type: "text", text: ["secret"] }], [{ type: "tool_use", input: "secret" }]]) {
    assert.throws(
      () => messageToChat(JSON.stringify({ content }), termsOf(), STAMP),
      (error) => error instanceof AnswerProblem && !error.message.includes("secret"),
    );
  }
});

/** A golden answer with any JSON in place of one of its members, at any depth. */
const hostile = fc
  .record({
    given: fc.constantFrom(
      ...WHOLE.map(({ given }) => (typeof given === "string" ? (JSON.parse(given) as unknown) : given)),
    ),
    path: fc.array(fc.nat(12), { maxLength: 5 }),
    value: fc.jsonValue(),
  })
  .map(({ given, path, value }) => replaced(given, path, value));

function replaced(part: unknown, [step, ...path]: readonly number[], value: unknown): unknown {
  if (step === undefined || typeof part !== "object" || part === null) return value;
  const names = Object.keys(part);
  const name = names[step % Math.max(1, names.length)];
  if (name === undefined) return value;
  const copy: Record<string, unknown> = { ...part };
  copy[name] = replaced(copy[name], path, value);
  return Array.isArray(part) ? Object.values(copy) : copy;
}

test("any JSON in place of any part gives a completion or a problem", () => {
  let completions = 0;
  let problems = 0;
  fc.assert(
    fc.property(hostile, fc.boolean(), fc.boolean(), (answer, showsUsage, callsFunctions) => {
      const body = JSON.stringify(answer);
      const terms = termsOf({ showsUsage, callsFunctions });
      try {
        const completion = JSON.parse(messageToChat(body, terms, STAMP)) as Completion;
        assert.equal(typeof completion.choices[0].finish_reason, "string");
        assert.deepEqual(gather(messageAsChunks(body, terms, STAMP)).get("calls"), meaningOf(completion).get("calls"));
        completions++;
      } catch (error) {
        if (!(error instanceof AnswerProblem)) throw error;
        problems++;
      }
    }),
    { numRuns: 3000 },
  );
  assert.ok(completions > 0 && problems > 0, `${completions} completions, ${problems} problems`);
});
