/**
 * Counts findings against marks. Pure.
 *
 * Counts are kept by type, since a finding counts only for marks of its own type: the scored types can then be chosen
 * afterwards, and totals are sums. Source: guardrails reference, 7; specification document 1, "Guardrail evaluation data".
 */

import type { Mark } from "./evaluation-case.ts";

/** Counts of one type and one kind of score. */
export interface Counts {
  /** Number of marks, and of those that a finding matched. */
  readonly marked: number;
  readonly matched: number;
  /** Number of findings, and of those that match a mark. */
  readonly found: number;
  readonly correct: number;
}

export interface Figures {
  readonly tp: number;
  readonly fp: number;
  readonly fn: number;
  /** Precision; null if nothing was found. */
  readonly precision: number | null;
  /** Recall; null if nothing is marked. */
  readonly recall: number | null;
  /** F1; null if nothing is marked and nothing was found. */
  readonly f1: number | null;
}

export const NO_COUNTS: Counts = { marked: 0, matched: 0, found: 0, correct: 0 };

export const sum = (a: Counts, b: Counts): Counts => ({
  marked: a.marked + b.marked,
  matched: a.matched + b.matched,
  found: a.found + b.found,
  correct: a.correct + b.correct,
});

/** Returns precision, recall and F1. A figure whose denominator is 0 is null. */
export function figuresOf({ marked, matched, found, correct }: Counts): Figures {
  const precision = found === 0 ? null : correct / found;
  const recall = marked === 0 ? null : matched / marked;
  return { tp: matched, fp: found - correct, fn: marked - matched, precision, recall, f1: f1Of(precision, recall) };
}

/** Returns the harmonic mean; 0 if only one of the two is defined, since nothing was right then. */
function f1Of(precision: number | null, recall: number | null): number | null {
  if (precision === null && recall === null) return null;
  const [p, r] = [precision ?? 0, recall ?? 0];
  return p + r === 0 ? 0 : (2 * p * r) / (p + r);
}

/** Returns the mean F1 of the marked types. */
export function macroF1(counts: Iterable<Counts>): number | null {
  const figures = [...counts].filter(({ marked }) => marked > 0).map((each) => figuresOf(each).f1 ?? 0);
  return figures.length === 0 ? null : figures.reduce((total, f1) => total + f1, 0) / figures.length;
}

export type CountsByType = ReadonlyMap<string, Counts>;

/** Whether each finding is right, and whether each mark was found. */
export interface MatchResult {
  readonly correct: readonly boolean[];
  readonly matched: readonly boolean[];
}

/** Matches findings to marks one to one: of two findings at the same place with one mark, only one is right. */
export function matchExactly(marks: readonly Mark[], findings: readonly Mark[]): MatchResult {
  const waiting = new Map<string, number[]>();
  marks.forEach((mark, at) => {
    const key = keyOf(mark);
    waiting.set(key, [...(waiting.get(key) ?? []), at]);
  });
  const matched = marks.map(() => false);
  const correct = findings.map((finding) => {
    const at = waiting.get(keyOf(finding))?.shift();
    if (at === undefined) return false;
    matched[at] = true;
    return true;
  });
  return { correct, matched };
}

const keyOf = ({ start, end, type }: Mark): string => `${start} ${end} ${type}`;

/** Matches findings and marks of the same type that share a byte. */
export function matchByOverlap(marks: readonly Mark[], findings: readonly Mark[]): MatchResult {
  const overlaps = (a: Mark, b: Mark): boolean => a.type === b.type && a.start < b.end && b.start < a.end;
  return {
    correct: findings.map((finding) => marks.some((mark) => overlaps(mark, finding))),
    matched: marks.map((mark) => findings.some((finding) => overlaps(finding, mark))),
  };
}

/** Counts the marks and findings of one case by entity type. */
export function countsOf(
  marks: readonly Mark[],
  findings: readonly Mark[],
  { correct, matched }: MatchResult,
): CountsByType {
  const countText = new Map<string, Counts>();
  const add = (type: string, more: Partial<Counts>): void => {
    countText.set(type, sum(countText.get(type) ?? NO_COUNTS, { ...NO_COUNTS, ...more }));
  };
  for (const [at, { type }] of marks.entries()) add(type, { marked: 1, matched: matched[at] ? 1 : 0 });
  for (const [at, { type }] of findings.entries()) add(type, { found: 1, correct: correct[at] ? 1 : 0 });
  return countText;
}

/** Compares sets of labels. */
export function countLabels(marked: ReadonlySet<string>, found: ReadonlySet<string>): CountsByType {
  const counts = (label: string): Counts => {
    const isBoth = marked.has(label) && found.has(label) ? 1 : 0;
    return { marked: marked.has(label) ? 1 : 0, matched: isBoth, found: found.has(label) ? 1 : 0, correct: isBoth };
  };
  return new Map([...new Set([...marked, ...found])].map((label) => [label, counts(label)]));
}

/** Score of a finding, whether it is right, and the number of marks that no finding with a higher score meets. */
export interface Scored {
  readonly score: number;
  readonly isRight: boolean;
  readonly matched: number;
}

/**
 * Returns the average precision: the sum of (recall gained × precision) over the distinct scores, descending. Recall is
 * relative to all `marked`, so marks that are never found lower it. Null if nothing is marked.
 */
export function averagePrecision(found: readonly Scored[], marked: number): number | null {
  if (marked === 0) return null;
  const sorted = [...found].sort((a, b) => b.score - a.score);
  let area = 0;
  let correct = 0;
  let matched = 0;
  let recall = 0;
  sorted.forEach((one, at) => {
    if (one.isRight) correct += 1;
    matched += one.matched;
    if (sorted[at + 1]?.score === one.score) return;
    area += (matched / marked - recall) * (correct / (at + 1));
    recall = matched / marked;
  });
  return area;
}

/** Thresholds that are always swept: every 0.05 from 0 to 0.95. */
export const STEPS: readonly number[] = Array.from({ length: 20 }, (_, at) => at / 20);

/** Returns the deciles of the scores (nearest rank), ascending and distinct. */
export function decilesOf(scores: readonly number[]): readonly number[] {
  if (scores.length === 0) return [];
  const sorted = [...scores].sort((a, b) => a - b);
  const ranks = Array.from({ length: 9 }, (_, at) => Math.ceil(((at + 1) / 10) * sorted.length) - 1);
  return [...new Set(ranks.map((rank) => sorted[rank] ?? 0))];
}
