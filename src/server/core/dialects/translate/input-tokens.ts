/**
 * Counts the tokens of a `responses` request at a provider of the messages dialect. Source: responses reference, 11.1; dialects
 * reference, 5.1 (`count_tokens`).
 */
import { objectOf, tryParseJson } from "../json/json-values.ts";
import { normalizeUsage } from "../usage/usage-normalize.ts";
import { AnswerProblem, type AnswerTranslation, type RequestTranslation } from "./types.ts";

/** Members of a messages request that count_tokens accepts. */
const COUNTED_MEMBERS: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "system",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
]);

const READING: AnswerTranslation = {
  openStream: () => undefined,
  translateWhole(body) {
    const count = normalizeUsage("messages", tryParseJson(body))?.inputTokens;
    if (count === undefined) throw new AnswerProblem("the answer reports no tokens");
    return JSON.stringify({ object: "response.input_tokens", input_tokens: count });
  },
};

/** Converts a translated messages request to a request that counts its tokens. */
export function countTokensRequest({ body, lost }: RequestTranslation): RequestTranslation {
  const counted = Object.entries(objectOf(tryParseJson(body)) ?? {}).filter(([name]) => COUNTED_MEMBERS.has(name));
  return { body: JSON.stringify(Object.fromEntries(counted)), reading: READING, lost };
}
