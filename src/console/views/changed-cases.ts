/** Cases of a sweep whose result differs between two thresholds. */

import type { ChangedCase, SweepResult } from "../model/sweep.ts";

export interface ChangedCases {
  /** Number of cases that are wrong at the first step and right at the second; `wrong` counts the reverse. */
  readonly right: number;
  readonly wrong: number;
  /** Known cases with their texts, in the order of the data, including those with a different error at both steps. */
  readonly cases: readonly { readonly one: ChangedCase; readonly before: string; readonly now: string }[];
}

/** Returns the cases whose result changes between two steps. `from` and `to` are indices of steps. */
export function changesBetween({ steps, changedCases }: SweepResult, from: number, to: number): ChangedCases {
  const before = steps[from]?.wrong ?? new Uint8Array();
  const now = steps[to]?.wrong ?? new Uint8Array();
  let [right, wrong] = [0, 0];
  for (const [at, bits] of before.entries()) {
    const then = now[at] ?? 0;
    right += countBits(bits & ~then);
    wrong += countBits(then & ~bits);
  }
  const cases = changedCases.flatMap((one) => {
    const pair = { before: faultsAt(one, from), now: faultsAt(one, to) };
    return pair.before === pair.now ? [] : [{ one, ...pair }];
  });
  // Cases that change between right and wrong come before those with a different error, since the counts include only the
  // former.
  const rank = ({ before, now }: { readonly before: string; readonly now: string }): number =>
    before !== "" && now !== "" ? 1 : 0;
  return { right, wrong, cases: cases.sort((a, b) => rank(a) - rank(b)) };
}

export const countWrong = (bits: Uint8Array): number => bits.reduce((sum, byte) => sum + countBits(byte), 0);

function countBits(byte: number): number {
  let left = byte & 0xff;
  let number = 0;
  for (; left !== 0; left &= left - 1) number += 1;
  return number;
}

/** Returns the error of the case at a step; empty if there is none. */
const faultsAt = ({ sides }: ChangedCase, step: number): string =>
  sides.findLast(({ from }) => from <= step)?.fault ?? "";
