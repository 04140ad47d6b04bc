/**
 * Figures at many thresholds. What was found with every threshold at 0 is kept, and goes through the policy once for each
 * `score_threshold`, since agreement and conflicts are not linear in it. Source: guardrails reference, 7.
 */

import { setImmediate as turn } from "node:timers/promises";
import type { EvalCase, Mark } from "./cases.ts";
import { type CaseFinding, findingsIn, type Raw } from "./inspect.ts";
import { averagePrecision, decilesOf, matchByOverlap, matchExactly, type Scored, STEPS } from "./scoring.ts";
import type { Subject } from "./subject.ts";
import type { Scope } from "./survey.ts";
import { count, createTally, isMarked, type Outcome, SCORES, type ScoreKind, type Tally, totalOf } from "./tally.ts";
import { createTurns, type Turned } from "./threshold-changes.ts";
import type { Names } from "./type-names.ts";
import { bestOf, faultsOf } from "./wrong-cases.ts";

/** Time of one slice of a sweep, in milliseconds. Between slices the event loop can do other work. */
const TURN_MS = 8;

export interface SweepOptions {
  /** Thresholds beside those that are always swept. */
  readonly also?: readonly number[];
  /** Cases that turn from one threshold to another, the most that are kept; left out: none is looked for. */
  readonly turning?: number;
  /** The detector whose own threshold is swept; left out, it is `score_threshold`. */
  readonly ownOf?: string | undefined;
}

export interface Step {
  readonly threshold: number;
  /** True if the threshold is a decile of the scores that were seen. */
  readonly isQuantile: boolean;
  readonly tally: Tally;
}

export interface Swept {
  /** Ascending. */
  readonly steps: readonly Step[];
  /** Null: nothing is marked. */
  readonly averagePrecision: Readonly<Record<ScoreKind, number | null>>;
  /** `undefined` if it was not requested. */
  readonly turned: Turned | undefined;
}

export interface Sweep {
  /** `raw`: with every threshold of a detector at 0. */
  readonly add: (one: EvalCase, index: number, outcome: Outcome, raw: Raw) => void;
  /** An interrupt leaves thresholds out. */
  readonly finish: (signal: AbortSignal) => Promise<Swept>;
}

interface Kept {
  readonly case: EvalCase;
  readonly index: number;
  readonly outcome: Outcome;
  /** `undefined` if nothing was found at any score. */
  readonly raw: Raw | undefined;
}

export function createSweep(
  subject: Subject,
  names: Names,
  scope: Scope,
  { also = [], turning, ownOf }: SweepOptions = {},
): Sweep {
  const kept: Kept[] = [];
  const findingsAt = ({ raw }: Kept, threshold: number): readonly CaseFinding[] => {
    if (raw === undefined) return [];
    return ownOf === undefined
      ? findingsIn(subject, raw, names, threshold)
      : findingsIn(subject, withOwnThreshold(raw, ownOf, threshold), names);
  };

  return {
    add(one, index, outcome, raw) {
      const isEmpty = raw.inspected.found.every(({ findings }) => findings.every((list) => list.length === 0));
      kept.push({ case: one, index, outcome, raw: isEmpty ? undefined : raw });
    },
    async finish(signal) {
      const pause = createPause();
      const turns = turning === undefined ? undefined : createTurns(kept.length, turning);
      kept.sort((a, b) => a.index - b.index);
      const scored: Record<ScoreKind, Scored[]> = { exact: [], overlap: [], labels: [] };
      const scores: number[] = [];
      for (const one of kept) {
        await pause();
        const findings = findingsAt(one, 0);
        const inScope = findings.filter(({ type }) => scope.types(type) || scope.labels(type));
        scores.push(...inScope.map(({ score }) => score));
        addScored(scored, one.outcome, findings, scope);
      }
      const deciles = decilesOf(scores);
      const thresholds = [...new Set([...STEPS, ...deciles, ...also])].sort((a, b) => a - b);
      const steps: Step[] = [];
      for (const threshold of thresholds) {
        await turn();
        if (signal.aborted) break;
        const tally = createTally();
        turns?.begin();
        for (const [at, one] of kept.entries()) {
          await pause();
          const findings = findingsAt(one, threshold);
          count(tally, { ...one.outcome, findings }, scope);
          turns?.see(at, one.case, faultsOf(one.outcome, findings, scope));
        }
        steps.push({ threshold, isQuantile: deciles.includes(threshold), tally });
      }
      const marked = createTally();
      for (const { outcome } of kept) count(marked, { ...outcome, findings: [] }, scope);
      const areas = SCORES.map((kind): [ScoreKind, number | null] => [
        kind,
        isMarked(marked, kind) ? averagePrecision(scored[kind], totalOf(marked[kind]).marked) : null,
      ]);
      return {
        steps,
        averagePrecision: Object.fromEntries(areas) as Record<ScoreKind, number | null>,
        turned: turns?.turned(),
      };
    },
  };
}

/** Without what the detector found at a lower score, as its own threshold drops it. */
function withOwnThreshold(raw: Raw, detector: string, threshold: number): Raw {
  const found = raw.inspected.found.map((one) =>
    one.detector === detector
      ? { ...one, findings: one.findings.map((list) => list.filter(({ score }) => score >= threshold)) }
      : one,
  );
  return { ...raw, inspected: { ...raw.inspected, found } };
}

function addScored(
  scored: Readonly<Record<ScoreKind, Scored[]>>,
  { spans, labels }: Outcome,
  findings: readonly CaseFinding[],
  scope: Scope,
): void {
  if (spans !== undefined) {
    const marks = spans.filter(({ type }) => scope.types(type));
    const found = findings.filter(({ type }) => scope.types(type)).sort((a, b) => b.score - a.score);
    const exact = matchExactly(marks, found).right;
    const overlap = matchByOverlap(marks, found).right;
    const firsts = firstMet(marks, found);
    for (const [at, { score }] of found.entries()) {
      scored.exact.push({ score, isRight: exact[at] === true, met: exact[at] ? 1 : 0 });
      scored.overlap.push({ score, isRight: overlap[at] === true, met: firsts[at] ?? 0 });
    }
  }
  if (labels !== undefined) {
    for (const { type, score } of bestOf(findings.filter((finding) => scope.labels(finding.type))).values()) {
      scored.labels.push({ score, isRight: labels.has(type), met: labels.has(type) ? 1 : 0 });
    }
  }
}

/** Returns for each finding how many marks it overlaps that no finding with a higher score overlaps. */
function firstMet(marks: readonly Mark[], found: readonly CaseFinding[]): readonly number[] {
  const firsts = found.map(() => 0);
  for (const { type, start, end } of marks) {
    const at = found.findIndex((finding) => finding.type === type && finding.start < end && start < finding.end);
    if (at >= 0) firsts[at] = (firsts[at] ?? 0) + 1;
  }
  return firsts;
}

/** Waits for a turn of the loop once the last is over. */
function createPause(): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < TURN_MS) return undefined;
    return turn().then(() => {
      began = performance.now();
    });
  };
}
