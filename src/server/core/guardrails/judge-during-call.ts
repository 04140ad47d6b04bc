/**
 * Judges a request before it is forwarded, and again when the detectors that run during the upstream call have answered. Source:
 * specification document 3, `schedule: overlap` and `guardrails.overlap`.
 */
import type { Edit, Judgement, RuleDecision, RuleFault } from "./judgement.ts";

export interface OverlapOptions {
  /** Names of the detectors that run during the upstream call. */
  readonly detectors: ReadonlySet<string>;
  /** Value of `overlap.on_redact`: how a rewrite that comes too late is handled. */
  readonly onRedact: "deny" | "allow";
}

/**
 * Returns the decisions that `all`, a judgement over all findings, adds to `before`, the judgement that let the request
 * through; earlier decisions are not reported again. Nothing can be rewritten at this point: a redact rule that would have to
 * rewrite denies, or is recorded as an annotation. Places that were rewritten before do not count.
 */
export function addedJudgement(before: Judgement, all: Judgement, { detectors, onRedact }: OverlapOptions): Judgement {
  const skipped = all.skipped.filter((fault) => !before.skipped.some((known) => isSame(known, fault)));
  const shadow = all.shadow.filter(({ detector }) => detectors.has(detector));
  const observed = { skipped, shadow, annotations: all.annotations, fpeDomainTooSmall: 0 };
  const missed =
    all.outcome === "allow"
      ? missedEdits(
          before,
          all.rewrites.map((one) => one?.edits ?? []),
        )
      : [];
  const decisions: RuleDecision[] = [];
  for (const decision of all.decisions) {
    const added =
      decision.action === "redact" ? lateRedaction(decision, missed) : withNewCounts(decision, before.decisions);
    if (added === undefined) continue;
    if (decision.action !== "redact") decisions.push(added);
    else if (onRedact === "allow") decisions.push({ ...added, action: "annotate" });
    else {
      const by: RuleDecision = { ...added, action: "deny" };
      const message = `guardrail rule ${by.rule} would rewrite the request, which was already forwarded`;
      return { outcome: "deny", message, by, decisions: [...decisions, by], ...observed };
    }
  }
  return all.outcome === "allow"
    ? { outcome: "allow", rewrites: all.rewrites.map(() => undefined), decisions, ...observed }
    : { ...all, decisions, ...observed };
}

const isSame = (a: RuleFault, b: RuleFault): boolean => a.rule === b.rule && a.part === b.part;

/** Returns the edits whose places were not completely rewritten before. */
function missedEdits(before: Judgement, edits: readonly (readonly Edit[])[]): readonly Edit[] {
  const rewrites = before.outcome === "allow" ? before.rewrites : [];
  return edits.flatMap((own, at) => own.filter((edit) => !covers(rewrites[at]?.edits ?? [], edit)));
}

/** Returns whether the edits, which are ascending and disjoint, cover the place completely. */
function covers(edits: readonly Edit[], { start, end }: Edit): boolean {
  let reached = start;
  for (const edit of edits) if (edit.start <= reached) reached = Math.max(reached, edit.end);
  return reached >= end;
}

function lateRedaction(decision: RuleDecision, missed: readonly Edit[]): RuleDecision | undefined {
  const types: Record<string, number> = {};
  for (const { rule, type } of missed) if (rule === decision.rule) types[type] = (types[type] ?? 0) + 1;
  return Object.keys(types).length === 0 ? undefined : { ...decision, types };
}

/** Returns the decision with only new counts; `undefined` if everything was reported before. */
function withNewCounts(decision: RuleDecision, known: readonly RuleDecision[]): RuleDecision | undefined {
  const earlier = known.find(({ rule, action }) => rule === decision.rule && action === decision.action);
  if (earlier === undefined) return decision;
  const types: Record<string, number> = {};
  for (const [type, count] of Object.entries(decision.types)) {
    const more = count - (earlier.types[type] ?? 0);
    if (more > 0) types[type] = more;
  }
  return Object.keys(types).length === 0 ? undefined : { ...decision, types };
}
