/** Findings as policy works on them, before they are annotations. Source: guardrails reference, 2.1 to 2.4. */

import type { Annotation, Dropped, Inspected } from "../index.ts";

export interface Candidate {
  readonly annotation: Annotation;
  /** `<category>/<LABEL>`. */
  readonly type: string;
  /** Names of the detectors that it comes from; several, once findings were merged. */
  readonly sources: readonly string[];
  /** Place of the detector in the ensemble. */
  readonly order: number;
  /**
   * A judgement of a whole segment, not a place in it: it hides no finding, its text is no value, and it is not merged with
   * what merely lies within.
   */
  readonly isVerdict: boolean;
}

export type Drop = (candidate: Candidate, by: Dropped["by"]) => void;

/** Of detectors whose findings are verdicts; `types` of `DetectorFacts`. */
export const VERDICT_TYPES: ReadonlySet<string> = new Set(["llm", "classify", "embed"]);

export interface Member {
  readonly order: number;
  readonly isVerdict: boolean;
}

export interface Sorted {
  /** By segment. */
  readonly inline: readonly Candidate[][];
  readonly shadow: readonly Annotation[];
}

/** Findings without a place in their text, and of detectors that are not in force, are left out. */
export function candidatesOf({ segments, found }: Inspected, members: ReadonlyMap<string, Member>): Sorted {
  const inline: Candidate[][] = segments.map(() => []);
  const shadow: Annotation[] = [];
  for (const { detector, mode, findings } of found) {
    const member = members.get(detector);
    if (member === undefined) continue;
    for (const [segment, list] of findings.entries()) {
      const length = segments[segment]?.text.length ?? 0;
      for (const finding of list) {
        if (finding.start < 0 || finding.start >= finding.end || finding.end > length) continue;
        const annotation: Annotation = { ...finding, segment, detector, agreement: 0 };
        if (mode === "shadow") shadow.push(annotation);
        else {
          const type = `${finding.category}/${finding.label}`;
          inline[segment]?.push({ annotation, type, sources: [detector], ...member });
        }
      }
    }
  }
  return { inline, shadow };
}

/** The order in which ties are broken, on every node the same. Source: guardrails reference, 2.4. */
export function byRank(left: Candidate, right: Candidate): number {
  const a = left.annotation;
  const b = right.annotation;
  return (
    b.score - a.score ||
    b.end - b.start - (a.end - a.start) ||
    a.start - b.start ||
    (left.type < right.type ? -1 : left.type > right.type ? 1 : 0) ||
    left.order - right.order
  );
}

export const byPlace = (left: Candidate, right: Candidate): number =>
  left.annotation.start - right.annotation.start || left.annotation.end - right.annotation.end || byRank(left, right);

/**
 * Raises what another detector found too: the same type in a place that it overlaps. Once, on the scores as they were.
 * Source: guardrails reference, 2.4, `agreement_boost`.
 */
export function agreed(candidates: readonly Candidate[], boost: number): readonly Candidate[] {
  const raised = new Set<Candidate>();
  for (const group of byType(candidates)) {
    // Of what came before: what reaches farthest, and what of another detector than that does.
    let far: Candidate | undefined;
    let other: Candidate | undefined;
    for (const one of group.toSorted(byPlace)) {
      const partner = far?.annotation.detector === one.annotation.detector ? other : far;
      if (partner !== undefined && partner.annotation.end > one.annotation.start) raised.add(one).add(partner);
      if (far === undefined || one.annotation.end > far.annotation.end) {
        if (far !== undefined && far.annotation.detector !== one.annotation.detector) other = far;
        far = one;
      } else if (one.annotation.detector !== far.annotation.detector) {
        if (other === undefined || one.annotation.end > other.annotation.end) other = one;
      }
    }
  }
  if (raised.size === 0) return candidates;
  return candidates.map((one) => {
    if (!raised.has(one)) return one;
    const score = Math.min(1, one.annotation.score + boost);
    return { ...one, annotation: { ...one.annotation, score, agreement: score - one.annotation.score } };
  });
}

function byType(candidates: readonly Candidate[]): Iterable<readonly Candidate[]> {
  const groups = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const group = groups.get(candidate.type);
    if (group === undefined) groups.set(candidate.type, [candidate]);
    else group.push(candidate);
  }
  return groups.values();
}
