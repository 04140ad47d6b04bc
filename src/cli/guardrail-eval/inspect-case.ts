/** Runs one case through detectors and policy as a chat turn, with the annotations that a request would get. */

import {
  type Annotation,
  type DetectionResult,
  type DiscardedFinding,
  type Failure,
  type InspectedSegments,
  type Segment,
  type SegmentKind,
  utf8Offsets,
} from "../../server/core/guardrails/index.ts";
import { findRemoved } from "../../server/snapshot/index.ts";
import type { Subject } from "./compile-subject.ts";
import type { Mark } from "./evaluation-case.ts";
import type { NameNormalizer } from "./type-names.ts";

export interface ChatTurn {
  readonly text: string;
  readonly kind: SegmentKind;
  /** Text of the system turn; empty if there is none. */
  readonly system: string;
}

/** Finding in a case, in bytes and under its final name. */
export interface CaseFinding extends Mark {
  readonly score: number;
  readonly detector: string;
  readonly recognizer: string;
  /** Name of the pattern; empty if the detector has none. */
  readonly pattern: string;
}

/** Finding that does not count, with the reason. */
export interface RemovedFinding extends CaseFinding {
  readonly by: DiscardedFinding["by"];
}

export interface RawFindings {
  readonly inspected: InspectedSegments;
  readonly failures: readonly Failure[];
}

interface DetectorRunOptions {
  /** Only detector whose findings count, even if its mode is shadow; `undefined` for all that are not shadow. */
  readonly detector: string | undefined;
  readonly signal: AbortSignal;
  /** True to set every threshold of a detector to 0. */
  readonly isLowered?: boolean;
}

export async function runDetectors(
  { ensemble, unthresholdedEnsemble }: Subject,
  { text, kind, system }: ChatTurn,
  { detector, signal, isLowered = false }: DetectorRunOptions,
): Promise<RawFindings> {
  const caseSegment: Segment = { kind, text, ref: "", turn: 0, isReadOnly: kind === "header" || kind === "query" };
  const systemSegment: Segment = { kind: "system", text: system, ref: "", turn: 1, isReadOnly: false };
  const segments = system === "" ? [caseSegment] : [systemSegment, caseSegment];
  const found: DetectionResult = await ((isLowered ? unthresholdedEnsemble : undefined) ?? ensemble).run(segments, {
    signal,
    ignoresThresholds: isLowered,
    ...detectorSelection(ensemble, detector),
  });
  const byDetector =
    detector === undefined
      ? found.byDetector
      : found.byDetector.flatMap((one) => (one.detector === detector ? [{ ...one, mode: "inline" as const }] : []));
  return { inspected: { segments, found: byDetector }, failures: found.failures };
}

/** Selects only the one detector if no other influences its findings: a model may cost minutes, or money. */
function detectorSelection({ members }: Subject["ensemble"], detector: string | undefined) {
  const one = members.find(({ name }) => name === detector);
  if (one === undefined || one.role === "confirm" || members.some(({ narrowsSpans }) => narrowsSpans)) return {};
  return { names: new Set([one.name]) };
}

/** Returns findings sorted by start, without those in the system turn. `scoreThreshold` replaces the configured one. */
export function findingsIn(
  { policy }: Subject,
  { inspected }: RawFindings,
  names: NameNormalizer,
  scoreThreshold?: number,
): readonly CaseFinding[] {
  const { annotations } = policy.annotate(inspected, scoreThreshold);
  return inLastSegment(inspected, annotations, (one) => one, names).map(({ finding }) => finding);
}

/** Returns findings that do not count, each with the reason. */
export async function removedFindings(
  { ensemble, policy }: Subject,
  { inspected }: RawFindings,
  names: NameNormalizer,
  { detector, signal }: DetectorRunOptions,
): Promise<readonly RemovedFinding[]> {
  const inline = ensemble.members.filter(({ name, mode }) =>
    detector === undefined ? mode === "inline" : name === detector,
  );
  const inlineNames = new Set(inline.map(({ name }) => name));
  const removed = await findRemoved(ensemble, inspected, policy.annotate(inspected), { names: inlineNames, signal });
  const ownTurn = inLastSegment(inspected, removed, ({ annotation }) => annotation, names);
  return ownTurn.map(({ finding, item: { by } }) => ({ ...finding, by }));
}

/** Returns the items in the case's own turn, with positions in bytes. */
function inLastSegment<Item>(
  { segments }: InspectedSegments,
  items: readonly Item[],
  annotationOf: (item: Item) => Annotation,
  names: NameNormalizer,
): readonly { readonly finding: CaseFinding; readonly item: Item }[] {
  const last = segments.length - 1;
  const ownTurnItems = items.filter((item) => annotationOf(item).segment === last);
  const places = ownTurnItems
    .flatMap((item) => [annotationOf(item).start, annotationOf(item).end])
    .sort((a, b) => a - b);
  const offsets = utf8Offsets(segments[last]?.text ?? "", places);
  const bytes = new Map(places.map((place, at) => [place, offsets[at] ?? 0]));
  return ownTurnItems.map((item) => {
    const { start, end, label, score, detector, recognizer, trace } = annotationOf(item);
    const finding: CaseFinding = {
      start: bytes.get(start) ?? 0,
      end: bytes.get(end) ?? 0,
      type: names(label),
      score,
      detector,
      recognizer,
      pattern: trace?.pattern ?? "",
    };
    return { finding, item };
  });
}
