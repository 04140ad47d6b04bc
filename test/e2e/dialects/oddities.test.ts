/**
 * The deviations from their dialect that providers are known for, on translated paths: the client of the other dialect reads
 * thinking, text, calls and usage as if there were none. Source: dialects reference, 3.3 and 5.3.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Usage } from "../../../src/server/core/dialects/usage/usage.ts";
import { ODDITIES } from "../../../src/simulator/stream-oddities.ts";
import { cellOf, type RequestByClient } from "./support/cell.ts";
import { answers, ends, QUESTION, QUESTION_REQUEST } from "./support/features/question.ts";
import { signatureOf, thinkingText } from "./support/provider-thinking.ts";
import { startRig, UPSTREAMS } from "./support/rig.ts";
import { FORMS, type Form, type SdkAnswer } from "./support/sdk-answer.ts";

const OTHERS = { compat: "anthropic", messages: "openai" } as const;
const CALLING = "sim-text-first+calls-2";
const PLAIN = "sim-small";

const calling = (oddity: string): string => `${CALLING}+odd-${oddity}`;
const plain = (oddity: string): string => `sim-odd-${oddity}`;

const rig = await startRig({ after }, [
  CALLING,
  PLAIN,
  ...ODDITIES.flatMap(({ kind }) => [calling(kind), plain(kind)]),
]);

const PARAMETERS = { type: "object" as const, properties: { city: { type: "string" } } };
const THINKING: RequestByClient = {
  openai: {
    ...QUESTION_REQUEST.openai,
    reasoning_effort: "high",
    tools: [{ type: "function", function: { name: "get_weather", parameters: PARAMETERS } }],
  },
  anthropic: {
    ...QUESTION_REQUEST.anthropic,
    thinking: { type: "enabled", budget_tokens: 2_000 },
    tools: [{ name: "get_weather", input_schema: PARAMETERS }],
  },
};

for (const upstream of UPSTREAMS) {
  const client = OTHERS[upstream];
  const ask = (model: string, form: Form, request: RequestByClient): Promise<SdkAnswer> =>
    cellOf(rig, { client, upstream, form, provider: upstream, model }).ask(request);

  for (const { kind, effect } of ODDITIES) {
    if (!effect.startsWith(upstream) && !effect.startsWith("both")) continue;
    test(`a ${upstream} provider, ${effect.replace(/^.*?: /, "")}`, async () => {
      for (const form of FORMS) {
        const usual = await ask(PLAIN, form, QUESTION_REQUEST);
        const answer = await ask(plain(kind), form, QUESTION_REQUEST);
        answers(answer, plain(kind), QUESTION);
        ends(answer, { client }, "end");
        usageIs(answer, usual, kind);

        const usualCalls = await ask(CALLING, form, THINKING);
        const called = await ask(calling(kind), form, THINKING);
        assert.equal(called.thinking, thinkingText(QUESTION));
        if (upstream === "messages") assert.deepEqual(called.signatures, [signatureOf(called.thinking)]);
        assert.equal(called.text, usualCalls.text);
        assert.deepEqual(
          called.calls.map(({ name, input }) => [name, input]),
          usualCalls.calls.map(({ name, input }) => [name, input]),
        );
        const ids = called.calls.map(({ id }) => id);
        assert.ok(ids.every((id) => /^[\w-]+$/.test(id)) && new Set(ids).size === 2, "each call has an id of its own");
        ends(called, { client }, "call");
        usageIs(called, usualCalls, kind);
      }
    });
  }
}

function usageIs({ usage }: SdkAnswer, usual: SdkAnswer, kind: string): void {
  assert.ok(usual.usage);
  const known: Partial<Usage> = usage ?? {};
  // Usage that the provider never reported is not invented.
  if (kind === "no-usage") assert.equal(known.outputTokens ?? 0, 0);
  // The last count of thinking is at the start.
  else if (kind === "usage-short")
    assert.deepEqual({ ...usage, reasoningTokens: 0 }, { ...usual.usage, reasoningTokens: 0 });
  else assert.deepEqual(usage, usual.usage);
}
