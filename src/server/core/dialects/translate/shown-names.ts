/** Converts names in an answer to those that the client knows. Source: dialects reference, 8.2 and 8.5. */
import { stringOf } from "../json/json-values.ts";
import type { AnswerTerms } from "./types.ts";

/**
 * Returns the model that the client is shown. `model` is the name in the provider's answer; if there is none, the client is
 * shown the name that it asked for.
 */
export function shownModel({ model: { sent, asked } }: Pick<AnswerTerms, "model">, model: unknown): string {
  const named = stringOf(model) || sent;
  return named === sent ? asked : named;
}

export function shownTool({ toolNames }: AnswerTerms, name: string): string {
  return toolNames.get(name) ?? name;
}
