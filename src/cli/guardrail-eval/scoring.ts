/**
 * Counts findings against marks. Pure.
 *
 * Counts are kept by type, since a finding counts only for marks of its own type: the scored types can then be chosen
 * afterwards, and totals are sums. Source: guardrails reference, 7; specification document 1, "Guardrail evaluation data".
 */

import type { Mark } from "./cases.ts";

/** Counts of one type and one kind of score. */
export interface Counts {
  /** Number of marks, and of those that a finding matched. */
  readonly marked: number;
  readonly met: number;
  /** Number of findings, and of those that match a mark. */
  readonly found: number;
  readonly right: number;
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

export const NO_COUNTS: Counts = { marked: 0, met: 0, found: 0, right: 0 };

export const sum = (a: Counts, b: Counts): Counts => ({
  marked: a.marked + b.marked,
  met: a.met + b.met,
  found: a.found + b.found,
  right: a.right + b.right,
});

export function figuresOf({ marked, met, found, right }: Counts): Figures {
  const precision = found === 0 ? null : right / found;
  const recall = marked === 0 ? null : met / marked;
  return { tp: met, fp: found - right, fn: marked - met, precision, recall, f1: f1Of(precision, recall) };
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
  readonly right: readonly boolean[];
  readonly met: readonly boolean[];
}

/** Matches findings to marks one to one: of two findings at the same place with one mark, only one is right. */
export function matchExactly(marks: readonly Mark[], findings: readonly Mark[]): MatchResult {
  const waiting = new Map<string, number[]>();
  marks.forEach((mark, at) => {
    const key = keyOf(mark);
    waiting.set(key, [...(waiting.get(key) ?? []), at]);
  });
  const met = marks.map(() => false);
  const right = findings.map((finding) => {
    const at = waiting.get(keyOf(finding))?.shift();
    if (at === undefined) return false;
    met[at] = true;
    return true;
  });
  return { right, met };
}

const keyOf = ({ start, end, type }: Mark): string => `${start} ${end} ${type}`;

/** Matches findings and marks of the same type that share a byte. */
export function matchByOverlap(marks: readonly Mark[], findings: readonly Mark[]): MatchResult {
  const touch = (a: Mark, b: Mark): boolean => a.type === b.type && a.start < b.end && b.start < a.end;
  return {
    right: findings.map((finding) => marks.some((mark) => touch(mark, finding))),
    met: marks.map((mark) => findings.some((finding) => touch(finding, mark))),
  };
}

export function countsOf(marks: readonly Mark[], findings: readonly Mark[], { right, met }: MatchResult): CountsByType {
  const countText = new Map<string, Counts>();
  const add = (type: string, more: Partial<Counts>): void => {
    countText.set(type, sum(countText.get(type) ?? NO_COUNTS, { ...NO_COUNTS, ...more }));
  };
  for (const [at, { type }] of marks.entries()) add(type, { marked: 1, met: met[at] ? 1 : 0 });
  for (const [at, { type }] of findings.entries()) add(type, { found: 1, right: right[at] ? 1 : 0 });
  return countText;
}

/** Compares sets of labels. */
export function countLabels(marked: ReadonlySet<string>, found: ReadonlySet<string>): CountsByType {
  const counts = (label: string): Counts => {
    const isBoth = marked.has(label) && found.has(label) ? 1 : 0;
    return { marked: marked.has(label) ? 1 : 0, met: isBoth, found: found.has(label) ? 1 : 0, right: isBoth };
  };
  return new Map([...new Set([...marked, ...found])].map((label) => [label, counts(label)]));
}

/** Score of a finding, whether it is right, and the number of marks that no finding with a higher score meets. */
export interface Scored {
  readonly score: number;
  readonly isRight: boolean;
  readonly met: number;
}

/**
 * Returns the average precision: the sum of (recall gained × precision) over the distinct scores, descending. Recall is
 * relative to all `marked`, so marks that are never found lower it. Null if nothing is marked.
 */
export function averagePrecision(found: readonly Scored[], marked: number): number | null {
  if (marked === 0) return null;
  const sorted = [...found].sort((a, b) => b.score - a.score);
  let area = 0;
  let right = 0;
  let met = 0;
  let recall = 0;
  sorted.forEach((one, at) => {
    if (one.isRight) right += 1;
    met += one.met;
    if (sorted[at + 1]?.score === one.score) return;
    area += (met / marked - recall) * (right / (at + 1));
    recall = met / marked;
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
