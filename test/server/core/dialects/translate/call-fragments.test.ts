/**
 * Fragments of tool calls as compat providers send them, read by every reader of chunks: for clients of the messages dialect and
 * of responses, and folded into a whole answer. Source: dialects reference, 3.3; autogen#7549, openai-agents-js#712.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { foldAnswer } from "../../../../../src/server/core/dialects/translate/fold-answer.ts";
import { AnswerProblem } from "../../../../../src/server/core/dialects/translate/types.ts";
import { messageOf, termsOf as messagesTerms, translate as toMessages } from "./to-messages-answer-support.ts";
import { responseOf, termsOf, translate } from "./to-responses-answer-support.ts";

type Values = Readonly<Record<string, unknown>>;
/** Id, name and arguments. The id is null if the provider gave none. */
type FoundCall = readonly [id: string | null, name: string, json: string];
/** Calls of one delta, or the members of a choice. */
type Piece = readonly Values[] | Values;

const A = '{"a":1}';
const ONE: readonly FoundCall[] = [["call_1", "f", A]];
const call = (json: unknown, more: Values = {}): Values => ({
  ...{ index: 0, id: "call_1", type: "function", function: { name: "f", arguments: json } },
  ...more,
});
const begun = call("");
const whole = call(A);
const piece = (json: unknown, more: Values = { index: 0 }): Values => ({ ...more, function: { arguments: json } });
const unnumbered = ({ index: _, ...rest }: Values): Values => rest;
const second = (json: string): Values => ({ index: 1, id: "call_2", function: { name: "g", arguments: json } });

