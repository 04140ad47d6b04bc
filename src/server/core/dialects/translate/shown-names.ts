/** Converts names in an answer to those that the client knows. Source: dialects reference, 8.2 and 8.5. */
import { stringOf } from "../json/json-values.ts";
import type { AnswerTerms } from "./types.ts";

/**
 * Returns the name of the model to show the client: the name that it asked for, unless the provider answered with another
 * model. `model` is the name in the provider's answer, if any.
 */
export function shownModel({ model: { sent, requested: asked } }: Pick<AnswerTerms, "model">, model: unknown): string {
  const answered = stringOf(model) || sent;
  return answered === sent ? asked : answered;
}

export function shownTool({ toolNames }: AnswerTerms, name: string): string {
  return toolNames.get(name) ?? name;
}
