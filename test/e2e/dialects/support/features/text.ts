/** Text conversations, and finish reasons. */
import assert from "node:assert/strict";
import { answerText } from "../../../../../src/simulator/answer-text.ts";
import { REFUSAL_TEXT } from "../../../../../src/simulator/generate-reply.ts";
import type { Feature } from "../cell.ts";
import { join, user } from "../sdk-answer.ts";
import { answers, ends, QUESTION, QUESTION_REQUEST, requestOf } from "./question.ts";

const STOP = "no model";
const LONG_WORDS = 500;
const MAX_TOKENS = 5;

export const TEXT_FEATURES: readonly Feature[] = [
  {
    name: "text",
    request: QUESTION_REQUEST,
    sent: {
      compat: { model: "sim-small", messages: [{ role: "user", content: QUESTION }] },
      messages: { model: "sim-small", messages: [{ role: "user", content: QUESTION }], max_tokens: isWhole },
    },
    check(answer, cell) {
      answers(answer, "sim-small", QUESTION);
      ends(answer, cell, "end");
      assert.ok(answer.usage !== undefined && answer.usage.inputTokens > 0 && answer.usage.outputTokens > 0);
    },
  },
  {
    name: "system and developer turns, also within the conversation",
    request: {
      openai: {
        messages: [
          { role: "developer", content: "Be brief." },
          { role: "system", content: [{ type: "text", text: "Be kind." }] },
          { role: "user", content: "Hello." },
          { role: "system", content: "From here on, be exact." },
          { role: "assistant", content: "Good morning." },
          { role: "user", content: QUESTION },
        ],
      },
      anthropic: {
        system: [
          { type: "text", text: "Be brief." },
          { type: "text", text: "Be kind." },
        ],
        messages: [
          { role: "user", content: "Hello." },
          { role: "system", content: "From here on, be exact." },
          { role: "assistant", content: "Good morning." },
          { role: "user", content: QUESTION },
        ],
      },
    },
    async check(answer, cell) {
      answers(answer, "sim-small", QUESTION);
      assert.deepEqual(turnsIn((await cell.received()).body), [
        "guide: Be brief.|Be kind.",
        "user: Hello.",
        "guide: From here on, be exact.",
        "assistant: Good morning.",
        `user: ${QUESTION}`,
      ]);
    },
  },
  {
    name: "several turns",
    request: requestOf(
      join(
        user("Hello."),
        {
          openai: [{ role: "assistant", content: "Good morning." }],
          anthropic: [{ role: "assistant", content: "Good morning." }],
        },
        user(QUESTION),
      ),
    ),
    async check(answer, cell) {
      answers(answer, "sim-small", QUESTION);
      const turns = ["user: Hello.", "assistant: Good morning.", `user: ${QUESTION}`];
      assert.deepEqual(turnsIn((await cell.received()).body), turns);
      const further = await cell.ask(requestOf(join(user(QUESTION), answer.turn, user("And of Spain?"))));
      answers(further, "sim-small", "And of Spain?");
      assert.deepEqual(turnsIn((await cell.received()).body), [
        `user: ${QUESTION}`,
        `assistant: ${answer.text}`,
        "user: And of Spain?",
      ]);
    },
  },
  {
    name: "an answer that the client begins (prefill)",
    request: {
      openai: { messages: [...QUESTION_REQUEST.openai.messages, { role: "assistant", content: "It is" }] },
      anthropic: { messages: [...QUESTION_REQUEST.anthropic.messages, { role: "assistant", content: "It is" }] },
    },
    sent: {
      compat: { messages: [{ role: "user" }, { role: "assistant", content: "It is" }] },
      messages: { messages: [{ role: "user" }, { role: "assistant" }] },
    },
    check: (answer, cell) => ends(answer, cell, "end"),
  },
  {
    name: "a text in several blocks",
    model: "sim-texts-3",
    request: QUESTION_REQUEST,
    check: (answer) => answers(answer, "sim-texts-3", QUESTION),
  },
  {
    name: "stop sequences",
    request: {
      openai: { ...QUESTION_REQUEST.openai, stop: [STOP, "never said"] },
      anthropic: { ...QUESTION_REQUEST.anthropic, stop_sequences: [STOP, "never said"] },
    },
    sent: { compat: { stop: [STOP, "never said"] }, messages: { stop_sequences: [STOP, "never said"] } },
    check(answer, cell) {
      assert.equal(answer.text, "This is a simulated answer: ");
      const isTold = cell.client === "anthropic" && !cell.isTranslated;
      if (isTold) assert.deepEqual([answer.finish, answer.stopSequence], ["stop_sequence", STOP]);
      // The compat dialect does not report which sequence was matched, or that one was.
      else ends(answer, cell, "end");
    },
  },
  {
    name: "an answer cut at its token limit",
    request: {
      openai: { ...QUESTION_REQUEST.openai, max_completion_tokens: MAX_TOKENS },
      anthropic: { ...QUESTION_REQUEST.anthropic, max_tokens: MAX_TOKENS },
    },
    sent: { compat: { max_completion_tokens: MAX_TOKENS }, messages: { max_tokens: MAX_TOKENS } },
    check(answer, cell) {
      ends(answer, cell, "length");
      assert.equal(answer.text, "This is a simulated answer: ");
      assert.equal(answer.usage?.outputTokens, MAX_TOKENS);
    },
  },
  {
    name: "a stream of 500 pieces",
    model: `sim-long-${LONG_WORDS}`,
    request: QUESTION_REQUEST,
    check(answer, cell) {
      assert.equal(answer.text.split(" ").length, LONG_WORDS);
      assert.equal(answer.pieces, cell.form === "unary" ? 1 : LONG_WORDS);
      assert.equal(answer.usage?.outputTokens, LONG_WORDS);
    },
  },
  {
    name: "an empty answer",
    model: "sim-no-text",
    request: QUESTION_REQUEST,
    check(answer, cell) {
      assert.deepEqual([answer.text, answer.calls, answer.usage?.outputTokens], ["", [], 0]);
      ends(answer, cell, "end");
    },
  },
  {
    name: "a refusal",
    model: "sim-refuse",
    request: QUESTION_REQUEST,
    check(answer, cell) {
      assert.equal(answer.refusal, REFUSAL_TEXT);
      ends(answer, cell, "refusal");
    },
  },
  {
    name: "an answer cut off by a content filter",
    model: "sim-filtered",
    request: QUESTION_REQUEST,
    check(answer, cell) {
      assert.ok(answerText("sim-filtered", QUESTION, undefined).startsWith(answer.text) && answer.text !== "");
      ends(answer, cell, "refusal");
    },
  },
  {
    name: "temperature",
    // The newest version of the messages dialect, which its SDK uses, does not have it.
    request: { openai: { ...QUESTION_REQUEST.openai, temperature: 0.5 } },
    sent: { compat: { temperature: 0.5 }, messages: { temperature: 0.5 } },
    check: (answer) => answers(answer, "sim-small", QUESTION),
  },
  {
    name: "the end user's id",
    request: {
      openai: { ...QUESTION_REQUEST.openai, safety_identifier: "u-17" },
      anthropic: { ...QUESTION_REQUEST.anthropic, metadata: { user_id: "u-17" } },
    },
    check: async (answer, cell) => {
      assert.equal(answer.text, answerText("sim-small", QUESTION, undefined));
      const { body } = await cell.received();
      const { safety_identifier, user: named, metadata } = body as { [name: string]: unknown };
      const id = cell.upstream === "compat" ? (safety_identifier ?? named) : Object(metadata)["user_id"];
      assert.equal(id, "u-17");
    },
  },
];

/** Matches any positive integer in the comparison of sent requests. */
function isWhole(value: unknown): void {
  assert.ok(Number.isInteger(value) && Number(value) > 0, `${JSON.stringify(value)} is a positive whole number`);
}

interface Turn {
  readonly role: string;
  readonly content?: string | readonly { readonly text?: string }[];
}

/**
 * Returns the turns of a request in either dialect as `role: text`; adjacent turns that instruct the model are merged.
 */
function turnsIn(body: Readonly<Record<string, unknown>>): readonly string[] {
  const { system, messages } = body as { system?: Turn["content"]; messages: readonly Turn[] };
  const all = system === undefined ? messages : [{ role: "system", content: system }, ...messages];
  const turns: string[] = [];
  for (const { role, content } of all) {
    const text = typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("|");
    const who = role === "system" || role === "developer" ? "guide" : role;
    const last = turns.at(-1);
    if (who === "guide" && last?.startsWith("guide: ")) turns.splice(-1, 1, `${last}|${text}`);
    else turns.push(`${who}: ${text}`);
  }
  return turns;
}
