/**
 * Fragments of tool calls as messages providers send them, read by every reader of events: for clients of the compat dialect and
 * of responses, and folded into a whole answer. Source: dialects reference, 5.3.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { foldAnswer } from "../../../../../src/server/core/dialects/translate/fold-answer.ts";
import { messageToChat } from "../../../../../src/server/core/dialects/translate/to-compat/message-to-chat.ts";
import { termsOf as compatTerms, STAMP, translate as toCompat } from "./to-compat-answer-golden.ts";
import { gather } from "./to-compat-answer-meaning.ts";
import { begin, end, over, piece, START, STOP, use } from "./to-responses-answer-sources.ts";
import { bytesOf, responseOf, type Sent, termsOf, translate } from "./to-responses-answer-support.ts";

type Values = Readonly<Record<string, unknown>>;

const A = '{"a":1}';
const json = (index: number, partial_json: unknown): Sent => piece(index, { type: "input_json_delta", partial_json });
const open = (index: number, id: string): Sent => begin(index, { type: "tool_use", id, name: "f", input: {} });

/** Events of the calls, and the arguments of each call. */
const CASES: Readonly<Record<string, readonly [events: readonly Sent[], expected?: readonly string[]]>> = {
  "pieces of the arguments": [use(0, "c1", "f", "", '{"a"', ":1", "}")],
  "all arguments so far in each fragment": [
    use(0, "c1", "f", "", '{"', '{"a"', '{"a":1', '{"a":12', '{"a":12}', '{"a":12}'),
    ['{"a":12}'],
  ],
  "all arguments so far, from within a string": [
    use(0, "c1", "f", '{"a":"{', '{"a":"{\\"a', '{"a":"{\\"a"}'),
    ['{"a":"{\\"a"}'],
  ],
  "all arguments so far of two calls that interleave": [
    [
      open(0, "c1"),
      open(1, "c2"),
      json(0, '{"a'),
      json(1, "{"),
      json(0, A),
      json(1, '{"b":'),
      json(1, '{"b":2}'),
      end(0),
      end(1),
    ],
    [A, '{"b":2}'],
  ],
  "all arguments so far after those of an earlier call": [
    [...use(0, "c1", "f", '{"a"', A), ...use(1, "c2", "f", '{"a"', A)],
    [A, A],
  ],
  "the whole arguments repeated at the end": [use(0, "c1", "f", '{"a"', ":1}", A)],
  "a fragment whose text is absent or null": [[open(0, "c1"), json(0, undefined), json(0, A), json(0, null), end(0)]],
  "an empty object before the arguments": [use(0, "c1", "f", "{}", '{"a"', ":1}")],
  "an empty object alone": [use(0, "c1", "f", "{}"), ["{}"]],
  "no fragment": [use(0, "c1", "f"), ["{}"]],
  "an object within an object with the same member": [use(0, "c1", "f", '{"a":', '{"a":', "1}}"), ['{"a":{"a":1}}']],
  "an object within a list with the same member": [use(0, "c1", "f", '{"a":[', '{"a":[', "]}]}"), ['{"a":[{"a":[]}]}']],
  "arguments that are cut off": [use(0, "c1", "f", '{"a":', '"b'), ['{"a":"b']],
  "arguments that are not JSON": [use(0, "c1", "f", "ls ", "-l"), ["ls -l"]],
};

const streamOf = (calls: readonly Sent[]): Buffer => bytesOf([START, ...calls, over("tool_use"), STOP]);

const compatCalls = (bytes: Buffer): unknown[] => {
  const { frames, state } = toCompat([bytes], compatTerms());
  assert.equal(state, "ended");
  const calls = gather(frames).get("calls") as readonly { readonly function: Values }[];
  return calls.map(({ function: called }) => called["arguments"]);
};

const responseCalls = (bytes: Buffer): unknown[] => {
  const { frames, problem } = translate("messages", [bytes], termsOf());
  assert.equal(problem, undefined);
  const { output } = (responseOf(frames) ?? assert.fail(frames)) as unknown as { output: readonly Values[] };
  return output.map((item) => item["arguments"]);
};

const foldedCalls = (bytes: Buffer): unknown[] => {
  const { content } = JSON.parse(foldAnswer("messages", String(bytes))) as { content: readonly Values[] };
  return content.map(({ input }) => {
    const { _raw: raw } = input as Values;
    return raw ?? JSON.stringify(input);
  });
};

const READERS = { compat: compatCalls, responses: responseCalls, "a whole answer": foldedCalls };

for (const [what, [calls, expected = [A]]] of Object.entries(CASES)) {
  for (const [form, read] of Object.entries(READERS)) {
    // The items of a response do not interleave.
    if (form === "responses" && what.endsWith("interleave")) continue;
    test(`${what}: read for ${form}`, () => {
      assert.deepEqual(read(streamOf(calls)), expected);
    });
  }
}

/** Events without the members that servers leave out because they are empty, and those with null in their place. */
const WITHOUT_EMPTY_TEXTS: Readonly<Record<string, readonly Sent[]>> = {
  absent: [
    begin(0, { type: "thinking" }),
    piece(0, { type: "thinking_delta", thinking: "hm" }),
    piece(0, { type: "signature_delta" }),
    end(0),
    begin(1, { type: "text" }),
    piece(1, { type: "text_delta", text: "fine" }),
    piece(1, { type: "text_delta" }),
    end(1),
  ],
  "absent, and an index of 0 too": [
    { type: "content_block_start", content_block: { type: "thinking" } },
    { type: "content_block_delta", delta: { type: "thinking_delta", thinking: "hm" } },
    { type: "content_block_stop" },
    begin(1, { type: "text" }),
    piece(1, { type: "text_delta", text: "fine" }),
    end(1),
  ],
  null: [
    begin(0, { type: "thinking", thinking: null, signature: null }),
    piece(0, { type: "thinking_delta", thinking: null }),
    piece(0, { type: "thinking_delta", thinking: "hm" }),
    end(0),
    begin(1, { type: "text", text: null }),
    piece(1, { type: "text_delta", text: "fine" }),
    end(1),
  ],
};

for (const [what, events] of Object.entries(WITHOUT_EMPTY_TEXTS)) {
  test(`empty texts that are ${what} are no problem of a stream`, () => {
    const bytes = bytesOf([START, ...events, over("end_turn"), STOP]);
    const compat = toCompat([bytes], compatTerms());
    assert.equal(compat.state, "ended");
    const gathered = gather(compat.frames);
    assert.deepEqual([gathered.get("reasoning"), gathered.get("content")], ["hm", "fine"]);
    const { frames, problem } = translate("messages", [bytes], termsOf());
    assert.equal(problem, undefined);
    assert.match(JSON.stringify(responseOf(frames)), /"hm".*"fine"/);
  });
}

test("content that is null is an empty answer", () => {
  const answer = JSON.stringify({ type: "message", role: "assistant", content: null, stop_reason: "end_turn" });
  assert.match(messageToChat(answer, compatTerms(), STAMP), /"content":""/);
});

test("an empty text that is absent is no problem of a whole answer", () => {
  const content = [
    { type: "thinking" },
    { type: "text" },
    { type: "text", text: null },
    { type: "text", text: "fine" },
  ];
  const answer = JSON.stringify({ type: "message", role: "assistant", content, stop_reason: "end_turn" });
  assert.match(messageToChat(answer, compatTerms(), STAMP), /"content":"fine"/);
});
