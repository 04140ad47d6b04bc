/** Creates the ids of an answer for a messages client. */
import { stringOf } from "../../json/json-values.ts";
import type { AnswerStamp } from "../types.ts";

/**
 * Returns a function that returns the id of the next call of an answer: the provider's id if it is unique, otherwise a created
 * one.
 */
export function createCallIds(stamp: AnswerStamp): (providerId: string) => string {
  const usedIds = new Set<string>();
  return (providerId) => {
    const id = providerId === "" || usedIds.has(providerId) ? `toolu_${stamp.seed}_${usedIds.size}` : providerId;
    usedIds.add(id);
    return id;
  };
}

export function messageId(stamp: AnswerStamp, id: unknown): string {
  return stringOf(id) || `msg_${stamp.seed}`;
}
