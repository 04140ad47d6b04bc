/**
 * Checks whether categories and text reach the model. A server that does not know template variables drops them
 * silently, and a guard model without input always answers `safe`. Source: judge-formats reference, 1.
 */
import { DetectorError } from "../../core/guardrails/index.ts";
import type { ModelAnswer } from "../ports.ts";
import type { JudgeFormat, JudgeQuestion } from "./types.ts";

const AGAIN_MS = 60_000;

const SHORT = "Good morning.";
const LONG = `${SHORT} ${"The weather is fine today. ".repeat(12)}`;

/**
 * Returns a function that runs the check once. A failure is remembered for a minute, then the check runs again. Rejects
 * with a `DetectorError`.
 */
export function createProof(
  probe: NonNullable<JudgeFormat["buildProbe"]>,
  now: () => number,
): (ask: (asking: JudgeQuestion) => Promise<ModelAnswer>) => Promise<void> {
  let isProved = false;
  let failed: { readonly error: DetectorError; readonly until: number } | undefined;
  return async (ask) => {
    if (isProved) return;
    if (failed !== undefined && now() < failed.until) throw failed.error;
    const [own, other, long] = await Promise.all([
      ask(probe(SHORT, "own")),
      ask(probe(SHORT, "other")),
      ask(probe(LONG, "own")),
    ]);
    const problem = problemOf(own.promptTokens, other.promptTokens, long.promptTokens);
    if (problem === undefined) {
      isProved = true;
      return;
    }
    failed = { error: new DetectorError("failed", problem), until: now() + AGAIN_MS };
    throw failed.error;
  };
}

function problemOf(own: number | undefined, other: number | undefined, long: number | undefined): string | undefined {
  if (own === undefined || other === undefined || long === undefined) {
    return "its server does not report the tokens of a request, so it is not proven that the model receives the labels";
  }
  if (other === own) return "its server drops the labels: it does not pass `chat_template_kwargs` to the chat template";
  return long <= own ? "its server drops the text: its chat template expects another form of content" : undefined;
}
