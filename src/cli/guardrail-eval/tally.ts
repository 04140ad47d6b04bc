/** Counts over many cases, by type and by tag. */

import type { Mark } from "./evaluation-case.ts";
import {
  type Counts,
  type CountsByType,
  countLabels,
  countsOf,
  matchByOverlap,
  matchExactly,
  NO_COUNTS,
  sum,
} from "./scoring.ts";
import type { Scope } from "./survey-data.ts";

export const SCORES = ["exact", "overlap", "labels"] as const;

export type ScoreKind = (typeof SCORES)[number];

/** Marks and findings of one case, under their final names. */
export interface Outcome {
  readonly spans: readonly Mark[] | undefined;
  readonly labels: ReadonlySet<string> | undefined;
  readonly findings: readonly Mark[];
  readonly tags: readonly string[];
}

type ByType = Map<string, Counts>;

export type Tally = Readonly<Record<ScoreKind, ByType>> & {
  /** Number of cases that mark spans, and that mark labels. */
  spanCases: number;
  labelCases: number;
  /** Number of cases whose `labels` are empty, and of those in which a label was found. */
  cleanCases: number;
  falseAlarms: number;
};

export const createTally = (): Tally => ({
  exact: new Map(),
  overlap: new Map(),
  labels: new Map(),
  spanCases: 0,
  labelCases: 0,
  cleanCases: 0,
  falseAlarms: 0,
});

/** Adds a case to the tally. Marks and findings that are out of scope do not count. */
export function count(tally: Tally, { spans, labels, findings }: Outcome, scope: Scope): void {
  if (spans !== undefined) {
    const marks = spans.filter(({ type }) => scope.types(type));
    const found = findings.filter(({ type }) => scope.types(type));
    tally.spanCases += 1;
    add(tally.exact, countsOf(marks, found, matchExactly(marks, found)));
    add(tally.overlap, countsOf(marks, found, matchByOverlap(marks, found)));
  }
  if (labels !== undefined) {
    const marked = new Set([...labels].filter(scope.labels));
    const found = new Set(findings.map(({ type }) => type).filter(scope.labels));
    tally.labelCases += 1;
    add(tally.labels, countLabels(marked, found));
    if (labels.size === 0) {
      tally.cleanCases += 1;
      if (found.size > 0) tally.falseAlarms += 1;
    }
  }
}

function add(sums: ByType, countText: CountsByType): void {
  for (const [type, counts] of countText) sums.set(type, sum(sums.get(type) ?? NO_COUNTS, counts));
}

export const totalOf = (countText: CountsByType): Counts => [...countText.values()].reduce(sum, NO_COUNTS);

/** Returns whether any case has marks for this kind of score. */
export const isMarked = (tally: Tally, kind: ScoreKind): boolean =>
  kind === "labels" ? tally.labelCases > 0 : tally.spanCases > 0;
