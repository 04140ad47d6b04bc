/** Turns findings into annotations, with the steps of the guardrails reference, 2.1. */

import type {
  Annotation,
  AnnotationResult,
  DroppedFinding,
  Guardrails,
  InspectedSegments,
  IssuedValues,
} from "../index.ts";
import type { AllowList } from "./allow-list.ts";
import { resolveConflicts } from "./conflicts.ts";
import { boostAgreeing, type Candidate, candidatesOf, type DropListener, type Member } from "./finding-candidates.ts";
import { formsIn, type Span } from "./operators/index.ts";

export interface RefineOptions {
  readonly scoreThreshold: number;
  readonly agreementBoost: number;
  readonly conflicts: Guardrails["conflicts"];
  readonly allows: AllowList | undefined;
  /** Value of `explain`. */
  readonly keepsTrace: boolean;
  readonly members: ReadonlyMap<string, Member>;
  /** Values that `fpe` wrote recently, which are not findings. */
  readonly issued: IssuedValues | undefined;
}

interface RefinedFindings {
  /** Candidates by segment, ascending by start. */
  readonly candidates: readonly (readonly Candidate[])[];
  readonly shadow: readonly Annotation[];
}

const IGNORE_DROPPED: DropListener = () => undefined;

export function refineFindings(
  inspected: InspectedSegments,
  options: RefineOptions,
  onDrop: DropListener = IGNORE_DROPPED,
): RefinedFindings {
  const { inline, shadow } = candidatesOf(inspected, options.members, options.keepsTrace);
  const candidates = inline.map((list, at) =>
    list.length === 0 ? list : refineSegment(inspected.segments[at]?.text ?? "", list, options, onDrop),
  );
  return { candidates, shadow };
}

function refineSegment(
  text: string,
  found: readonly Candidate[],
  options: RefineOptions,
  onDrop: DropListener,
): readonly Candidate[] {
  const raised = options.agreementBoost > 0 && found.length > 1 ? boostAgreeing(found, options.agreementBoost) : found;
  const { allows } = options;
  const isWithinForm = createSpanTest(formsIn(text));
  const isIssued = options.issued?.createSpanTest(text);
  const kept = raised.filter((candidate) => {
    const by = reasonToDrop(candidate);
    if (by !== undefined) onDrop(candidate, by);
    return by === undefined;
  });
  return resolveConflicts(text, kept, options.conflicts, onDrop);

  function reasonToDrop({ annotation: { score, start, end }, isVerdict }: Candidate): DroppedFinding["by"] | undefined {
    if (score < options.scoreThreshold) return "score_threshold";
    if (isVerdict) return undefined;
    if (isWithinForm(start, end) || isIssued?.(start, end) === true) return "form";
    return allows?.(text.slice(start, end)) ? "allow_list" : undefined;
  }
}

function createSpanTest(spans: readonly Span[]): (start: number, end: number) => boolean {
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

export function annotateFindings(inspected: InspectedSegments, options: RefineOptions): AnnotationResult {
  const dropped: DroppedFinding[] = [];
  const { candidates, shadow } = refineFindings(inspected, options, ({ annotation }, by) =>
    dropped.push({ annotation, by }),
  );
  return { annotations: candidates.flat().map(({ annotation }) => annotation), shadow, dropped };
}
