/**
 * How a sweep of the guardrails stands: marked texts of this machine at every threshold. There is at most one, the newest
 * that was asked for. Texts are the operator's own: they are shown, and go nowhere else.
 */

export const SCORE_KINDS = ["exact", "overlap", "labels"] as const;
export type ScoreKind = (typeof SCORE_KINDS)[number];

export interface SweepFigures {
  readonly tp: number;
  readonly fp: number;
  readonly fn: number;
  /** Null where it is not defined: nothing was found, nothing is marked. */
  readonly precision: number | null;
  readonly recall: number | null;
  readonly f1: number | null;
}

export interface SweepStep {
  readonly threshold: number;
  /** It is a decile of the seen scores. */
  readonly isQuantile: boolean;
  /** Null: nothing of that kind is marked. */
  readonly figures: Readonly<Record<ScoreKind, SweepFigures | null>>;
  /** Which cases are wrong: a bit each, in the order of the data. */
  readonly wrong: Uint8Array;
}

/** A case that is not the same at all thresholds. */
export interface TurningCase {
  /** In the order of the data, from 0. */
  readonly index: number;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Of its text, around the first place that turns; as it stands in the file, controls included. */
  readonly excerpt: string;
  /** What is wrong from the step of that index on, ascending; empty: nothing is. */
  readonly sides: readonly { readonly from: number; readonly words: string }[];
}

export interface SweepResult {
  readonly files: readonly string[];
  readonly cases: number;
  /** Ascending; the threshold in force is one of them. */
  readonly steps: readonly SweepStep[];
  readonly averagePrecision: Readonly<Record<ScoreKind, number | null>>;
  /** The detector that was named; otherwise all count. */
  readonly detector: string | undefined;
  /** The detector's own `threshold` was swept; otherwise `guardrails.score_threshold`. */
  readonly isOwnThreshold: boolean;
  /** Of the threshold that was swept; a `score_threshold` that is left out is 0. */
  readonly inForce: number;
  /** Source whose document was tried. */
  readonly source: string;
  /** In the order of the data, the first `turning.length` of `turned`. */
  readonly turning: readonly TurningCase[];
  readonly turned: number;
  /** Warnings, and detectors that failed: a line each. */
  readonly notes: readonly string[];
}

export type SweepAnswer =
  | { readonly kind: "done"; readonly result: SweepResult }
  /** A line each. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

export interface Sweep {
  /** As they were given: flags and data files. */
  readonly words: string;
  readonly state: /** `words`: how far it is; `id` ends it. */
    | { readonly kind: "running"; readonly id: number; readonly words: string }
    | { readonly kind: "failed"; readonly problems: readonly string[] }
    | { readonly kind: "done"; readonly result: SweepResult };
}
