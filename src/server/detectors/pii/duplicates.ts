/** Drops findings within another finding of the same type whose score is not lower. Source: guardrails reference, 1.1. */

import type { Finding } from "../../core/guardrails/index.ts";

/**
 * Returns the remaining findings. `found` is ascending by start. Takes linear time, since findings of one pattern do
 * not overlap, which limits the overlaps within a type.
 */
export function withoutContained(found: readonly Finding[]): readonly Finding[] {
  if (found.length < 2) return found;
  const ordered = [...found].sort(
    (one, other) => one.start - other.start || other.end - one.end || other.score - one.score,
  );
  const open = new Map<string, Finding[]>();
  const kept: Finding[] = [];
  const dropped = new Set<Finding>();
  for (const finding of ordered) {
    const type = `${finding.category}/${finding.label}`;
    const near = (open.get(type) ?? []).filter((other) => other.end > finding.start);
    open.set(type, near);
    // At the same place, a finding with a higher score comes first; a longer one must have at least the same score.
    if (near.some((other) => other.end >= finding.end && other.score >= finding.score)) {
      dropped.add(finding);
      continue;
    }
    for (const other of near) if (holds(finding, other) && finding.score > other.score) dropped.add(other);
    near.push(finding);
    kept.push(finding);
  }
  return kept.filter((finding) => !dropped.has(finding));
}

function holds(outer: Finding, inner: Finding): boolean {
  return outer.start <= inner.start && outer.end >= inner.end;
}
