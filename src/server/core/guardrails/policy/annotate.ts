/** Turns findings into annotations, with the steps of the guardrails reference, 2.1. */

import type { Annotated, Annotation, Dropped, Guardrails, Inspected, Issued } from "../index.ts";
import type { AllowList } from "./allow-list.ts";
import { settled } from "./conflicts.ts";
import { agreed, type Candidate, candidatesOf, type Drop, type Member } from "./finding-candidates.ts";
import { formsIn, type Span } from "./operators/index.ts";

export interface Refining {
  readonly scoreThreshold: number;
  readonly agreementBoost: number;
  readonly conflicts: Guardrails["conflicts"];
  readonly allows: AllowList | undefined;
  /** Value of `explain`. */
  readonly keepsTrace: boolean;
  readonly members: ReadonlyMap<string, Member>;
  /** Values that `fpe` wrote recently, which are not findings. */
  readonly issued: Issued | undefined;
}

interface Refined {
  /** Candidates by segment, ascending by start. */
  readonly candidates: readonly (readonly Candidate[])[];
  readonly shadow: readonly Annotation[];
}

const KEEP_NOTHING: Drop = () => undefined;

export function refined(inspected: Inspected, how: Refining, drop: Drop = KEEP_NOTHING): Refined {
  const { inline, shadow } = candidatesOf(inspected, how.members, how.keepsTrace);
  const candidates = inline.map((list, at) =>
    list.length === 0 ? list : refinedSegment(inspected.segments[at]?.text ?? "", list, how, drop),
  );
  return { candidates, shadow };
}

function refinedSegment(text: string, found: readonly Candidate[], how: Refining, drop: Drop): readonly Candidate[] {
  const raised = how.agreementBoost > 0 && found.length > 1 ? agreed(found, how.agreementBoost) : found;
  const { allows } = how;
  const isWithinForm = within(formsIn(text));
  const isIssued = how.issued?.within(text);
  const kept = raised.filter((candidate) => {
    const by = reasonToDrop(candidate);
    if (by !== undefined) drop(candidate, by);
    return by === undefined;
  });
  return settled(text, kept, how.conflicts, drop);

  function reasonToDrop({ annotation: { score, start, end }, isVerdict }: Candidate): Dropped["by"] | undefined {
    if (score < how.scoreThreshold) return "score_threshold";
    if (isVerdict) return undefined;
    if (isWithinForm(start, end) || isIssued?.(start, end) === true) return "form";
    return allows?.(text.slice(start, end)) ? "allow_list" : undefined;
  }
}

function within(spans: readonly Span[]): (start: number, end: number) => boolean {
  if (spans.length === 0) return () => false;
  return (start, end) => {
    let low = 0;
    let high = spans.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((spans[middle]?.start ?? 0) <= start) low = middle;
      else high = middle - 1;
    }
    const span = spans[low];
    return span !== undefined && span.start <= start && end <= span.end;
  };
}

export function annotated(inspected: Inspected, how: Refining): Annotated {
  const dropped: Dropped[] = [];
  const { candidates, shadow } = refined(inspected, how, ({ annotation }, by) => dropped.push({ annotation, by }));
  return { annotations: candidates.flat().map(({ annotation }) => annotation), shadow, dropped };
}
