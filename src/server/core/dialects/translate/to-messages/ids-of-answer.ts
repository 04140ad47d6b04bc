/** Creates ids in an answer for a messages client: the provider's own, and those that it left out. */
import { stringOf } from "../../json/json-values.ts";
import type { AnswerStamp } from "../types.ts";

/**
 * Returns a function for the ids of the calls of one answer, in order: the provider's own, made unique, or a created one if it
 * is missing.
 */
export function createCallIds(stamp: AnswerStamp): (given: string) => string {
  const taken = new Set<string>();
  return (given) => {
    const id = given === "" || taken.has(given) ? `toolu_${stamp.seed}_${taken.size}` : given;
    taken.add(id);
    return id;
  };
}

export function messageId(stamp: AnswerStamp, id: unknown): string {
  return stringOf(id) || `msg_${stamp.seed}`;
}
