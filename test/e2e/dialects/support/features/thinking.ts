/** Thinking with its signatures over three turns, and prompt caching. */
import assert from "node:assert/strict";
import type { Cell, Feature, RequestByClient } from "../cell.ts";
import { isRedacted, signatureOf, thinkingText } from "../provider-thinking.ts";
import { join, results, type SdkAnswer, type Turns, user } from "../sdk-answer.ts";
import { ends, QUESTION, requestOf } from "./question.ts";

const PARAMETERS = { type: "object" as const, properties: { city: { type: "string" } } };
const SECOND_QUESTION = "And tomorrow?";

const thinkingOf = (turns: Turns): RequestByClient => ({
  openai: {
    ...requestOf(turns).openai,
    reasoning_effort: "high",
    tools: [{ type: "function", function: { name: "get_weather", parameters: PARAMETERS } }],
  },
  anthropic: {
    ...requestOf(turns).anthropic,
    thinking: { type: "enabled", budget_tokens: 2_000 },
    tools: [{ name: "get_weather", input_schema: PARAMETERS }],
  },
});

/** Only the messages dialect signs its thinking; a client of either dialect reads the signature. */
function thought(answer: SdkAnswer, { upstream }: Cell, question: string): void {
  const expected = thinkingText(question);
  assert.equal(answer.thinking, expected);
  assert.deepEqual(answer.signatures, upstream === "messages" ? [signatureOf(expected)] : []);
  assert.ok((answer.usage?.reasoningTokens ?? 0) > 0, "thinking is counted");
  assert.ok(!answer.text.includes(expected), "thinking is not text");
}

/** A provider that signs gets its signed thinking back unchanged; another one gets the thinking as such. */
async function sentBack(cell: Cell, thinking: string): Promise<void> {
  const { body } = await cell.received();
  const { messages } = body as { messages: { role: string; content: unknown; reasoning_content?: string }[] };
  const turn = messages.find(({ role }) => role === "assistant");
  if (cell.upstream === "compat") return assert.equal(turn?.reasoning_content, thinking);
  assert.ok(Array.isArray(turn?.content));
  const { type, thinking: text, signature } = Object(turn.content[0]);
  assert.deepEqual({ type, text, signature }, { type: "thinking", text: thinking, signature: signatureOf(thinking) });
}

const PREFIX_WORDS = 2_000;
let prefixes = 0;

/** A prompt that is not cached yet. */
function cacheable(): RequestByClient {
  prefixes += 1;
  const text = `Rule ${prefixes}: ${"obey ".repeat(PREFIX_WORDS)}`;
  const marked = { type: "text" as const, text, prompt_cache_breakpoint: { mode: "explicit" as const } };
  return {
    openai: {
      messages: [
        { role: "system", content: [marked] },
        { role: "user", content: QUESTION },
      ],
    },
    anthropic: {
      system: [{ type: "text", text, cache_control: { type: "ephemeral" } }],
      messages: [{ role: "user", content: QUESTION }],
    },
  };
}

export const THINKING_FEATURES: readonly Feature[] = [
  {
    name: "thinking with a tool call, over three turns",
    // A compat provider that accepts its own reasoning back.
    model: "sim-open",
    request: thinkingOf(user(QUESTION)),
    async check(first, cell) {
      thought(first, cell, QUESTION);
      assert.deepEqual(
        first.calls.map(({ name }) => name),
        ["get_weather"],
      );
      ends(first, cell, "call");
      const soFar = join(user(QUESTION), first.turn, results(first, ["Sunny"]));
      const second = await cell.ask(thinkingOf(soFar));
      thought(second, cell, QUESTION);
      assert.match(second.text, /Your tool said: "Sunny"/);
      ends(second, cell, "end");
      await sentBack(cell, first.thinking);
      const third = await cell.ask(thinkingOf(join(soFar, second.turn, user(SECOND_QUESTION))));
      thought(third, cell, SECOND_QUESTION);
      ends(third, cell, "call");
      await sentBack(cell, first.thinking);
    },
  },
  {
    name: "thinking that the provider hides",
    model: "sim-redacted",
    request: thinkingOf(user(QUESTION)),
    async check(first, cell) {
      assert.deepEqual([first.thinking, first.signatures], ["", []]);
      assert.ok((first.usage?.reasoningTokens ?? 0) > 0, "thinking is counted");
      const second = await cell.ask(thinkingOf(join(user(QUESTION), first.turn, results(first, ["Sunny"]))));
      assert.match(second.text, /Your tool said: "Sunny"/);
      if (cell.upstream !== "messages") return;
      const { body } = await cell.received();
      const { messages } = body as { messages: { content: { type: string; data: string }[] }[] };
      const [hidden] = messages[1]?.content ?? [];
      assert.equal(hidden?.type, "redacted_thinking");
      assert.ok(isRedacted(hidden.data), "it is sent back what it had hidden");
    },
  },
  {
    name: "reasoning effort",
    request: {
      openai: { ...requestOf(user(QUESTION)).openai, reasoning_effort: "low" },
      anthropic: {
        ...requestOf(user(QUESTION)).anthropic,
        thinking: { type: "adaptive" },
        output_config: { effort: "low" },
      },
    },
    sent: {
      compat: { reasoning_effort: "low" },
      messages: { thinking: { type: "adaptive" }, output_config: { effort: "low" } },
    },
    check: (answer, cell) => thought(answer, cell, QUESTION),
  },
  {
    name: "prompt caching: written, then read",
    async run(cell) {
      const request = cacheable();
      const written = await cell.ask(request);
      const { cacheCreationInputTokens = 0, cachedInputTokens } = written.usage ?? {};
      assert.ok(cacheCreationInputTokens >= PREFIX_WORDS);
      assert.equal(cachedInputTokens, 0);
      await cell.sent({
        compat: { messages: [{ content: [{ prompt_cache_breakpoint: { mode: "explicit" } }] }, { role: "user" }] },
        messages: { system: [{ cache_control: { type: "ephemeral" } }] },
      });
      const read = await cell.ask(request);
      assert.equal(read.usage?.cacheCreationInputTokens, 0);
      assert.equal(read.usage.cachedInputTokens, cacheCreationInputTokens);
      assert.equal(read.usage.inputTokens, written.usage?.inputTokens);
    },
  },
];
