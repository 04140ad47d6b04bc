/** Findings in the form that the policy uses before they become annotations. Source: guardrails reference, 2.1 to 2.4. */

import type { Annotation, DroppedFinding, Finding, InspectedSegments } from "../index.ts";

export interface Candidate {
  readonly annotation: Annotation;
  /** Type as `<category>/<LABEL>`. */
  readonly type: string;
  /** Names of the detectors that reported it; several if findings were merged. */
  readonly sources: readonly string[];
  /** Index of the detector in the ensemble. */
  readonly order: number;
  /** Evidence for the type in addition to the score: 2 for a context word, 1 for check digits that prove it. */
  readonly evidence: number;
  /**
   * True for a judgement of a whole segment instead of a place in it. It hides no finding, its text is not a value, and findings
   * within it are not merged into it.
   */
  readonly isVerdict: boolean;
}

export type DropListener = (candidate: Candidate, by: DroppedFinding["by"]) => void;

/** Detector types whose findings are verdicts. */
export const VERDICT_TYPES: ReadonlySet<string> = new Set(["llm", "classify", "embed"]);

export interface Member {
  readonly order: number;
  readonly isVerdict: boolean;
}

interface CandidateLists {
  /** Findings by segment. */
  readonly inline: readonly Candidate[][];
  readonly shadow: readonly Annotation[];
}

/**
 * Sorts findings by segment. Leaves out findings whose place is not in their text, and those of detectors that are not active. A
 * text may have tens of thousands, so objects are written out: a spread takes ten times as long.
 */
export function candidatesOf(
  { segments, found }: InspectedSegments,
  members: ReadonlyMap<string, Member>,
  keepsTrace: boolean,
): CandidateLists {
  const inline: Candidate[][] = segments.map(() => []);
  const shadow: Annotation[] = [];
  for (const { detector, mode, findings } of found) {
    const member = members.get(detector);
    if (member === undefined) continue;
    const { order, isVerdict } = member;
    const sources = [detector];
    for (const [segment, list] of findings.entries()) {
      const length = segments[segment]?.text.length ?? 0;
      for (const finding of list) {
        const { start, end, category, label, score, recognizer } = finding;
        if (start < 0 || start >= end || end > length) continue;
        const trace = keepsTrace ? finding.trace : undefined;
        const annotation: Annotation = {
          start,
          end,
          category,
          label,
          score,
          recognizer,
          trace,
          segment,
          detector,
          agreement: 0,
        };
        if (mode === "shadow") shadow.push(annotation);
        else {
          const type = `${category}/${label}`;
          inline[segment]?.push({ annotation, type, sources, order, evidence: evidenceOf(finding), isVerdict });
        }
      }
    }
  }
  return { inline, shadow };
}

/** Returns the evidence of a finding, whether or not its trace is kept. */
const evidenceOf = ({ trace }: Finding): number =>
  trace === undefined ? 0 : (trace.contextWord === undefined ? 0 : 2) + (trace.validated === true ? 1 : 0);

/**
 * Compares two candidates for tie-breaking, with the same result on every node. After score and place, a type with a context
 * word wins, then one proven by check digits, then the type's name decides. Source: guardrails reference, 2.4.
 */
export function compareRanks(left: Candidate, right: Candidate): number {
  const a = left.annotation;
  const b = right.annotation;
  return (
    b.score - a.score ||
    b.end - b.start - (a.end - a.start) ||
    a.start - b.start ||
    right.evidence - left.evidence ||
    (left.type < right.type ? -1 : left.type > right.type ? 1 : 0) ||
    left.order - right.order
  );
}

export const comparePositions = (left: Candidate, right: Candidate): number =>
  left.annotation.start - right.annotation.start ||
  left.annotation.end - right.annotation.end ||
  compareRanks(left, right);

/**
 * Raises the score of a finding that another detector confirms with the same type in an overlapping place. Applied once, to the
 * original scores. Source: guardrails reference, 2.4, `agreement_boost`.
 */
export function boostAgreeing(candidates: readonly Candidate[], boost: number): readonly Candidate[] {
  const raised = new Set<Candidate>();
  for (const group of byType(candidates)) {
    const sorted = group.toSorted(comparePositions);
    const reaching = twoBest((one, other) => one.annotation.end > other.annotation.end);
    for (const one of sorted) {
      const before = reaching.bestFromOtherDetector(one);
      if (before !== undefined && before.annotation.end > one.annotation.start) raised.add(one);
      reaching.add(one);
    }
    const beginning = twoBest((one, other) => one.annotation.start < other.annotation.start);
    for (const one of sorted.toReversed()) {
      const behind = beginning.bestFromOtherDetector(one);
      if (behind !== undefined && behind.annotation.start < one.annotation.end) raised.add(one);
      beginning.add(one);
    }
  }
  if (raised.size === 0) return candidates;
  return candidates.map((one) => {
    if (!raised.has(one)) return one;
    const score = Math.min(1, one.annotation.score + boost);
    return { ...one, annotation: { ...one.annotation, score, agreement: score - one.annotation.score } };
  });
}

interface TwoBest {
  readonly add: (candidate: Candidate) => void;
  /** Returns the best candidate from a detector other than that of the given candidate. */
  readonly bestFromOtherDetector: (candidate: Candidate) => Candidate | undefined;
}

/** Tracks the best added candidate, and the best one from any other detector. */
function twoBest(isBetter: (one: Candidate, other: Candidate) => boolean): TwoBest {
  let best: Candidate | undefined;
  let second: Candidate | undefined;
  const isSame = (one: Candidate, other: Candidate | undefined): boolean =>
    one.annotation.detector === other?.annotation.detector;
  return {
    add: (one) => {
      if (best === undefined || isBetter(one, best)) {
        if (!isSame(one, best)) second = best;
        best = one;
      } else if (!isSame(one, best) && (second === undefined || isBetter(one, second))) second = one;
    },
    bestFromOtherDetector: (one) => (isSame(one, best) ? second : best),
  };
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
