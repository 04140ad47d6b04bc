/** Evaluates rules over annotations and returns the judgement. Source: document 3, `guardrails.rules[]`. */

import { type Expression, Fault, type Variables } from "../../cel/index.ts";
import type {
  InspectedSegments,
  Inspection,
  InspectionContext,
  Judgement,
  Rewrite,
  Rewriting,
  RuleDecision,
  RuleFault,
  Segment,
} from "../index.ts";
import { type RefineOptions, refineFindings } from "./annotate.ts";
import type { Candidate } from "./finding-candidates.ts";
import type { CompiledRule } from "./guardrail-rule.ts";
import {
  type AnnotationValue,
  addToView,
  annotationValue,
  emptyView,
  type View,
  whenVariables,
} from "./guardrail-variables.ts";
import { type Claim, disjointSpans, rewriteSpans } from "./segment-edits.ts";

/** Rules of one population. Rules with the same `requires` share a view. */
export interface RulesInForce {
  readonly rules: readonly { readonly rule: CompiledRule; readonly view: number }[];
  /** Detectors whose annotations a view contains; `undefined` for all. */
  readonly views: readonly (ReadonlySet<string> | undefined)[];
  readonly refining: RefineOptions;
}

/** Annotation in the current piece. */
interface NewAnnotation {
  readonly candidate: Candidate;
  readonly segment: Segment;
  readonly value: AnnotationValue;
}

type FinalOutcome =
  | { readonly kind: "deny"; readonly by: RuleDecision; readonly message: string }
  | { readonly kind: "fault"; readonly by: RuleFault };

export function openInspection(
  inForce: RulesInForce,
  { variables, rewriting, restores }: InspectionContext,
): Inspection {
  const views = inForce.views.map((detectors) => {
    const view = emptyView();
    return { annotations: view.annotations, labels: view.labels, detectors, seen: whenVariables(variables, view) };
  });
  /** Rules that have annotated; each is reported again only when it reads something new. */
  const annotated = new Set<CompiledRule>();
  /** Judgement of a text without findings. It stays valid until something is found, since rules read nothing else. */
  let emptyJudgement: Judgement | undefined;
  return {
    judge(inspected) {
      const isEmpty = hasNothingNew(inspected);
      if (isEmpty && emptyJudgement !== undefined) return emptyJudgement;
      const judgement = evaluateRules(inspected);
      emptyJudgement = isEmpty && hasNoEffect(judgement) ? judgement : undefined;
      return judgement;
    },
  };

  function evaluateRules(inspected: InspectedSegments): Judgement {
    const { segments, pending } = inspected;
    const { candidates, shadow } = refineFindings(inspected, inForce.refining);
    const all = candidates.flat();
    const fresh = views.map((view) => addNewAnnotations(view, view.detectors, all, segments));
    const decisions: { readonly rule: CompiledRule; readonly decision: RuleDecision | undefined }[] = [];
    const skipped: RuleFault[] = [];
    const claims: Claim[] = [];
    let end: FinalOutcome | undefined;

    for (const { rule, view: at } of inForce.rules) {
      const view = views[at];
      const newAnnotations = fresh[at];
      if (view === undefined || newAnnotations === undefined || (pending !== undefined && mustWait(rule, pending)))
        continue;
      const outcome = evaluateRule(rule, view.seen, newAnnotations, { variables, restores });
      if ("part" in outcome) {
        if (!rule.failsOpen) {
          end = { kind: "fault", by: outcome };
          break;
        }
        skipped.push(outcome);
      } else if (outcome.fires) {
        const { action } = rule.rule;
        if (action === "annotate" && newAnnotations.length === 0 && annotated.has(rule)) continue;
        annotated.add(rule);
        for (const claim of outcome.claims) claims.push(claim);
        const decision = action === "redact" ? undefined : decisionOf(rule, newAnnotations);
        decisions.push({ rule, decision });
        if (decision?.action === "deny") {
          end = { kind: "deny", by: decision, message: rule.message };
          break;
        }
      }
    }

    const annotations = all.map(({ annotation }) => annotation);
    if (end !== undefined) {
      // Nothing was rewritten, so no redaction is reported.
      const made = decisions.flatMap(({ decision }) => decision ?? []);
      return refusalOf(end, { decisions: made, skipped, annotations, shadow });
    }
    const { rewrites, rewrittenByRule: acted, fpeDomainTooSmall } = rewriteAll(segments, claims, rewriting);
    const finalDecisions = decisions.flatMap(
      ({ rule, decision }) => decision ?? redactDecision(rule, acted.get(rule), segments) ?? [],
    );
    return { outcome: "allow", rewrites, decisions: finalDecisions, skipped, annotations, shadow, fpeDomainTooSmall };
  }
}

