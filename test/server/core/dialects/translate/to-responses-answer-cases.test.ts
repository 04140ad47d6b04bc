/**
 * Provider deviations from the grammar, and errors of other translators, case by case. Source: responses reference, 5
 * to 7, 9.3 and 12.
 */
import assert from "node:assert/strict";
import test from "node:test";
import type { ResponsesTerms } from "../../../../../src/server/core/dialects/translate/responses-terms.ts";
import { begin, call, DONE, end, over, START, STOP, say, text, think, use } from "./to-responses-answer-sources.ts";
import {
  bytesOf,
  OPEN_SEAL,
  outlineOf,
  responseOf,
  type Sent,
  type Source,
  termsOf,
  translate,
} from "./to-responses-answer-support.ts";

interface Case {
  readonly row: string;
  readonly from: Source;
  readonly given: readonly Sent[];
  readonly terms?: Partial<ResponsesTerms>;
  readonly expect: readonly string[];
}

const CASES: readonly Case[] = [
  {
    row: "9.3 #1: a call without text has no message",
    from: "chat",
    given: [say({ content: "" }), say({ content: "", ...call(0, "a", "f", "{}") }), say({ content: "" }, "stop"), DONE],
    expect: ['function_call completed a f "{}"', "completed"],
  },
  {
    row: "9.3 #2: what came stands in the response, cut calls are incomplete and keep what came, in the words of the API",
    from: "chat",
    given: [say({ reasoning: "Hm." }), say(call(0, "a", "f", '{"a":')), say({}, "length"), DONE],
    terms: { seal: OPEN_SEAL },
    expect: [
      'reasoning ["Hm."] [{"k":"c","x":"Hm."}]',
      'function_call incomplete a f "{\\"a\\":"',
      "incomplete max_output_tokens",
    ],
  },
  {
    row: "a call cut off before its arguments is not reported as a call without arguments",
    from: "messages",
    given: [START, ...use(0, "a", "f"), over("max_tokens"), STOP],
    expect: ['function_call incomplete a f ""', "incomplete max_output_tokens"],
  },
  {
    row: "9.3 #6: a tool in a namespace is called by both its names",
    from: "messages",
    given: [
      START,
      ...use(0, "a", "mcp__fs__read", "{}"),
      ...use(1, "b", "mcp__fs__edit", '{"input":"x"}'),
      over(null),
      STOP,
    ],
    expect: [
      'function_call completed a mcp__fs read "{}"',
      'custom_tool_call completed b mcp__fs edit "x"',
      "completed",
    ],
  },
  {
    row: "9.3 #7: a custom tool gets its input, or the unchanged arguments",
    from: "chat",
    given: [
      say(call(0, "a", "apply_patch", '{"input":"p"}')),
      say(call(1, "b", "apply_patch", '{"patch":1}')),
      say(call(2, "c", "apply_patch", "")),
      say({}, "tool_calls"),
      DONE,
    ],
    expect: [
      'custom_tool_call completed a apply_patch "p"',
      'custom_tool_call completed b apply_patch "{\\"patch\\":1}"',
      'custom_tool_call completed c apply_patch ""',
      "completed",
    ],
  },
  {
    row: "9.3 #14: signed thinking with an empty text is kept, and so is redacted thinking, each at its place",
    from: "messages",
    given: [
      START,
      ...think(0, "", "sig"),
      begin(1, { type: "redacted_thinking", data: "enc" }),
      end(1),
      ...think(2, "b", "sig2"),
      ...think(3, "", ""),
      ...think(4, "unsigned", ""),
      ...text(5, "Hi"),
      over("end_turn"),
      STOP,
    ],
    terms: { seal: OPEN_SEAL },
    expect: [
      'reasoning [] [{"k":"t","x":"","s":"sig"}]',
      'reasoning [] [{"k":"r","x":"enc"}]',
      'reasoning ["b"] [{"k":"t","x":"b","s":"sig2"}]',
      'reasoning ["unsigned"] [{"k":"c","x":"unsigned"}]',
      'message completed ["Hi"]',
      "completed",
    ],
  },
  {
    row: "1 rule 8: an empty answer is an empty message",
    from: "messages",
    given: [START, ...text(0), over("end_turn"), STOP],
    expect: ['message completed [""]', "completed"],
  },
  {
    row: "an answer with thinking only has a message too, or a client would repeat its request forever",
    from: "chat",
    given: [say({ reasoning_content: "Hm." }), say({}, "stop"), DONE],
    terms: { seal: undefined },
    expect: ['reasoning ["Hm."]', 'message completed [""]', "completed"],
  },
  {
    row: "6.1: consecutive text blocks are parts of one message, and text after a call is a separate message",
    from: "messages",
    given: [
      START,
      ...text(0, "a"),
      ...text(1, "b", "c"),
      ...use(2, "x", "f", "{}"),
      ...text(3, "d"),
      over("end_turn"),
      STOP,
    ],
    expect: [
      'message completed ["a","bc"]',
      'function_call completed x f "{}"',
      'message completed ["d"]',
      "completed",
    ],
  },
  {
    row: "6.2: a refusal is a part of the message before it, and the answer was filtered",
    from: "messages",
    given: [
      START,
      ...text(0, "Well"),
      over("refusal", { stop_details: { type: "refusal", explanation: "No." } }),
      STOP,
    ],
    expect: ['message incomplete ["Well",{"type":"refusal","refusal":"No."}]', "incomplete content_filter"],
  },
  {
    row: "6.2: a refusal that the model wrote completes the answer",
    from: "chat",
    given: [say({ refusal: "N" }), say({ refusal: "o." }), say({}, "stop"), DONE],
    expect: ['message completed [{"type":"refusal","refusal":"No."}]', "completed"],
  },
  {
    row: "arguments in the first event of a call keep their spelling",
    from: "messages",
    given: [
      START,
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"n":1.0,"2":12345678901234567890}}}\n\n',
      end(0),
      over("tool_use"),
      STOP,
    ],
    expect: ['function_call completed a f "{\\"n\\":1.0,\\"2\\":12345678901234567890}"', "completed"],
  },
  {
    row: "calls with interleaved fragments are sent one after the other",
    from: "chat",
    given: [
      say(call(0, "a", "f", '{"a"')),
      say(call(1, "b", "g", '{"b"')),
      say(call(0, undefined, undefined, ":1}")),
      say(call(1, undefined, undefined, ":2}")),
      say({}, "tool_calls"),
      DONE,
    ],
    expect: ['function_call completed a f "{\\"a\\":1}"', 'function_call completed b g "{\\"b\\":2}"', "completed"],
  },
  {
    row: "no index, arguments in one chunk, usage and finish reason in one, no [DONE]",
    from: "chat",
    given: [
      say(call(undefined, "a", "f", '{"a":1}')),
      say(call(undefined, "b", "g", "{}")),
      { ...say({}, "stop"), usage: { prompt_tokens: 1, completion_tokens: 1 } },
    ],
    expect: ['function_call completed a f "{\\"a\\":1}"', 'function_call completed b g "{}"', "completed"],
  },
  {
    row: "reasoning that resumes after text is reported at its place",
    from: "chat",
    given: [
      say({ reasoning: "a" }),
      say({ content: "b" }),
      say({ reasoning: "c" }),
      say({ content: "d" }, "stop"),
      DONE,
    ],
    terms: { seal: OPEN_SEAL },
    expect: [
      'reasoning ["a"] [{"k":"c","x":"a"}]',
      'message completed ["b"]',
      'reasoning ["c"] [{"k":"c","x":"c"}]',
      'message completed ["d"]',
      "completed",
    ],
  },
  {
    row: "5.3: details of reasoning are sealed as they arrived, their pieces joined; an empty one is no reasoning",
    from: "chat",
    given: [
      say({ reasoning: "a", reasoning_details: [{ type: "reasoning.text", text: "a", index: 0, format: "x" }] }),
      say({ reasoning: "b", reasoning_details: [{ type: "reasoning.text", text: "b", index: 0, format: "x" }] }),
      say({ reasoning_details: [{ type: "reasoning.text", signature: "s", index: 0 }] }),
      say({ content: "Hi", reasoning_details: [{ type: "reasoning.text", text: "", index: 0 }] }),
      say({ reasoning_details: [{ type: "reasoning.text", signature: "late", index: 0 }] }),
      say({ content: "!" }, "stop"),
      DONE,
    ],
    terms: { seal: OPEN_SEAL },
    expect: [
      'reasoning ["ab"] [{"k":"c","x":"ab"},{"k":"d","j":[{"type":"reasoning.text","text":"ab","index":0,"format":"x","signature":"s"}]}]',
      'message completed ["Hi!"]',
      "completed",
    ],
  },
];

for (const { row, from, given, terms, expect } of CASES) {
  test(`from ${from}: ${row}`, () => {
    const { frames, problem } = translate(from, [bytesOf(given)], termsOf(terms));
    assert.equal(problem, undefined);
    assert.deepEqual(outlineOf(responseOf(frames) ?? assert.fail()), expect);
  });
}
