/** Inspects a whole answer. */
import { isUtf8 } from "node:buffer";
import type { GuardrailMetrics, JudgedAnswer } from "../core/guardrails/index.ts";
import { type MaybePromise, mapMaybePromise } from "../core/guardrails/index.ts";
import { type AnswerType, mediaOf, wholeTexts } from "./answer-body.ts";
import type { AnswerContext } from "./answer-events.ts";
import { UnreadableAnswer } from "./inspected-event.ts";
import { inspectMessage, type ReadMessage } from "./message-stream.ts";
import type { BodyChange } from "./rewrite-headers.ts";

export interface InspectedBody {
  readonly body: Buffer;
  readonly change: BodyChange;
}

/** Returns the inspected body, or `undefined` if it is refused. Throws `UnreadableAnswer`. */
export function inspectWhole(
  body: Buffer,
  type: AnswerType,
  answer: JudgedAnswer,
  { route, dialect, read }: AnswerContext,
  metrics: GuardrailMetrics,
): MaybePromise<InspectedBody | undefined> {
  if (read !== undefined) return inspectWholeMessage(body, read, answer, metrics);
  const whole = wholeTexts(body, type, route.name, dialect);
  if (whole === undefined) {
    metrics.uninspected(mediaOf(type));
    return { body, change: {} };
  }
  for (const what of whole.uninspected) metrics.uninspected(what);
  const rewritten = answer.judgeTexts(whole.texts.map(({ text }) => text));
  return mapMaybePromise(rewritten, (rewrites) => {
    if (rewrites === undefined) return undefined;
    const made = whole.rewrite(rewrites.map((one) => one?.text));
    const change = { isRewritten: true, length: made.length, isTranscoded: whole.isTranscoded };
    return { body: made, change: made === body ? {} : change };
  });
}

function inspectWholeMessage(
  body: Buffer,
  read: ReadMessage,
  answer: JudgedAnswer,
  metrics: GuardrailMetrics,
): MaybePromise<InspectedBody | undefined> {
  if (!isUtf8(body)) throw new UnreadableAnswer("it is not UTF-8");
  const written = body.toString("utf8");
  // Clients skip a byte order mark.
  const text = written.startsWith("\uFEFF") ? written.slice(1) : written;
  return mapMaybePromise(inspectMessage(text, read, answer, metrics), (shown) => {
    if (shown === undefined) return undefined;
    if (shown === text) return { body, change: {} };
    const made = Buffer.from(shown);
    return { body: made, change: { isRewritten: true, length: made.length } };
  });
}
