/** Unrequested streams of compat providers, folded into whole answers. */
import assert from "node:assert/strict";
import test from "node:test";
import { foldAnswer } from "../../../../../src/server/core/dialects/translate/fold-answer.ts";

type Call = Readonly<Record<string, unknown>>;

/** Returns id, name and arguments of each call in the folded answer. `fragments` arrive in one chunk each. */
function foldedCalls(fragments: readonly Call[]): unknown {
  const deltas = fragments.map((call) => ({ index: 0, delta: { tool_calls: [call] }, finish_reason: null }));
  const choices = [...deltas, { index: 0, delta: {}, finish_reason: "tool_calls" }];
  const stream = choices.map((choice) => `data: ${JSON.stringify({ id: "c", choices: [choice] })}\n\n`).join("");
  const { choices: whole } = JSON.parse(foldAnswer("chat", `${stream}data: [DONE]\n\n`)) as {
    choices: { message: { tool_calls: { id: string; function: { name: string; arguments: string } }[] } }[];
  };
  return whole[0]?.message.tool_calls.map((call) => [call.id, call.function.name, call.function.arguments]);
}

const fragment = (index: number, id: string | undefined, name: string | undefined, text: string): Call => ({
  index,
  ...(id !== undefined && { id }),
  function: { ...(name !== undefined && { name }), arguments: text },
});

test("calls that share one index are distinguished by their ids", () => {
  const whole = [fragment(0, "a", "f", '{"n":1}'), fragment(0, "b", "g", "{}")];
  assert.deepEqual(foldedCalls(whole), [
    ["a", "f", '{"n":1}'],
    ["b", "g", "{}"],
  ]);
  const inPieces = [
    fragment(0, "a", "f", '{"n":'),
    fragment(0, undefined, undefined, "1}"),
    fragment(0, "b", "g", '{"m":'),
    fragment(0, undefined, undefined, "2}"),
  ];
  assert.deepEqual(foldedCalls(inPieces), [
    ["a", "f", '{"n":1}'],
    ["b", "g", '{"m":2}'],
  ]);
});

test("a fragment that repeats id and name, or has another id and no name, continues its call", () => {
  const repeated = [fragment(0, "a", "f", '{"n":'), fragment(0, "a", "f", "1}")];
  assert.deepEqual(foldedCalls(repeated), [["a", "f", '{"n":1}']]);
  const unnamed = [fragment(0, "a", "f", '{"n":'), fragment(0, "z", "", "1}")];
  assert.deepEqual(foldedCalls(unnamed), [["a", "f", '{"n":1}']]);
});
