/** Determines why an answer is incomplete, from its finish reason in the compat dialect. Source: responses reference, 6.2. */
import { usualFinish } from "../finish-reasons.ts";
import type { IncompleteReason } from "./response-object.ts";

const INCOMPLETE_REASONS: ReadonlyMap<unknown, IncompleteReason> = new Map<unknown, IncompleteReason>([
  ["length", "max_output_tokens"],
  ["content_filter", "content_filter"],
]);

/** Returns why the answer is incomplete, or `undefined` if it is complete. Every unknown reason counts as complete. */
export function incompleteReason(finishReason: string): IncompleteReason | undefined {
  return INCOMPLETE_REASONS.get(usualFinish(finishReason));
}
