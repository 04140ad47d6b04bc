/** An answer that is judged whole, and one that must be decoded first. */
import { GatewayError } from "../../../../base/index.ts";
import type { JudgedAnswer } from "../../../core/guardrails/index.ts";
import { after, type Later } from "../../../core/guardrails/index.ts";
import { decode } from "../../decode.ts";
import type { Holding } from "../../memory/index.ts";
import { type AnswerType, mediaOf, wholeTexts } from "./answer-body.ts";
import type { Recording } from "./answer-record.ts";
import { UnreadableAnswer } from "./inspected-event.ts";
import type { Mending } from "./inspected-headers.ts";

/** An answer that comes encoded, and what it unpacks to. */
export const MAX_ENCODED_BYTES = 32 << 20;

export interface MadeAnswer {
  readonly body: Buffer;
  readonly mending: Mending;
}

/** Undefined: it is refused. Throws `UnreadableAnswer`. */
export function judgedWhole(
  body: Buffer,
  type: AnswerType,
  answer: JudgedAnswer,
  { target, sinks }: Recording,
): Later<MadeAnswer | undefined> {
  const whole = wholeTexts(body, type, target.route.name, target.dialect);
  if (whole === undefined) {
    sinks.metrics.uninspected(mediaOf(type));
    return { body, mending: {} };
  }
  for (const what of whole.uninspected) sinks.metrics.uninspected(what);
  const rewritten = answer.whole(whole.texts.map(({ text }) => text));
  return after(rewritten, (rewrites) => {
    if (rewrites === undefined) return undefined;
    const made = whole.rewrite(rewrites.map((one) => one?.text));
    const mending = { isRewritten: true, length: made.length, isTranscoded: whole.isTranscoded };
    return { body: made, mending: made === body ? {} : mending };
  });
}

/** Throws `UnreadableAnswer`, or `overloaded`. */
export async function decodedAnswer(body: Buffer, encoding: string, holding: Holding): Promise<Buffer> {
  if (body.length === 0) return body;
  try {
    return await decode(body, encoding, MAX_ENCODED_BYTES, holding);
  } catch (cause) {
    if (cause instanceof GatewayError && cause.code === "overloaded") throw cause;
    throw new UnreadableAnswer("it does not decode as its content encoding says");
  }
}
