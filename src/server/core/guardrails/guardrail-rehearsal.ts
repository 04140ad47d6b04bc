/**
 * Rehearsal of guardrails on texts: findings and removed findings with their reasons, the decision, and the resulting texts.
 * Findings contain no text. Source: design decisions, section 11, Rehearsal.
 */
import { type CallerVariables, callerVariables } from "../policy/variables/index.ts";
import type { DroppedFinding, GuardrailVariables, Judgement, Rewrite, RuleDecision } from "./judgement.ts";
import { utf8Offsets } from "./positions.ts";
import type { Annotation, DetectorError, Segment, SegmentKind } from "./types.ts";

/** Texts of one message to rehearse. If `caller` is absent, there is no caller. */
export interface RehearsalQuestion {
  /** Name of a configured profile; `undefined` for a caller without one. */
  readonly profile: string | undefined;
  /** Segments, oldest first: either all of kind `output` (an answer), or none (a request). */
  readonly segments: readonly { readonly kind: SegmentKind; readonly text: string }[];
  readonly model?: string | undefined;
  readonly route?: string | undefined;
  readonly caller?: CallerVariables | undefined;
  /**
   * Findings by detector name, reported for each text that the detector reads, instead of running it. For detectors that need a
   * model or a server.
   */
  readonly stubFindings?: ReadonlyMap<string, readonly Pick<Annotation, "category" | "label" | "score">[]> | undefined;
  /**
   * True to show the results of operators that use a key. With them, a user of rehearsals could find the value behind a result
   * by rehearsing guesses.
   */
  readonly showsKeyed?: boolean;
}

/**
 * Step that removed the finding. `threshold`: its score is below the detector's threshold. `check`: a check digit or another
 * proof shows that it is not a value.
 */
export interface DiscardedFinding {
  readonly annotation: Annotation;
  readonly by: DroppedFinding["by"] | "threshold" | "check";
}

interface RehearsalFinding {
  /** Index into the segments. */
  readonly segment: number;
  /** Type as `<category>/<LABEL>`. */
  readonly type: string;
  readonly category: string;
  readonly label: string;
  readonly score: number;
  readonly detector: string;
  /** Name of the recognizer; empty if the detector has none. */
  readonly recognizer: string;
  /** Offsets in UTF-8 bytes of the text, end exclusive. */
  readonly start: number;
  readonly end: number;
  /** Trace; null if the document has `explain: false`, or the detector has none. */
  readonly trace: RehearsalTrace | null;
}

interface RehearsalTrace {
  readonly pattern: string;
  readonly score_base: number;
  /** Result of the check; null if the value can be neither proven nor disproven. */
  readonly validated: boolean | null;
  readonly context_word: string | null;
  readonly score_context: number;
  readonly agreement: number;
}

interface RehearsalDetector {
  readonly name: string;
  readonly type: string;
  readonly mode: "inline" | "shadow";
  readonly kinds: readonly SegmentKind[];
  /** True if the detector is active; false if the profile excludes it. */
  readonly in_force: boolean;
  /** True if it is active and reads one of the given kinds. */
  readonly asked: boolean;
}

export interface Rehearsal {
  readonly decision: "allow" | "deny" | "error";
  /** Rule that denied or could not be evaluated. */
  readonly rule: string | null;
  /** Message that the caller would get. */
  readonly message: string | null;
  /** Rules that acted, in their order. */
  readonly decisions: readonly RuleDecision[];
  /** Rules that could not be evaluated and were skipped. */
  readonly skipped: readonly { readonly rule: string; readonly part: "when" | "select"; readonly error: string }[];
  readonly failures: readonly {
    readonly detector: string;
    readonly kind: DetectorError["kind"];
    readonly refuses: boolean;
  }[];
  readonly detectors: readonly RehearsalDetector[];
  readonly segments: readonly {
    readonly kind: SegmentKind;
    /** Resulting text; for a refused message, the original text. */
    readonly text: string;
    readonly rewritten: boolean;
  }[];
  readonly findings: readonly RehearsalFinding[];
  /** Findings of detectors in `mode: shadow`, which rules do not see. */
  readonly shadow: readonly RehearsalFinding[];
  readonly removed: readonly (RehearsalFinding & { readonly by: DiscardedFinding["by"] })[];
  /** Number of findings of any kind that were left out because of the limit. */
  readonly more: number;
}

/** Result of a rehearsal before it is rendered. */
interface RehearsalResult {
  readonly segments: readonly Segment[];
  /** Judgement; `undefined` if a failed detector makes the guard refuse the message. */
  readonly judgement: Judgement | undefined;
  readonly failures: readonly {
    readonly detector: string;
    readonly kind: DetectorError["kind"];
    readonly isFatal: boolean;
  }[];
  readonly removed: readonly DiscardedFinding[];
  readonly detectors: readonly RehearsalDetector[];
  /** Name of the keyed operator, by name of a rule whose texts are not shown. */
  readonly hidden: ReadonlyMap<string, string>;
}

