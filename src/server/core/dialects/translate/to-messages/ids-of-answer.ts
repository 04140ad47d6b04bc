/** Creates the ids of an answer for a messages client. */
import { stringOf } from "../../json/json-values.ts";
import type { AnswerStamp } from "../types.ts";

/**
 * Returns a function that returns the id of the next call of an answer: the provider's id if it is unique, otherwise a created
 * one.
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