/** Returns the judgement of a text that a rule denied, or that a rule without `fail_open` could not be evaluated for. */
function refusalOf(
  end: FinalOutcome,
  judged: Pick<Judgement, "decisions" | "skipped" | "annotations" | "shadow">,
): Judgement {
  if (end.kind === "deny") {
    return { outcome: "deny", message: end.message, by: end.by, ...judged, fpeDomainTooSmall: 0 };
  }
  const { rule, excess } = end.by;
  const message =
    excess === undefined
      ? `guardrail rule ${rule} could not be evaluated`
      : `guardrail rule ${rule} selects ${excess} values, and \`fpe\` encrypts at most ${MAX_ENCRYPTED} in one message`;
  return { outcome: "error", message, by: end.by, ...judged, fpeDomainTooSmall: 0 };
}

/** Returns true if this is a single text in which no detector found anything. */
const hasNothingNew = ({ segments, found, pending }: InspectedSegments): boolean =>
  segments.length === 1 &&
  pending === undefined &&
  found.every(({ findings }) => findings.length === 1 && findings[0]?.length === 0);

const hasNoEffect = ({ outcome, decisions, skipped, annotations, shadow }: Judgement): boolean =>
  outcome === "allow" && [decisions, skipped, annotations, shadow].every((list) => list.length === 0);

const mustWait = ({ rule, requires }: CompiledRule, pending: ReadonlySet<string>): boolean =>
  rule.action !== "redact" && requires !== undefined && [...requires].some((name) => pending.has(name));

function addNewAnnotations(
  view: View,
  detectors: ReadonlySet<string> | undefined,
  candidates: readonly Candidate[],
  segments: readonly Segment[],
): readonly NewAnnotation[] {
  return candidates.flatMap((candidate) => {
    const segment = segments[candidate.annotation.segment];
    const isSeen = detectors === undefined || candidate.sources.some((source) => detectors.has(source));
    if (segment === undefined || !isSeen) return [];
    const value = annotationValue(candidate, segment);
    addToView(view, value);
    return [{ candidate, segment, value }];
  });
}

type Outcome = RuleFault | { readonly fires: boolean; readonly claims: readonly Claim[] };

/** Maximum number of values that one rule encrypts in one message, which takes a tenth of a second of this thread. */
export const MAX_ENCRYPTED = 2_000;
const TOO_MANY = new Fault(
  "cost",
  `it selects more than ${MAX_ENCRYPTED} values, which is the maximum that \`fpe\` encrypts in one message`,
);

const NO_EFFECT: Outcome = Object.freeze({ fires: false, claims: [] });

