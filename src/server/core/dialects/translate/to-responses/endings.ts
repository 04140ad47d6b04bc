/** Determines why an answer is incomplete, from its finish reason in the compat dialect. Source: responses reference, 6.2. */
import type { Shortage } from "./response-object.ts";

const SHORTAGES: ReadonlyMap<string, Shortage> = new Map<string, Shortage>([
  ["length", "max_output_tokens"],
  ["content_filter", "content_filter"],
]);

/** Returns why the answer is incomplete, or `undefined` if it is complete. Every unknown reason counts as complete. */
export function shortageOf(finishReason: string): Shortage | undefined {
  return SHORTAGES.get(finishReason);
}
