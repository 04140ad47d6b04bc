/**
 * Threshold sweep of the guardrails: labeled local texts, evaluated at every threshold. There is at most one, the newest. The
 * texts belong to the operator: they are shown, and sent nowhere.
 */

export const SCORE_KINDS = ["exact", "overlap", "labels"] as const;
export type ScoreKind = (typeof SCORE_KINDS)[number];

export interface SweepFigures {
  readonly tp: number;
  readonly fp: number;
  readonly fn: number;
  /** Share between 0 and 1; null if it is undefined because nothing was found or nothing is labeled. */
  readonly precision: number | null;
  readonly recall: number | null;
  readonly f1: number | null;
}

export interface SweepStep {
  readonly threshold: number;
  /** True if the threshold is a decile of the observed scores. */
  readonly isQuantile: boolean;
  /** Figures of each kind; null if nothing of that kind is labeled. */
  readonly figures: Readonly<Record<ScoreKind, SweepFigures | null>>;
  /** Bit set of the wrong cases, in the order of the data. */
  readonly wrong: Uint8Array;
}

/** Case whose result differs between thresholds. */
export interface ChangedCase {
  /** Index in the order of the data, from 0. */
  readonly index: number;
  readonly file: string;
  /** Line number, from 1. */
  readonly line: number;
  /** Excerpt of the text around the first differing match, unchanged from the file, including control characters. */
  readonly excerpt: string;
  /** Error of the case from the step with index `from` on, ascending; empty if there is none. */
  readonly sides: readonly { readonly from: number; readonly fault: string }[];
}

export interface SweepResult {
  readonly files: readonly string[];
  readonly cases: number;
  /** Ascending; includes the active threshold. */
  readonly steps: readonly SweepStep[];
  readonly averagePrecision: Readonly<Record<ScoreKind, number | null>>;
  /** Detector to which the sweep is limited; `undefined` covers all. */
  readonly detector: string | undefined;
  /** True if the detector's own `threshold` was swept; otherwise it was `guardrails.score_threshold`. */
  readonly isOwnThreshold: boolean;
  /** Active value of the swept threshold; a missing `score_threshold` is 0. */
  readonly inForce: number;
  /** Source whose document was tried. */
  readonly source: string;
  /** First cases in the order of the data; `changedCount` is the total. */
  readonly changedCases: readonly ChangedCase[];
  readonly changedCount: number;
  /** Warnings and failed detectors, one line each. */
  readonly notes: readonly string[];
}

export type SweepAnswer =
  | { readonly kind: "done"; readonly result: SweepResult }
  /** Reasons of the refusal, one line each. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

export interface Sweep {
  /** Flags and data files as typed. */
  readonly argumentText: string;
  readonly state: /** `message` describes the progress; `id` cancels it. */
    | { readonly kind: "running"; readonly id: number; readonly message: string }
    | { readonly kind: "failed"; readonly problems: readonly string[] }
    | { readonly kind: "done"; readonly result: SweepResult };
}
