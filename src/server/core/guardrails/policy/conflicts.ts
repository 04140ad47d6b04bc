/** Resolves overlapping findings of one segment. Source: guardrails reference, 2.4. */

import type { Guardrails } from "../index.ts";
import { type Candidate, comparePositions, compareRanks, type DropListener } from "./finding-candidates.ts";

/** Types whose findings are joined to one value if only spaces are between them. */
const JOINED: ReadonlySet<string> = new Set(["PERSON", "LOCATION", "ORGANIZATION"]);

const SPACES = /^[ \u00a0]*$/;

/** Returns the findings that stay, ascending by start. */
export function resolveConflicts(
  text: string,
  candidates: readonly Candidate[],
  strategy: Guardrails["conflicts"],
  onDrop: DropListener,
): readonly Candidate[] {
  if (strategy === "none" || candidates.length < 2) return candidates.toSorted(comparePositions);
  const merged = mergeByType(text, candidates, onDrop);
  const verdicts = merged.filter(({ isVerdict }) => isVerdict);
  const outer = withoutContained(
    merged.filter(({ isVerdict }) => !isVerdict),
    onDrop,
  );
  const spans = strategy === "remove_intersections" ? withoutIntersecting(outer, onDrop) : outer;
  return [...verdicts, ...spans].toSorted(comparePositions);
}

/** Merges overlapping findings of one type into one that spans both; its other fields are those of the best finding. */
function mergeByType(text: string, candidates: readonly Candidate[], onDrop: DropListener): readonly Candidate[] {
  const merged: Candidate[] = [];
  /** Index in `merged` of the finding that the next may be merged into, by type. */
  const last = new Map<string, number>();
  for (const candidate of candidates.toSorted(comparePositions)) {
    const key = `${candidate.isVerdict ? "verdict " : ""}${candidate.type}`;
    const at = last.get(key);
    const before = at === undefined ? undefined : merged[at];
    if (at !== undefined && before !== undefined && formOneValue(text, before, candidate)) {
      merged[at] = mergePair(before, candidate, onDrop);
    } else {
      last.set(key, merged.length);
      merged.push(candidate);
    }
  }
  return merged;
}

function formOneValue(text: string, before: Candidate, { annotation }: Candidate): boolean {
  const { end, label } = before.annotation;
  if (annotation.start < end) return true;
  return JOINED.has(label) && SPACES.test(text.slice(end, annotation.start));
}

function mergePair(before: Candidate, next: Candidate, onDrop: DropListener): Candidate {
  const [best, other] = compareRanks(before, next) <= 0 ? [before, next] : [next, before];
  onDrop(other, "conflicts");
  const { annotation } = best;
  const sources = [...new Set([...best.sources, ...other.sources])];
  const start = Math.min(annotation.start, other.annotation.start);
  const end = Math.max(annotation.end, other.annotation.end);
  return { ...best, sources, annotation: { ...annotation, start, end } };
}

/** Keeps the best of findings at the same place, and drops findings within another finding of any type. */
function withoutContained(candidates: readonly Candidate[], onDrop: DropListener): readonly Candidate[] {
  const outermostFirst = candidates.toSorted(
    (a, b) => a.annotation.start - b.annotation.start || b.annotation.end - a.annotation.end || compareRanks(a, b),
  );
  let reached = -1;
  return outermostFirst.filter((candidate) => {
    if (candidate.annotation.end <= reached) {
      onDrop(candidate, "conflicts");
      return false;
    }
    reached = candidate.annotation.end;
    return true;
  });
}

/**
 * Drops the finding with the lower score of two that overlap in part, and on a tie the later one. A finding that overlaps only
 * with dropped ones stays. `candidates` are sorted by start, and none is within another, so their ends ascend too.
 */
function withoutIntersecting(candidates: readonly Candidate[], onDrop: DropListener): readonly Candidate[] {
  const best = candidates.map((_, at) => at);
  best.sort((a, b) => scoreAt(candidates, b) - scoreAt(candidates, a) || a - b);
  /** Indexes of the findings that stay, ascending. */
  const kept: number[] = [];
  for (const at of best) {
    const next = insertionIndex(kept, at);
    const [before, behind] = [kept[next - 1], kept[next]];
    const isCut =
      (before !== undefined && overlap(candidates[before], candidates[at])) ||
      (behind !== undefined && overlap(candidates[at], candidates[behind]));
    if (!isCut) kept.splice(next, 0, at);
    else if (candidates[at] !== undefined) onDrop(candidates[at], "conflicts");
  }
  return kept.flatMap((at) => candidates[at] ?? []);
}

const scoreAt = (candidates: readonly Candidate[], at: number): number => candidates[at]?.annotation.score ?? 0;

const overlap = (first: Candidate | undefined, second: Candidate | undefined): boolean =>
  first !== undefined && second !== undefined && second.annotation.start < first.annotation.end;

/** Returns how many of the ascending numbers are below the value. Uses binary search. */
function insertionIndex(ascending: readonly number[], value: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
