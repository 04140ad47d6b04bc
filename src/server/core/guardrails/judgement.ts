/** Input and result of the policy. Separate from the policy (`guardrails/policy`), so that callers do not load its engine. */

import type { QuestionTracer } from "../../../base/index.ts";
import type { CallerVariables } from "../policy/variables/index.ts";
import type { Rewriting } from "./rewriting-state.ts";
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
  /** Name of the profile; empty if there is none. */
  readonly profile: string;
  readonly model: string;
  readonly route: string;
  readonly server: string;
  readonly method: string;
  readonly name: string;
  readonly peer: string;
};

/** Findings of one detector above its `threshold`, by judged segment. */
export interface DetectorFindings {
  /** Name of the detector. */
  readonly detector: string;
  /** `shadow` findings are reported but do not decide. */
  readonly mode: "inline" | "shadow";
  readonly findings: readonly (readonly Finding[])[];
}

/** Segments and their findings. */
export interface InspectedSegments {
  readonly segments: readonly Segment[];
  /** Findings in the order of the ensemble, without detectors that failed or are not active. */
  readonly found: readonly DetectorFindings[];
  /**
   * Detectors that have not answered yet. A rule that names one of them in `requires` is evaluated later, with all findings,
   * unless it rewrites, which is possible only now.
   */
  readonly pending?: ReadonlySet<string>;
}

/** Context of one request or answer. */
export interface InspectionContext {
  readonly variables: GuardrailVariables;
  /** Rewriting state, shared by a request and its answer. */
  readonly rewriting: Rewriting;
  /**
   * Returns true if the gateway will restore the value in what it sends to the server or agent; `fpe` then leaves it unchanged.
   * If absent, nothing is restored.
   */
  readonly restores?: ((annotation: Annotation) => boolean) | undefined;
  /** Tracer; `undefined` without tracing. */
  readonly tracer?: QuestionTracer | undefined;
}

/** Rule that acted, as recorded in the audit trail: counts, never a text. */
export interface RuleDecision {
  readonly rule: string;
  readonly action: "deny" | "redact" | "annotate";
  readonly controls: readonly string[];
  /** Number of annotations by `<category>/<LABEL>`: the rewritten ones of a redact, otherwise those that the rule read. */
  readonly types: Readonly<Record<string, number>>;
  /** Kinds of the segments with the annotations. */
  readonly kinds: readonly SegmentKind[];
}

/** Rule whose `when` or `select` could not be evaluated. Its texts never quote the request. */
export interface RuleFault {
  readonly rule: string;
  readonly controls: readonly string[];
  readonly part: "when" | "select";
  /** Kind of the fault, as for access rules. */
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
  /** Type as `<category>/<LABEL>`. */
  readonly type: string;
}

export interface Rewrite {
  /** Rewritten text of the whole segment. */
  readonly text: string;
  /** Edits, ascending and disjoint. */
  readonly edits: readonly Edit[];
}

/** Finding that no rule saw, and the reason. */
export interface DroppedFinding {
  readonly annotation: Annotation;
  /**
   * `form`: it is within a placeholder, a pseudonym or a value that `fpe` wrote recently. `conflicts`: another finding replaces
   * it.
   */
  readonly by: "score_threshold" | "form" | "allow_list" | "conflicts";
}

/** Annotations that rules see, ascending by segment and start, and the removed findings. */
export interface AnnotationResult {
  readonly annotations: readonly Annotation[];
  readonly shadow: readonly Annotation[];
  readonly dropped: readonly DroppedFinding[];
}

interface JudgementDetails {
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
  | ({ readonly outcome: "allow"; readonly rewrites: readonly (Rewrite | undefined)[] } & JudgementDetails)
  /** Refused with `guardrail_denied`; `message` is for the caller; `by` is the last of `decisions`. */
  | ({ readonly outcome: "deny"; readonly message: string; readonly by: RuleDecision } & JudgementDetails)
  /** Refused with `policy_error`, or with `body_too_large` for a request with too many values. */
  | ({ readonly outcome: "error"; readonly message: string; readonly by: RuleFault } & JudgementDetails);

/**
 * Inspection of one request or answer, piece by piece. Earlier findings still count in conditions, while redaction and counts
 * concern only the current call. A stream passes stretches that no finding crosses, as one segment each.
 */
export interface Inspection {
  readonly judge: (inspected: InspectedSegments) => Judgement;
}

/** Findings of one type, detector and kind of text, without further details. */
export interface KnownFinding {
  /** Type as `<category>/<LABEL>`. */
  readonly type: string;
  readonly detector: string;
  /** Kind of the text; empty if unknown. */
  readonly kind: string;
  readonly count: number;
}

/** Effect of a rule on known findings. `fault`: the rule cannot be evaluated, so it refuses. */
export interface RuleWeight {
  readonly rule: string;
  readonly action: RuleDecision["action"];
  readonly fires: "yes" | "no" | "fault" | "unknown";
  /** Name of the unknown value that the rule reads, in the plural. */
  readonly reads?: string;
}

/** Rules of one population: a profile, or callers without one. Pure and synchronous. */
export interface GuardrailPolicy {
  /** Names of the active detectors, in the order of the ensemble. */
  readonly detectors: readonly string[];
  /** Names of the active rules. */
  readonly rules: readonly string[];
  /** Turns findings into annotations, before any rule is evaluated. `scoreThreshold` replaces the configured one. */
  readonly annotate: (inspected: InspectedSegments, scoreThreshold?: number) => AnnotationResult;
  readonly open: (occasion: InspectionContext) => Inspection;
  /** Evaluates the rules on findings of which only the types are known. The result is in the order of the rules. */
  readonly weigh: (found: readonly KnownFinding[], variables: GuardrailVariables) => readonly RuleWeight[];
  /** Judges a whole message: `open(…).judge(…)`. */
  readonly judge: (inspected: InspectedSegments, occasion: InspectionContext) => Judgement;
}
