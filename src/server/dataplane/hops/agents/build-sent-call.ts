/**
 * Builds a call as it is sent to its server or agent: with the changes of guardrails, and with encrypted values restored that
 * only the server may see. Source: specification document 3, `mcp[].restore`; design decisions, section 11, Order.
 */
import { GatewayError } from "../../../../base/index.ts";
import type { Restorer } from "../../../snapshot/index.ts";
import { type AgentCall, type CallTexts, hasArguments } from "./agent-call.ts";
import type { InspectedCall } from "./inspect-call.ts";

interface SentCall {
  /** Rewritten call; `undefined` if the call is sent unchanged. */
  readonly rewritten: ReturnType<CallTexts["rewrite"]> | undefined;
  /** Number of restored values by type. */
  readonly restored: Readonly<Record<string, number>>;
}

const NOTHING: Readonly<Record<string, number>> = {};

/**
 * Returns the call to send. Throws `body_too_large` if it contains too many candidates for encrypted values, and
 * `invalid_request`.
 */
export function buildSentCall(
  call: AgentCall,
  inspected: InspectedCall | undefined,
  restorer: Restorer | undefined,
): SentCall {
  const { changes } = inspected ?? {};
  const isRestored = restorer !== undefined && hasArguments(call);
  const texts = inspected?.texts ?? (isRestored ? call.texts() : undefined);
  if (texts === undefined) return { rewritten: undefined, restored: NOTHING };
  if (!isRestored) return { rewritten: changes && texts.rewrite(changes), restored: NOTHING };
  const places = texts.texts.flatMap(({ isArgument, isReadOnly }, at) => (isArgument && !isReadOnly ? [at] : []));
  const argumentTexts = places.map((at) => changes?.[at] ?? texts.texts[at]?.text ?? "");
  const decrypted = restorer.restore(argumentTexts);
  if (decrypted === undefined) {
    throw new GatewayError(
      "body_too_large",
      "The call contains too many numbers in which encrypted values would have to be searched.",
    );
  }
  if (decrypted.texts.every((text, i) => text === argumentTexts[i])) {
    return { rewritten: changes && texts.rewrite(changes), restored: NOTHING };
  }
  const all = texts.texts.map((_, at) => changes?.[at]);
  for (const [i, at] of places.entries()) if (decrypted.texts[i] !== argumentTexts[i]) all[at] = decrypted.texts[i];
  return { rewritten: texts.rewrite(all), restored: decrypted.counts };
}
