/** Interface of a judge format: composes questions and parses answers. Source: judge-formats reference. */
import { DetectorError, type SegmentKind } from "../../core/guardrails/index.ts";
import type { ModelQuestion } from "../ports.ts";

/** One or several segments of a kind, shown in addition to the judged text. */
export interface ContextBlock {
  readonly kind: SegmentKind;
  readonly text: string;
}

export interface JudgedText {
  readonly kind: SegmentKind;
  readonly text: string;
  readonly context: readonly ContextBlock[];
}

export interface Verdict {
  /** Label as configured. */
  readonly label: string;
  readonly score: number;
}

export type JudgeQuestion = Pick<ModelQuestion, "system" | "turns" | "template">;

export interface JudgeFormat {
  readonly buildQuestion: (judged: JudgedText) => JudgeQuestion;
  /** Parses an answer. `text` is trimmed, without reasoning, and not empty. Throws a `DetectorError`. */
  readonly parseAnswer: (text: string, judged: JudgedText) => readonly Verdict[];
  /**
   * Returns a question about `text` with the detector's own policy or another one; only for formats that depend on the
   * server's template.
   */
  readonly buildProbe: ((text: string, policy: "own" | "other") => JudgeQuestion) | undefined;
}

export interface JudgeTerms {
  readonly labels: readonly string[];
  readonly prompt: string;
}

export const invalidAnswer = (what: string): DetectorError => new DetectorError("failed", `the judge's answer ${what}`);