/** Evaluates a rule. `conditionVariables` contains the variables of `when`; `context` is the same without annotations. */
function evaluateRule(
  rule: CompiledRule,
  conditionVariables: Variables,
  newAnnotations: readonly NewAnnotation[],
  { variables: context, restores }: Pick<InspectionContext, "variables" | "restores">,
): Outcome {
  const fired = rule.when === undefined ? newAnnotations.length > 0 : evaluateCondition(rule.when, conditionVariables);
  if (fired instanceof Fault) return faultOf(rule, "when", fired);
  if (!fired) return NO_EFFECT;
  const claims: Claim[] = [];
  if (rule.rule.action !== "redact") return { fires: true, claims };
  const isFpe = rule.rule.operator === "fpe";
  const maxClaims = isFpe ? MAX_ENCRYPTED : Number.POSITIVE_INFINITY;
  // One object is reused for all annotations, since copying the context takes longer than the evaluation.
  const variables: Record<string, Variables[string]> = { ...context };
  for (const { candidate, segment, value } of newAnnotations) {
    if (segment.isReadOnly || !rule.kinds.has(segment.kind)) continue;
    // Values that will be restored are not encrypted first.
    if (isFpe && restores?.(candidate.annotation) === true) continue;
    variables["a"] = value;
    const isSelected = rule.select === undefined || evaluateCondition(rule.select, variables);
    if (isSelected instanceof Fault) return faultOf(rule, "select", isSelected);
    if (isSelected) claims.push({ by: rule, candidate });
  }
  if (claims.length > maxClaims) return { ...faultOf(rule, "select", TOO_MANY), excess: claims.length };
  return { fires: claims.length > 0, claims };
}

const NOT_BOOL = new Fault("type", "the condition is not a bool");

function evaluateCondition(expression: Expression, variables: Variables): boolean | Fault {
  const outcome = expression.evaluate(variables);
  if (outcome.kind === "error") return outcome.error;
  return typeof outcome.value === "boolean" ? outcome.value : NOT_BOOL;
}

const faultOf = ({ rule }: CompiledRule, part: RuleFault["part"], { kind, message }: Fault): RuleFault => ({
  rule: rule.name,
  controls: rule.controls ?? [],
  part,
  error: kind,
  detail: message,
});

function decisionOf(
  { rule }: CompiledRule,
  read: readonly { readonly candidate: Candidate; readonly segment: Segment }[],
): RuleDecision {
  const types: Record<string, number> = {};
  for (const { candidate } of read) types[candidate.type] = (types[candidate.type] ?? 0) + 1;
  const kinds = [...new Set(read.map(({ segment }) => segment.kind))];
  return { rule: rule.name, action: rule.action, controls: rule.controls ?? [], types, kinds };
}

function redactDecision(
  rule: CompiledRule,
  rewritten: readonly Candidate[] | undefined,
  segments: readonly Segment[],
): RuleDecision | undefined {
  const read = (rewritten ?? []).flatMap((candidate) => {
    const segment = segments[candidate.annotation.segment];
    return segment === undefined ? [] : [{ candidate, segment }];
  });
  // Other rules have rewritten everything that this rule selected.
  return read.length === 0 ? undefined : decisionOf(rule, read);
}

interface RewriteAllResult {
  readonly rewrites: readonly (Rewrite | undefined)[];
  /** Findings that each rule rewrote. */
  readonly rewrittenByRule: ReadonlyMap<CompiledRule, readonly Candidate[]>;
  readonly fpeDomainTooSmall: number;
}

function rewriteAll(segments: readonly Segment[], claims: readonly Claim[], rewriting: Rewriting): RewriteAllResult {
  const acted = new Map<CompiledRule, Candidate[]>();
  const rewrites = new Array<Rewrite | undefined>(segments.length).fill(undefined);
  let fpeDomainTooSmall = 0;
  if (claims.length === 0) return { rewrites, rewrittenByRule: acted, fpeDomainTooSmall };
  const bySegment = segments.map((): Claim[] => []);
  for (const claim of claims) bySegment[claim.candidate.annotation.segment]?.push(claim);
  for (const [at, own] of bySegment.entries()) {
    const segment = segments[at];
    if (segment === undefined || own.length === 0) continue;
    const places = disjointSpans(own);
    for (const { by, candidate } of places) {
      const list = acted.get(by);
      if (list === undefined) acted.set(by, [candidate]);
      else list.push(candidate);
    }
    const { rewrite, lackingDomain } = rewriteSpans(segment.text, places, rewriting);
    rewrites[at] = rewrite;
    fpeDomainTooSmall += lackingDomain;
  }
  return { rewrites, rewrittenByRule: acted, fpeDomainTooSmall };
}
