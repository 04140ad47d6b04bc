/** Finds cases whose findings differ from the marks, and shows what became of each missed mark. */

import type { EvalCase, Mark } from "./evaluation-case.ts";
import type { CaseFinding, RemovedFinding } from "./inspect-case.ts";
import { matchExactly } from "./scoring.ts";
import type { Scope } from "./survey-data.ts";
import type { Outcome } from "./tally.ts";

/** Finding near a missed mark. `kept` means that it counts, but its place or type differs from the mark. */
export interface NearMiss extends CaseFinding {
  readonly by: "kept" | RemovedFinding["by"];
}

export interface Faults {
  readonly missed: readonly Mark[];
  readonly extra: readonly CaseFinding[];
  readonly missedLabels: readonly string[];
  /** Finding with the highest score for each label. */
  readonly extraLabels: readonly CaseFinding[];
}

export interface WrongCase {
  readonly index: number;
  readonly case: EvalCase;
  readonly missed: readonly (Mark & { readonly near: readonly NearMiss[] })[];
  readonly extra: readonly CaseFinding[];
  readonly missedLabels: readonly (Pick<Mark, "type"> & { readonly near: readonly NearMiss[] })[];
  readonly extraLabels: readonly CaseFinding[];
}

/** Returns the faults of a case; `undefined` if it is right. */
export function faultsOf(
  { spans, labels }: Pick<Outcome, "spans" | "labels">,
  findings: readonly CaseFinding[],
  scope: Scope,
): Faults | undefined {
  const marks = (spans ?? []).filter(({ type }) => scope.types(type));
  const found = spans === undefined ? [] : findings.filter(({ type }) => scope.types(type));
  const { matched: met, correct: right } = matchExactly(marks, found);
  const missed = marks.filter((_, at) => !met[at]);
  const extra = found.filter((_, at) => !right[at]);
  const best = labels === undefined ? new Map<string, CaseFinding>() : bestOf(findings);
  const missedLabels = [...(labels ?? [])].filter((label) => scope.labels(label) && !best.has(label));
  const extraLabels = [...best.values()].filter(({ type }) => scope.labels(type) && labels?.has(type) !== true);
  if (missed.length + extra.length + missedLabels.length + extraLabels.length === 0) return undefined;
  return { missed, extra, missedLabels, extraLabels };
}

/** Returns the finding with the highest score of each type. */
export function bestOf(findings: readonly CaseFinding[]): ReadonlyMap<string, CaseFinding> {
  const best = new Map<string, CaseFinding>();
  for (const finding of findings) {
    if (finding.score > (best.get(finding.type)?.score ?? Number.NEGATIVE_INFINITY)) best.set(finding.type, finding);
  }
  return best;
}

/** Returns the wrong case with its faults explained. `met`: all findings, including those that do not count. */
export function explainCase(one: EvalCase, index: number, faults: Faults, allFindings: readonly NearMiss[]): WrongCase {
  const { missed, extra, missedLabels, extraLabels } = faults;
  return {
    index,
    case: one,
    missed: missed.map((mark) => ({
      ...mark,
      near: allFindings.filter(({ start, end }) => start < mark.end && mark.start < end),
    })),
    extra,
    missedLabels: missedLabels.map((type) => ({ type, near: allFindings.filter((finding) => finding.type === type) })),
    extraLabels,
  };
}