const CASES: Readonly<Record<string, readonly [pieces: readonly Piece[], calls?: readonly FoundCall[]]>> = {
  "no function in a later fragment": [[[begun], [{ index: 0 }], [piece(A)]]],
  "a null function in a later fragment": [[[begun], [{ index: 0, function: null }], [piece(A)]]],
  "an empty function in a later fragment": [[[begun], [{ index: 0, function: {} }], [piece(A)]]],
  "a null function first": [[[call("", { function: null })], [{ index: 0, function: { name: "f", arguments: A } }]]],
  "an empty function first": [[[call("", { function: {} })], [{ index: 0, function: { name: "f", arguments: A } }]]],
  "no type": [[[call(A, { type: undefined })]]],
  "a name after the first arguments": [
    [[call("", { function: { arguments: "{" } })], [{ index: 0, function: { name: "f", arguments: '"a":1}' } }]],
  ],
  "no index": [[[unnumbered(begun)], [piece('{"a"', {})], [piece(":1}", {})]]],
  "a null index": [[[call("", { index: null })], [piece(A, { index: null })]]],
  "an index in letters": [[[call("", { index: "0" })], [piece(A, { index: "0" })]]],
  "an index in the first fragment alone": [[[begun], [piece('{"a"', {})], [piece(":1}", {})]]],
  "an index in later fragments alone": [[[unnumbered(begun)], [piece('{"a"')], [piece(":1}")]]],
  "no index where it is 0, and fragments of two calls in turn": [
    [
      [unnumbered(begun)],
      [second("")],
      [piece('{"a"', {})],
      [piece('{"a"', { index: 1 })],
      [piece(":1}", {})],
      [piece(":1}", { index: 1 })],
    ],
    [...ONE, ["call_2", "g", A]],
  ],
  "no index where it is 0, in two calls one after the other": [
    [[unnumbered(begun)], [piece(A, {})], [second("")], [piece(A, { index: 1 })]],
    [...ONE, ["call_2", "g", A]],
  ],
  "an index in the first fragment of the second call alone": [
    [[unnumbered(begun)], [piece(A, {})], [second("")], [piece('{"a"', {})], [piece(":1}", {})]],
    [...ONE, ["call_2", "g", A]],
  ],
  "an empty id and name in later fragments": [
    [[begun], [{ index: 0, id: "", type: "function", function: { name: "", arguments: A } }]],
  ],
  "a null id and name in later fragments": [
    [[begun], [{ index: 0, id: null, type: null, function: { name: null, arguments: A } }]],
  ],
  "an id that is a number": [[[call("", { id: 7 })], [piece(A, { index: 0, id: 7 })]], [["7", "f", A]]],
  "null arguments": [[[call(null)], [piece(A)], [piece(null)]]],
  "null calls": [[{ delta: { tool_calls: null } }, [begun], { delta: { tool_calls: null } }, [piece(A)]]],
  "empty calls": [[[], [begun], [], [piece(A)], []]],
  "a null delta": [[{ delta: null }, [whole]]],
  "a whole call, repeated": [[[whole], [whole]]],
  "a whole call, repeated without its id": [[[whole], [call(A, { id: undefined })]]],
  "a whole call, repeated with an empty id": [[[whole], [call(A, { id: "" })]]],
  "a whole call, repeated without its index": [[[unnumbered(whole)], [unnumbered(whole)]]],
  "arguments, repeated alone": [[[whole], [piece(A)]]],
  "a call in pieces, repeated whole": [[[begun], [piece('{"a"')], [piece(":1} ")], [whole]]],
  "a call, repeated in a whole message": [
    [[whole], { message: { role: "assistant", content: null, tool_calls: [unnumbered(whole)] } }],
  ],
  "all arguments so far in each fragment": [
    [
      [begun],
      [piece('{"')],
      [piece('{"a"')],
      [piece('{"a":1')],
      [piece('{"a":12')],
      [piece('{"a":12')],
      [piece('{"a":12}')],
    ],
    [["call_1", "f", '{"a":12}']],
  ],
  "all arguments so far in each fragment, with id and name": [[[call('{"a"')], [call('{"a":')], [call(A)], [call(A)]]],
  "all arguments so far, from within a string": [
    [[call('{"a":"{')], [piece('{"a":"{\\"')], [piece('{"a":"{\\"a"}')]],
    [["call_1", "f", '{"a":"{\\"a"}']],
  ],
  "all arguments so far of two calls in turn": [
    [
      [call("{"), second("{")],
      [piece('{"a":'), piece('{"a"', { index: 1 })],
      [piece(A), piece(A, { index: 1 })],
    ],
    [...ONE, ["call_2", "g", A]],
  ],
  "all arguments so far after an empty object": [[[call("{}")], [piece('{"a"')], [piece(A)]]],
  "a name that is a bracket": [[[call('{"')], [piece('{":1}')]], [["call_1", "f", '{"{":1}']]],
  "an object within an object with the same member": [
    [[call('{"a":')], [piece('{"a":')], [piece("1}}")]],
    [["call_1", "f", '{"a":{"a":1}}']],
  ],
  "an object within a list with the same member": [
    [[call('{"a":[')], [piece('{"a":[')], [piece("]}]}")]],
    [["call_1", "f", '{"a":[{"a":[]}]}']],
  ],
  "a name in pieces": [
    [[call("", { function: { name: "get_" } })], [{ index: 0, function: { name: "weather" } }], [piece(A)]],
    [["call_1", "get_weather", A]],
  ],
  "a name in pieces, with the arguments": [
    [[call("", { function: { name: "get_" } })], [{ index: 0, function: { name: "weather", arguments: A } }]],
    [["call_1", "get_weather", A]],
  ],
  "all of the name so far in each fragment": [
    [[call("", { function: { name: "get_" } })], [{ index: 0, function: { name: "get_weather" } }], [piece(A)]],
    [["call_1", "get_weather", A]],
  ],
  "a name in pieces and no arguments": [
    [[call("", { function: { name: "get_" } })], [{ index: 0, function: { name: "weather" } }], [piece("{}")]],
    [["call_1", "get_weather", "{}"]],
  ],
  "a name in each fragment": [[[begun], [call('{"a"', { id: "call_1" })], [call(":1}")]]],
  "a name in each fragment, without id": [
    [[begun], [call('{"a"', { id: undefined })], [call(":1}", { id: undefined })]],
  ],
  "names of two calls in pieces in turn": [
    [
      [call("", { function: { name: "get_" } }), { index: 1, id: "call_2", function: { name: "set_" } }],
      [
        { index: 0, function: { name: "it" } },
        { index: 1, function: { name: "it" } },
      ],
      [piece(A), piece(A, { index: 1 })],
    ],
    [
      ["call_1", "get_it", A],
      ["call_2", "set_it", A],
    ],
  ],
  "an empty object before the arguments": [[[call("{}")], [piece(A)]]],
  "an empty object before the arguments, without id": [
    [[call("{}", { id: "" })], [call(A, { id: "" })]],
    [[null, "f", A]],
  ],
  "an empty object before the arguments of two calls": [
    [
      [call("{}"), second(" { } ")],
      [piece(A), piece(A, { index: 1 })],
    ],
    [...ONE, ["call_2", "g", A]],
  ],
  "an empty object alone": [[[call("{}")], [piece("")]], [["call_1", "f", "{}"]]],
  "two calls with an empty object each": [
    [[call("{}")], [second("{}")]],
    [
      ["call_1", "f", "{}"],
      ["call_2", "g", "{}"],
    ],
  ],
  "two calls without index and id": [
    [[{ function: { name: "f", arguments: A } }, { function: { name: "g", arguments: A } }]],
    [
      [null, "f", A],
      [null, "g", A],
    ],
  ],
  "two calls with one index and no id": [
    [[{ index: 0, function: { name: "f", arguments: A } }], [{ index: 0, function: { name: "g", arguments: A } }]],
    [
      [null, "f", A],
      [null, "g", A],
    ],
  ],
};

