/** Interface of a judge format: composes questions and parses answers. Source: judge-formats reference. */
import { DetectorError, type SegmentKind } from "../../core/guardrails/index.ts";
import type { ModelQuestion } from "../ports.ts";

/** One or several segments of a kind, shown in addition to the judged text. */
export interface ContextBlock {
  readonly kind: SegmentKind;
  readonly text: string;
}

export interface Judged {
  readonly kind: SegmentKind;
  readonly text: string;
  readonly context: readonly ContextBlock[];
}

export interface Verdict {
  /** Label as configured. */
  readonly label: string;
  readonly score: number;
}

export type Asking = Pick<ModelQuestion, "system" | "turns" | "template">;

export interface JudgeFormat {
  readonly ask: (judged: Judged) => Asking;
  /** Parses an answer. `text` is trimmed, without reasoning, and not empty. Throws a `DetectorError`. */
  readonly read: (text: string, judged: Judged) => readonly Verdict[];
  /**
   * Returns a question about `text` with the detector's own policy or another one; only for formats that depend on the
   * server's template.
   */
  readonly probe: ((text: string, policy: "own" | "other") => Asking) | undefined;
}

export interface JudgeTerms {
  readonly labels: readonly string[];
  readonly prompt: string;
}

export const wrong = (what: string): DetectorError => new DetectorError("failed", `the judge's answer ${what}`);
