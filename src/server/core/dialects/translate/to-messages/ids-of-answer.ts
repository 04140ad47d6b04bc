/** Ids in an answer for a messages client: the provider's own, and those that it left out. */
import { stringOf } from "../../values.ts";
import type { AnswerStamp } from "../types.ts";

/** Ids of the calls of one answer, in order: the provider's own, but none twice, and one that it left out is made. */
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
