/** Findings that were removed before rules saw them, with the reason. Why nothing was found is the most common question. */
import type { Annotation, AnnotationResult, DiscardedFinding, InspectedSegments } from "../core/guardrails/index.ts";
import type { Ensemble, RunOptions } from "../detectors/index.ts";

interface RemovedOptions {
  /** Names of the detectors that ran; their findings are those of `inspected`. */
  readonly names: ReadonlySet<string>;
  readonly signal: AbortSignal;
  /** Findings set by a rehearsal, the same as in the run that `inspected` comes from. */
  readonly stubFindings?: RunOptions["stubFindings"];
}

/** Returns the removed findings, ascending by segment and start. `annotated` is what the policy made of `inspected`. */
export async function findRemoved(
  ensemble: Ensemble,
  { segments }: InspectedSegments,
  { annotations, shadow, dropped }: AnnotationResult,
  { names, signal, stubFindings }: RemovedOptions,
): Promise<readonly DiscardedFinding[]> {
  const members = ensemble.members.filter(({ name }) => names.has(name));
  const isLowered = members.some(({ threshold }) => threshold > 0);
  const runWithoutThresholds = isLowered
    ? await ensemble.run(segments, { names, signal, ignoresThresholds: isLowered, stubFindings })
    : undefined;
  const thresholds = new Map(members.map(({ name, threshold }) => [name, threshold]));
  const belowThreshold = (runWithoutThresholds?.byDetector ?? []).flatMap(({ detector, findings }) =>
    findings.flatMap((list, segment) =>
      list
        .filter(({ score }) => score < (thresholds.get(detector) ?? 0))
        .map((one): DiscardedFinding => ({ annotation: { ...one, segment, detector, agreement: 0 }, by: "threshold" })),
    ),
  );
  const known = [...annotations, ...shadow, ...[...dropped, ...belowThreshold].map(({ annotation }) => annotation)];
  const isKnown = createOverlapTest(segments, known);
  const disproved = members.flatMap(({ name, kinds, role, detector }) =>
    segments.flatMap(({ kind, text }, segment) => {
      // A confirming detector looks only where other detectors found something.
      if (detector.disprovedMatches === undefined || role === "confirm" || !kinds.has(kind)) return [];
      const annotated = detector
        .disprovedMatches(text)
        .map((one) => ({ ...one, segment, detector: name, agreement: 0 }));
      return annotated.flatMap((annotation): DiscardedFinding[] =>
        isKnown(annotation) ? [] : [{ annotation, by: "check" }],
      );
    }),
  );
  return [...dropped, ...belowThreshold, ...disproved].sort(
    ({ annotation: a }, { annotation: b }) => a.segment - b.segment || a.start - b.start,
  );
}

/** Returns a predicate that is true if a finding overlaps a known one: another detector or pattern has reported that text. */
function createOverlapTest(
  segments: InspectedSegments["segments"],
  known: readonly Annotation[],
): (one: Annotation) => boolean {
  const covered = segments.map(({ text }) => new Uint8Array(text.length));
  for (const { segment, start, end } of known) covered[segment]?.fill(1, start, end);
  return ({ segment, start, end }) => covered[segment]?.subarray(start, end).includes(1) === true;
}