const chunk = (choice: Values): string =>
  `data: ${JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, finish_reason: null, ...choice }] })}\n\n`;

const streamOf = (pieces: readonly Piece[]): Buffer => {
  const chunks = pieces.map((each) => chunk(Array.isArray(each) ? { delta: { tool_calls: each } } : (each as Values)));
  return Buffer.from(`${chunks.join("")}${chunk({ delta: {}, finish_reason: "tool_calls" })}data: [DONE]\n\n`);
};

const messageCalls = (bytes: Buffer): unknown[][] => {
  const { frames, problem } = toMessages([bytes], messagesTerms(undefined));
  assert.equal(problem, undefined);
  const { content } = (messageOf(frames) ?? assert.fail(frames)) as unknown as { content: readonly Values[] };
  return content.map(({ id, name, input }) => [id, name, JSON.stringify(input)]);
};

const responseCalls = (bytes: Buffer): unknown[][] => {
  const { frames } = translate("chat", [bytes], termsOf());
  const { output } = (responseOf(frames) ?? assert.fail(frames)) as unknown as { output: readonly Values[] };
  return output.map((item) => [item["call_id"], item["name"], item["arguments"]]);
};

const foldedCalls = (bytes: Buffer): unknown[][] => {
  const { choices } = JSON.parse(foldAnswer("chat", String(bytes))) as {
    choices: readonly { message: { tool_calls: readonly { id?: string; function: Values }[] } }[];
  };
  const calls = choices[0]?.message.tool_calls ?? assert.fail();
  return calls.map(({ id, function: called }) => [id, called["name"], called["arguments"]]);
};

const READERS = { messages: messageCalls, responses: responseCalls, "a whole answer": foldedCalls };

for (const [what, [pieces, expected = ONE]] of Object.entries(CASES)) {
  for (const [form, read] of Object.entries(READERS)) {
    test(`${what}: read for ${form}`, () => {
      const found = read(streamOf(pieces)).map(([id, name, json], at) => [
        // The id of a call that has none is made up.
        expected[at]?.[0] === null ? null : id,
        name,
        String(json).trim(),
      ]);
      assert.deepEqual(found, expected);
    });
  }
}

test("arguments that follow a call which has ended make the answer invalid", () => {
  const late = [[whole], [second("{")], [piece('{"b":2}')]];
  const { problem } = toMessages([streamOf(late)], messagesTerms(undefined));
  assert.equal(problem, "more follows the arguments of a tool call");
});

const nthPiece = (at: number): string => String(at).padStart(64, "x");

test("a name in pieces without end makes the answer invalid, and one of 4,096 characters does not", () => {
  // Pieces are distinct, since a repeated name is no piece.
  const inPieces = (count: number): readonly Piece[] => [
    ...Array.from({ length: count }, (_, at) => [
      { index: 0, ...(at === 0 && { id: "call_1" }), function: { name: nthPiece(at) } },
    ]),
    [piece(A)],
  ];
  const longest: readonly FoundCall[] = [["call_1", Array.from({ length: 64 }, (_, at) => nthPiece(at)).join(""), A]];
  for (const read of Object.values(READERS)) assert.deepEqual(read(streamOf(inPieces(64))), longest);
  const endless = streamOf(inPieces(65));
  const problem = "the name of a tool call is too long";
  assert.equal(toMessages([endless], messagesTerms(undefined)).problem, problem);
  assert.equal(translate("chat", [endless], termsOf()).problem, problem);
  assert.throws(() => foldAnswer("chat", String(endless)), new AnswerProblem(problem));
});
