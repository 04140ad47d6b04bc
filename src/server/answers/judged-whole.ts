/** An answer that is judged whole. */
import type { GuardrailMetrics, JudgedAnswer } from "../core/guardrails/index.ts";
import { after, type Later } from "../core/guardrails/index.ts";
import { type AnswerType, mediaOf, wholeTexts } from "./answer-body.ts";
import type { Answered } from "./answer-events.ts";
import type { Mending } from "./mending.ts";

export interface MadeAnswer {
  readonly body: Buffer;
  readonly mending: Mending;
}

/** Undefined: it is refused. Throws `UnreadableAnswer`. */
export function judgedWhole(
  body: Buffer,
  type: AnswerType,
  answer: JudgedAnswer,
  { route, dialect }: Answered,
  metrics: GuardrailMetrics,
): Later<MadeAnswer | undefined> {
  const whole = wholeTexts(body, type, route.name, dialect);
  if (whole === undefined) {
    metrics.uninspected(mediaOf(type));
    return { body, mending: {} };
  }
  for (const what of whole.uninspected) metrics.uninspected(what);
  const rewritten = answer.whole(whole.texts.map(({ text }) => text));
  return after(rewritten, (rewrites) => {
    if (rewrites === undefined) return undefined;
    const made = whole.rewrite(rewrites.map((one) => one?.text));
    const mending = { isRewritten: true, length: made.length, isTranscoded: whole.isTranscoded };
    return { body: made, mending: made === body ? {} : mending };
  });
}
