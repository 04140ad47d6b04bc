/** Input and result of the policy. Separate from the policy (`guardrails/policy`), so that callers do not load its engine. */

import type { QuestionTracer } from "../../../base/index.ts";
import type { CallerVariables } from "../policy/variables/index.ts";
import type { Rewriting } from "./rewriting.ts";
import type { Annotation, Finding, Segment, SegmentKind } from "./types.ts";

export type Hop = "llm" | "mcp" | "a2a" | "inspect";

export type Direction = "request" | "response";

/**
 * Variables that rules read in addition to annotations; missing values are empty. Source: design decisions, section 11, CEL of
 * `when`.
 */
export type GuardrailVariables = CallerVariables & {
  readonly direction: Direction;
  readonly hop: Hop;
  /** Name; empty if there is none. */
  readonly profile: string;
  readonly model: string;
  readonly route: string;
  readonly server: string;
  readonly method: string;
  readonly name: string;
  readonly peer: string;
};

/** Findings of one detector in the judged segments, above its `threshold`, by segment. */
export interface DetectorFindings {
  /** Name of the detector. */
  readonly detector: string;
  /** `shadow` findings are reported but do not decide. */
  readonly mode: "inline" | "shadow";
  readonly findings: readonly (readonly Finding[])[];
}

/** Segments, and what was found in them. */
export interface Inspected {
  readonly segments: readonly Segment[];
  /** Findings in the order of the ensemble, without detectors that failed or are not in force. */
  readonly found: readonly DetectorFindings[];
  /**
   * Detectors that have not answered yet. A rule that names one of them in `requires` is left for the judgement of all
   * findings, unless it rewrites, which can only be done now.
   */
  readonly pending?: ReadonlySet<string>;
}

/** Context of one request or answer. */
export interface Occasion {
  readonly variables: GuardrailVariables;
  /** Shared by a request and its answer. */
  readonly rewriting: Rewriting;
  /** Returns whether a value is restored behind this traffic type, so that `fpe` leaves it unchanged. If absent, none is. */
  readonly restores?: ((annotation: Annotation) => boolean) | undefined;
  /** Tracer; `undefined` without tracing. */
  readonly tracer?: QuestionTracer | undefined;
}

/** Rule that acted, as in an audit record: counts, never a text. */
export interface RuleDecision {
  readonly rule: string;
  readonly action: "deny" | "redact" | "annotate";
  readonly controls: readonly string[];
  /** Number of annotations by `<category>/<LABEL>`: the rewritten ones of a redact, otherwise those that the rule read. */
  readonly types: Readonly<Record<string, number>>;
  /** Kinds of the segments with the annotations. */
  readonly kinds: readonly SegmentKind[];
}

/** Rule whose `when` or `select` could not be evaluated. The texts contain nothing of the request. */
export interface RuleFault {
  readonly rule: string;
  readonly controls: readonly string[];
  readonly part: "when" | "select";
  /** Kind of the fault, as of access rules. */
  readonly error: string;
  readonly detail: string;
  /** Number of values that the rule selects, if they exceed the limit of one message; absent if it could not be evaluated. */
  readonly excess?: number;
}

/** Span of a text and its replacement; offsets are UTF-16 units of the original text. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly rule: string;
  /** `<category>/<LABEL>`. */
  readonly type: string;
}

export interface Rewrite {
  /** The whole text of the segment, rewritten. */
  readonly text: string;
  /** Edits, ascending and disjoint. */
  readonly edits: readonly Edit[];
}

/** Reason why no rule saw a finding. */
export interface Dropped {
  readonly annotation: Annotation;
  /**
   * `form`: it is within a placeholder, a pseudonym or a value that `fpe` wrote lately. `conflicts`: another finding replaces
   * it.
   */
  readonly by: "score_threshold" | "form" | "allow_list" | "conflicts";
}

/** Annotations that rules see, ascending by segment and start; and removed findings, for evaluation. */
export interface Annotated {
  readonly annotations: readonly Annotation[];
  readonly shadow: readonly Annotation[];
  readonly dropped: readonly Dropped[];
}

interface Judged {
  /** Decisions in rule order. */
  readonly decisions: readonly RuleDecision[];
  /** Rules that were skipped because of `on_error: fail_open`. */
  readonly skipped: readonly RuleFault[];
  readonly annotations: readonly Annotation[];
  /** Findings of detectors in `mode: shadow`. */
  readonly shadow: readonly Annotation[];
  /** Number of values whose format `fpe` could not keep, since their domain is below one million. */
  readonly fpeDomainTooSmall: number;
}

export type Judgement =
  /** Rewritten texts by segment; `undefined` for a segment that stays as it is. */
  | ({ readonly outcome: "allow"; readonly rewrites: readonly (Rewrite | undefined)[] } & Judged)
  /** Refused with `guardrail_denied`; `message` is for the caller; `by` is the last of `decisions`. */
  | ({ readonly outcome: "deny"; readonly message: string; readonly by: RuleDecision } & Judged)
  /** Refused with `policy_error`, and a request with too many values with `body_too_large`. */
  | ({ readonly outcome: "error"; readonly message: string; readonly by: RuleFault } & Judged);

/**
 * One request or answer, judged piece by piece. Earlier findings still count in conditions, while redaction and counts only
 * concern the present call. A stream passes stretches that no finding crosses, as one segment each.
 */
export interface Inspection {
  readonly judge: (inspected: Inspected) => Judgement;
}

/** Findings of one type, detector and kind of text, without further details. */
export interface KnownFinding {
  /** `<category>/<LABEL>`. */
  readonly type: string;
  readonly detector: string;
  /** Kind of the text; empty if unknown. */
  readonly kind: string;
  readonly count: number;
}

/** Effect of a rule for known findings. `fault`: the rule could not be evaluated, so it refuses. */
export interface RuleWeight {
  readonly rule: string;
  readonly action: RuleDecision["action"];
  readonly fires: "yes" | "no" | "fault" | "unknown";
  /** Name of the unknown value that the rule reads. */
  readonly reads?: string;
}

/** Rules of one population: a profile, or callers without one. Pure and synchronous. */
export interface GuardrailPolicy {
  /** Names of the detectors in force, in the order of the ensemble. */
  readonly detectors: readonly string[];
  /** Names of the rules in force. */
  readonly rules: readonly string[];
  /** Turns findings into annotations: everything before the rules. `scoreThreshold` replaces the configured one. */
  readonly annotate: (inspected: Inspected, scoreThreshold?: number) => Annotated;
  readonly open: (occasion: Occasion) => Inspection;
  /** Evaluates the rules on findings of which only the types are known. The result is in the order of the rules. */
  readonly weigh: (found: readonly KnownFinding[], variables: GuardrailVariables) => readonly RuleWeight[];
  /** Judges a whole message: `open(…).judge(…)`. */
  readonly judge: (inspected: Inspected, occasion: Occasion) => Judgement;
}