/** Maximum number of findings shown per kind, since a text may be one long list of numbers. */
const MAX_FINDINGS = 500;

export function rehearsalVariables(question: RehearsalQuestion): GuardrailVariables {
  const { profile = "", model = "", route = "chat_completions", caller = NOBODY, segments } = question;
  const direction = segments.some(({ kind }) => kind === "output") ? "response" : "request";
  return { ...caller, direction, hop: "llm", profile, model, route, server: "", method: "", name: "", peer: "" };
}

const NOBODY: CallerVariables = callerVariables({ key: undefined, agent: undefined, user: undefined });

/** Returns the segments. The last one belongs to the newest turn. */
export function rehearsalSegments({ segments }: RehearsalQuestion): readonly Segment[] {
  return segments.map(({ kind, text }, at) => ({
    kind,
    text,
    ref: "",
    turn: segments.length - 1 - at,
    isReadOnly: kind === "header" || kind === "query",
  }));
}

export function rehearsalOf({ segments, judgement, failures, removed, detectors, hidden }: RehearsalResult): Rehearsal {
  const fatal = failures.find(({ isFatal }) => isFatal);
  const annotations = judgement?.annotations ?? [];
  const shadow = judgement?.shadow ?? [];
  const lists = [annotations, shadow, removed];
  const findingOf = createFindingRenderer(segments, [
    ...annotations.slice(0, MAX_FINDINGS),
    ...shadow.slice(0, MAX_FINDINGS),
    ...removed.slice(0, MAX_FINDINGS).map(({ annotation }) => annotation),
  ]);
  return {
    decision: judgement?.outcome ?? "error",
    rule: judgement === undefined || judgement.outcome === "allow" ? null : judgement.by.rule,
    message:
      judgement === undefined
        ? `guardrail detector ${fatal?.detector ?? ""} ${fatal?.kind ?? "failed"}`
        : judgement.outcome === "allow"
          ? null
          : judgement.message,
    decisions: judgement?.decisions ?? [],
    skipped: (judgement?.skipped ?? []).map(({ rule, part, error }) => ({ rule, part, error })),
    failures: failures.map(({ detector, kind, isFatal }) => ({ detector, kind, refuses: isFatal })),
    detectors,
    segments: segments.map(({ kind, text }, at) => {
      const rewrite = judgement?.outcome === "allow" ? judgement.rewrites[at] : undefined;
      return {
        kind,
        text: rewrite === undefined ? text : shownText(text, rewrite, hidden),
        rewritten: rewrite !== undefined,
      };
    }),
    findings: annotations.slice(0, MAX_FINDINGS).map(findingOf),
    shadow: shadow.slice(0, MAX_FINDINGS).map(findingOf),
    removed: removed.slice(0, MAX_FINDINGS).map(({ annotation, by }) => ({ ...findingOf(annotation), by })),
    more: lists.reduce((sum, { length }) => sum + Math.max(0, length - MAX_FINDINGS), 0),
  };
}

/** Returns the text to show. `hidden` has, by rule name, the operator that is shown in place of replacements. */
function shownText(text: string, { text: whole, edits }: Rewrite, hidden: ReadonlyMap<string, string>): string {
  if (!edits.some(({ rule }) => hidden.has(rule))) return whole;
  let written = "";
  let at = 0;
  for (const { start, end, text: own, rule, type } of edits) {
    const operator = hidden.get(rule);
    const label = type.slice(type.indexOf("/") + 1);
    written += text.slice(at, start) + (operator === undefined ? own : `<${label}:${operator}>`);
    at = end;
  }
  return written + text.slice(at);
}

/** Returns a function that renders findings. All positions of a text are converted together, in one pass. */
function createFindingRenderer(
  segments: readonly Segment[],
  annotations: readonly Annotation[],
): (one: Annotation) => RehearsalFinding {
  const bytes = segments.map(({ text }, segment) => {
    const own = annotations.filter((one) => one.segment === segment);
    const places = own.flatMap(({ start, end }) => [start, end]).sort((a, b) => a - b);
    const offsets = utf8Offsets(text, places);
    return new Map(places.map((place, at) => [place, offsets[at] ?? 0]));
  });
  return ({ segment, category, label, score, detector, recognizer, start, end, trace, agreement }) => ({
    segment,
    type: `${category}/${label}`,
    category,
    label,
    score,
    detector,
    recognizer,
    start: bytes[segment]?.get(start) ?? 0,
    end: bytes[segment]?.get(end) ?? 0,
    trace:
      trace === undefined
        ? null
        : {
            pattern: trace.pattern,
            score_base: trace.scoreBase,
            validated: trace.validated ?? null,
            context_word: trace.contextWord ?? null,
            score_context: trace.scoreContext,
            agreement,
          },
  });
}
