/**
 * Computes figures at many thresholds. Findings with every threshold at 0 are kept, and pass the policy once for each
 * `score_threshold`, since agreement and conflicts are not linear in it. Source: guardrails reference, 7.
 */

import { setImmediate as turn } from "node:timers/promises";
import type { Subject } from "./compile-subject.ts";
import type { EvalCase, Mark } from "./evaluation-case.ts";
import { type CaseFinding, findingsIn, type RawFindings } from "./inspect-case.ts";
import { averagePrecision, decilesOf, matchByOverlap, matchExactly, type Scored, STEPS } from "./scoring.ts";
import type { Scope } from "./survey-data.ts";
import { count, createTally, isMarked, type Outcome, SCORES, type ScoreKind, type Tally, totalOf } from "./tally.ts";
import { type ChangedVerdicts, createChangeCollector } from "./threshold-changes.ts";
import type { NameNormalizer } from "./type-names.ts";
import { bestOf, faultsOf } from "./wrong-cases.ts";

/** Time of one slice of a sweep, in milliseconds. Between slices the event loop can do other work. */
const SLICE_MS = 8;

export interface SweepOptions {
  /** Thresholds in addition to those that are always swept. */
  readonly extraThresholds?: readonly number[];
  /** Maximum number of kept cases whose verdict changes between two thresholds; if omitted, none are collected. */
  readonly maxChanges?: number;
  /** Detector whose own threshold is swept; if omitted, `score_threshold` is swept. */
  readonly detectorOfThreshold?: string | undefined;
}

interface Step {
  readonly threshold: number;
  /** True if the threshold is a decile of the scores found. */
  readonly isQuantile: boolean;
  readonly tally: Tally;
}

export interface SweepOutcome {
  /** Steps by ascending threshold. */
  readonly steps: readonly Step[];
  /** Average precision by kind; null if nothing is marked. */
  readonly averagePrecision: Readonly<Record<ScoreKind, number | null>>;
  /** Cases whose verdict changes; `undefined` if not requested. */
  readonly changes: ChangedVerdicts | undefined;
}

export interface Sweep {
  /** Adds a case. `raw`: findings with every threshold of a detector at 0. */
  readonly add: (one: EvalCase, index: number, outcome: Outcome, raw: RawFindings) => void;
  /** Computes the figures. An interrupt leaves thresholds out. */
  readonly finish: (signal: AbortSignal) => Promise<SweepOutcome>;
}

interface KeptCase {
  readonly case: EvalCase;
  readonly index: number;
  readonly outcome: Outcome;
  /** Findings at every score; `undefined` if there are none. */
  readonly raw: RawFindings | undefined;
}

export function createSweep(
  subject: Subject,
  names: NameNormalizer,
  scope: Scope,
  { extraThresholds = [], maxChanges, detectorOfThreshold }: SweepOptions = {},
): Sweep {
  const kept: KeptCase[] = [];
  const findingsAt = ({ raw }: KeptCase, threshold: number): readonly CaseFinding[] => {
    if (raw === undefined) return [];
    return detectorOfThreshold === undefined
      ? findingsIn(subject, raw, names, threshold)
      : findingsIn(subject, withOwnThreshold(raw, detectorOfThreshold, threshold), names);
  };

  return {
    add(one, index, outcome, raw) {
      const isEmpty = raw.inspected.found.every(({ findings }) => findings.every((list) => list.length === 0));
      kept.push({ case: one, index, outcome, raw: isEmpty ? undefined : raw });
    },
    async finish(signal) {
      const pause = createPause();
      const changes = maxChanges === undefined ? undefined : createChangeCollector(kept.length, maxChanges);
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
      const thresholds = [...new Set([...STEPS, ...deciles, ...extraThresholds])].sort((a, b) => a - b);
      const steps: Step[] = [];
      for (const threshold of thresholds) {
        await turn();
        if (signal.aborted) break;
        const tally = createTally();
        changes?.beginStep();
        for (const [at, one] of kept.entries()) {
          await pause();
          const findings = findingsAt(one, threshold);
          count(tally, { ...one.outcome, findings }, scope);
          changes?.addVerdict(at, one.case, faultsOf(one.outcome, findings, scope));
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
        changes: changes?.result(),
      };
    },
  };
}

/** Returns the findings without those of the detector below its threshold. */
function withOwnThreshold(raw: RawFindings, detector: string, threshold: number): RawFindings {
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
    const exact = matchExactly(marks, found).correct;
    const overlap = matchByOverlap(marks, found).correct;
    const firsts = firstMatches(marks, found);
    for (const [at, { score }] of found.entries()) {
      scored.exact.push({ score, isRight: exact[at] === true, matched: exact[at] ? 1 : 0 });
      scored.overlap.push({ score, isRight: overlap[at] === true, matched: firsts[at] ?? 0 });
    }
  }
  if (labels !== undefined) {
    for (const { type, score } of bestOf(findings.filter((finding) => scope.labels(finding.type))).values()) {
      scored.labels.push({ score, isRight: labels.has(type), matched: labels.has(type) ? 1 : 0 });
    }
  }
}

/** Returns for each finding the number of marks that it overlaps and that no finding with a higher score overlaps. */
function firstMatches(marks: readonly Mark[], found: readonly CaseFinding[]): readonly number[] {
  const firsts = found.map(() => 0);
  for (const { type, start, end } of marks) {
    const at = found.findIndex((finding) => finding.type === type && finding.start < end && start < finding.end);
    if (at >= 0) firsts[at] = (firsts[at] ?? 0) + 1;
  }
  return firsts;
}

/** Returns a function that yields to the event loop if the current slice is used up. */
function createPause(): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < SLICE_MS) return undefined;
    return turn().then(() => {
      began = performance.now();
    });
  };
}
