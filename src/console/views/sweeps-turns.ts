/** Which cases of a sweep turn between two of its thresholds. */

import type { SweepResult, TurningCase } from "../model/sweep.ts";

export interface Turned {
  /** Cases that are wrong at the first and right at the second. */
  readonly right: number;
  readonly wrong: number;
  /** Those that are known with their texts, in the order of the data; also those that are wrong otherwise. */
  readonly cases: readonly { readonly one: TurningCase; readonly before: string; readonly now: string }[];
}

/** Indices of steps. */
export function turnedBetween({ steps, turning }: SweepResult, from: number, to: number): Turned {
  const before = steps[from]?.wrong ?? new Uint8Array();
  const now = steps[to]?.wrong ?? new Uint8Array();
  let [right, wrong] = [0, 0];
  for (const [at, bits] of before.entries()) {
    const then = now[at] ?? 0;
    right += ones(bits & ~then);
    wrong += ones(then & ~bits);
  }
  const cases = turning.flatMap((one) => {
    const pair = { before: wordsAt(one, from), now: wordsAt(one, to) };
    return pair.before === pair.now ? [] : [{ one, ...pair }];
  });
  // What turns from one side to the other before what is wrong otherwise, as the figures above count it.
  const rank = ({ before, now }: { readonly before: string; readonly now: string }): number =>
    before !== "" && now !== "" ? 1 : 0;
  return { right, wrong, cases: cases.sort((a, b) => rank(a) - rank(b)) };
}

export const wrongCases = (bits: Uint8Array): number => bits.reduce((sum, byte) => sum + ones(byte), 0);

function ones(byte: number): number {
  let left = byte & 0xff;
  let number = 0;
  for (; left !== 0; left &= left - 1) number += 1;
  return number;
}

/** What is wrong with the case at a step; empty: nothing. */
const wordsAt = ({ sides }: TurningCase, step: number): string =>
  sides.findLast(({ from }) => from <= step)?.words ?? "";
