/** Determines which places of a segment are rewritten by which rule, and the resulting text. */

import type { Edit, Rewrite, Rewriting } from "../index.ts";
import { type Candidate, compareRanks } from "./finding-candidates.ts";
import type { CompiledRule } from "./guardrail-rule.ts";

/** Annotation that a rule selected. */
export interface Claim {
  readonly by: CompiledRule;
  readonly candidate: Candidate;
}

/** Claim with the part of its place that it rewrites. */
interface RewriteSpan extends Claim {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns disjoint places, ascending, that cover every claimed place. Of equal places the first rule wins; a place within
 * another is dropped, since the outer one covers it; of two that overlap in part the earlier loses its end. Source: guardrails
 * reference, 2.4.
 */
export function disjointSpans(claims: readonly Claim[]): readonly RewriteSpan[] {
  const sorted = claims.toSorted(
    ({ candidate: a, by: left }, { candidate: b, by: right }) =>
      a.annotation.start - b.annotation.start ||
      b.annotation.end - a.annotation.end ||
      left.index - right.index ||
      compareRanks(a, b),
  );
  const kept: RewriteSpan[] = [];
  let reached = -1;
  for (const claim of sorted) {
    const { start, end } = claim.candidate.annotation;
    if (end <= reached) continue;
    const before = kept.at(-1);
    if (before !== undefined && before.end > start) kept[kept.length - 1] = { ...before, end: start };
    kept.push({ ...claim, start, end });
    reached = end;
  }
  return kept;
}

interface RewriteResult {
  readonly rewrite: Rewrite;
  readonly lackingDomain: number;
}

/** Rewrites the places in text order, so that placeholders are numbered by appearance. */
export function rewriteSpans(text: string, spans: readonly RewriteSpan[], rewriting: Rewriting): RewriteResult {
  const edits: Edit[] = [];
  let domainsTooSmall = 0;
  let written = "";
  let at = 0;
  for (const { start, end, by, candidate } of spans) {
    const { label } = candidate.annotation;
    const value = by.operator(label, text.slice(start, end), rewriting);
    if (value.isDomainTooSmall) domainsTooSmall += 1;
    edits.push({ start, end, text: value.text, rule: by.rule.name, type: candidate.type });
    written += text.slice(at, start) + value.text;
    at = end;
  }
  return { rewrite: { text: written + text.slice(at), edits }, lackingDomain: domainsTooSmall };
}
