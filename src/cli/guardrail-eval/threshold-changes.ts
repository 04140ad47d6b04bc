/** Cases that are right at one threshold and wrong, or wrong otherwise, at another: which they are, and what is wrong when. */

import type { EvalCase } from "./cases.ts";
import type { Faults } from "./wrong-cases.ts";

/** From a step of the sweep on, until the next of the case. */
export interface Side {
  /** Index of the step. */
  readonly from: number;
  /** Undefined: the case is right. */
  readonly faults: Faults | undefined;
}

export interface Turning {
  /** In the order of the data, from 0. */
  readonly index: number;
  readonly case: EvalCase;
  /** Ascending; the first is that of the lowest threshold. */
  readonly sides: readonly Side[];
}

export interface Turned {
  /** Of each step, which cases are wrong: a bit each, in the order of the data. */
  readonly wrong: readonly Uint8Array[];
  /** In the order in which they turn, the first of them. */
  readonly cases: readonly Turning[];
  /** How many turn in all. */
  readonly all: number;
}

export interface Turns {
  /** Before the cases of the next step. */
  begin(): void;
  /** A case at the step that was begun. */
  see(index: number, one: EvalCase, faults: Faults | undefined): void;
  turned(): Turned;
}

/** `most` is kept with what is wrong when; that a case is wrong at all is known of every one. */
export function createTurns(cases: number, most: number): Turns {
  const wrong: Uint8Array[] = [];
  const last: { readonly key: string; readonly faults: Faults | undefined }[] = [];
  const kept = new Map<number, { readonly case: EvalCase; readonly sides: Side[] }>();
  const turned = new Set<number>();
  return {
    begin: () => void wrong.push(new Uint8Array(Math.ceil(cases / 8))),
    see(index, one, faults) {
      const at = wrong.length - 1;
      const bits = wrong[at];
      if (faults !== undefined && bits !== undefined) bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
      const key = keyOf(faults);
      const before = last[index];
      if (before?.key === key) return;
      last[index] = { key, faults };
      if (before === undefined) return;
      turned.add(index);
      const sides = kept.get(index)?.sides;
      if (sides !== undefined) sides.push({ from: at, faults });
      else if (kept.size < most) {
        kept.set(index, {
          case: one,
          sides: [
            { from: 0, faults: before.faults },
            { from: at, faults },
          ],
        });
      }
    },
    turned: () => ({ wrong, cases: [...kept].map(([index, one]) => ({ index, ...one })), all: turned.size }),
  };
}

/** Empty: the case is right. */
function keyOf(faults: Faults | undefined): string {
  if (faults === undefined) return "";
  const { missed, extra, missedLabels, extraLabels } = faults;
  const places = [missed, extra].map((list) =>
    list.map(({ start, end, type }) => `${start} ${end} ${type}`).join("\n"),
  );
  return [...places, missedLabels.join("\n"), extraLabels.map(({ type }) => type).join("\n")].join("\f");
}
