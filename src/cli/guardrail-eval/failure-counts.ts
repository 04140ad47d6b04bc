/** Cases in which detectors failed. */

import type { Failure } from "../../server/core/guardrails/index.ts";

/** Failed cases by detector name. `reason`: of the first failure, empty if unknown. */
export type FailedCases = ReadonlyMap<string, { readonly cases: number; readonly reason: string }>;

interface FailureCount {
  readonly cases: FailedCases;
  /** Adds the failures of one case. */
  readonly add: (failures: readonly Failure[]) => void;
}

export function countFailures(): FailureCount {
  const cases = new Map<string, { readonly cases: number; readonly reason: string }>();
  return {
    cases,
    add(failures) {
      for (const { detector, reason } of failures) {
        const before = cases.get(detector) ?? { cases: 0, reason };
        cases.set(detector, { cases: before.cases + 1, reason: before.reason || reason });
      }
    },
  };
}
