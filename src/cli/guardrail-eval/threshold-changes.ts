/** Collects cases whose verdict changes between thresholds: which cases, and what is wrong at which thresholds. */

import type { EvalCase } from "./evaluation-case.ts";
import type { Faults } from "./wrong-cases.ts";

/** Verdict on a case from one step of the sweep until the next change. */
interface VerdictChange {
  /** Index of the step. */
  readonly from: number;
  /** Faults; `undefined` if the case is right. */
  readonly faults: Faults | undefined;
}

export interface ChangingCase {
  /** Index of the case in the data, from 0. */
  readonly index: number;
  readonly case: EvalCase;
  /** Verdicts by ascending step; the first is at the lowest threshold. */
  readonly verdicts: readonly VerdictChange[];
}

export interface ChangedVerdicts {
  /** Which cases are wrong at each step: one bit per case, in the order of the data. */
  readonly wrongBits: readonly Uint8Array[];
  /** First cases whose verdict changes, in the order of their first change. */
  readonly cases: readonly ChangingCase[];
  /** Number of all cases whose verdict changes. */
  readonly total: number;
}

interface ChangeCollector {
  /** Begins the next step; call it before the step's cases. */
  beginStep(): void;
  /** Adds a case to the current step. */
  addVerdict(index: number, one: EvalCase, faults: Faults | undefined): void;
  result(): ChangedVerdicts;
}

/** Creates a collector. At most `maxCases` cases are kept with their faults; for the others only the bits are. */
export function createChangeCollector(cases: number, maxCases: number): ChangeCollector {
  const wrongBits: Uint8Array[] = [];
  const last: { readonly key: string; readonly faults: Faults | undefined }[] = [];
  const kept = new Map<number, { readonly case: EvalCase; readonly verdicts: VerdictChange[] }>();
  const changedCases = new Set<number>();
  return {
    beginStep: () => void wrongBits.push(new Uint8Array(Math.ceil(cases / 8))),
    addVerdict(index, one, faults) {
      const at = wrongBits.length - 1;
      const bits = wrongBits[at];
      if (faults !== undefined && bits !== undefined) bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
      const key = keyOf(faults);
      const before = last[index];
      if (before?.key === key) return;
      last[index] = { key, faults };
      if (before === undefined) return;
      changedCases.add(index);
      const verdicts = kept.get(index)?.verdicts;
      if (verdicts !== undefined) verdicts.push({ from: at, faults });
      else if (kept.size < maxCases) {
        kept.set(index, {
          case: one,
          verdicts: [
            { from: 0, faults: before.faults },
            { from: at, faults },
          ],
        });
      }
    },
    result: () => ({
      wrongBits: wrongBits,
      cases: [...kept].map(([index, one]) => ({ index, ...one })),
      total: changedCases.size,
    }),
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
