/** Collects cases whose verdict changes between thresholds: which cases, and what is wrong at which thresholds. */

import type { EvalCase } from "./cases.ts";
import type { Faults } from "./wrong-cases.ts";

/** Verdict on a case from one step of the sweep until the next change. */
export interface Side {
  /** Index of the step. */
  readonly from: number;
  /** Faults; `undefined` if the case is right. */
  readonly faults: Faults | undefined;
}

export interface Turning {
  /** Index of the case in the data, from 0. */
  readonly index: number;
  readonly case: EvalCase;
  /** Verdicts by ascending step; the first is at the lowest threshold. */
  readonly sides: readonly Side[];
}

export interface Turned {
  /** Which cases are wrong at each step: one bit per case, in the order of the data. */
  readonly wrong: readonly Uint8Array[];
  /** First cases whose verdict changes, in the order of their first change. */
  readonly cases: readonly Turning[];
  /** Number of all cases whose verdict changes. */
  readonly all: number;
}

interface Turns {
  /** Begins the next step; call it before the step's cases. */
  begin(): void;
  /** Adds a case to the current step. */
  see(index: number, one: EvalCase, faults: Faults | undefined): void;
  turned(): Turned;
}

/** Creates a collector. At most `most` cases are kept with their faults; for the others only the bits are. */
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

/** Returns a key of the faults; empty if the case is right. */
function keyOf(faults: Faults | undefined): string {
  if (faults === undefined) return "";
  const { missed, extra, missedLabels, extraLabels } = faults;
  const places = [missed, extra].map((list) =>
    list.map(({ start, end, type }) => `${start} ${end} ${type}`).join("\n"),
  );
  return [...places, missedLabels.join("\n"), extraLabels.map(({ type }) => type).join("\n")].join("\f");
}
