/** Cases of a sweep whose result differs between two thresholds. */

import type { SweepResult, TurningCase } from "../model/sweep.ts";

export interface Turned {
  /** Number of cases that are wrong at the first step and right at the second; `wrong` counts the reverse. */
  readonly right: number;
  readonly wrong: number;
  /** Known cases with their texts, in the order of the data, including those with a different error at both steps. */
  readonly cases: readonly { readonly one: TurningCase; readonly before: string; readonly now: string }[];
}

/** Returns the cases whose result changes between two steps. `from` and `to` are indices of steps. */
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
  // Cases that change between right and wrong come before those with a different error, since the counts include only the
  // former.
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

/** Returns the error of the case at a step; empty if there is none. */
const wordsAt = ({ sides }: TurningCase, step: number): string =>
  sides.findLast(({ from }) => from <= step)?.words ?? "";
