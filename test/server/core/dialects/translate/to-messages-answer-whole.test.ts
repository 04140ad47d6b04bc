/** Whole answers of compat providers for messages clients, case by case of the reference. */
import assert from "node:assert/strict";
import test from "node:test";
import {
  chatAsEvents,
  chatToMessage,
} from "../../../../../src/server/core/dialects/translate/to-messages/chat-to-message.ts";
import { AnswerProblem } from "../../../../../src/server/core/dialects/translate/types.ts";
import {
  messageOf,
  REWRITES,
  readGolden,
  STAMP,
  type StreamCase,
  termsOf,
  textOf,
  type WholeCase,
  writeGolden,
} from "./to-messages-answer-support.ts";

const NAME = "whole.json";
const CASES = readGolden<WholeCase>(NAME);

type Translate = typeof chatToMessage;

function outcome(translate: Translate, { given, terms }: WholeCase): string {
  try {
    return translate(textOf(given), termsOf(terms), STAMP);
  } catch (error) {
    if (!(error instanceof AnswerProblem)) throw error;
    return `problem: ${error.message}`;
  }
}

if (REWRITES) {
  writeGolden(
    NAME,
    CASES.map((each) => ({ ...each, expect: outcome(chatToMessage, each) })),
  );
} else {
  for (const each of CASES) {
    test(each.row, () => {
      assert.equal(outcome(chatToMessage, each), each.expect);
    });

    test(`${each.row}: the stream gives the same result`, () => {
      const events = outcome(chatAsEvents, each);
      if (each.expect.startsWith("problem: ")) assert.equal(events, each.expect);
      else assert.deepEqual(messageOf(events), JSON.parse(each.expect));
    });
  }
}

test("the files cover the bugs of 10.3 that an answer for a messages client can have", () => {
  const rows = ["whole.json", "streams.json", "deviations.json", "broken.json"]
    .flatMap((name) => readGolden<WholeCase | StreamCase>(name))
    .map(({ row }) => row);
  const shown = rows.flatMap((row) => /\bbugs? (\d+)(?: and (\d+))?/.exec(row)?.slice(1) ?? []).filter(Boolean);
  const numbers = [...new Set(shown.map(Number))].sort((a, b) => a - b);
  assert.deepEqual(numbers, [3, 6, 7, 8, 10, 11, 12, 13, 14, 17, 19, 20]);
});
