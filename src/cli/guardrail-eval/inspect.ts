/** One case through the ensemble and the policy, as one chat turn: what a request would have been annotated with. */

import {
  type Annotation,
  type Dropped,
  type Inspected,
  type Segment,
  type SegmentKind,
  utf8Offsets,
} from "../../server/core/guardrails/index.ts";
import type { Found } from "../../server/detectors/index.ts";
import type { Mark } from "./cases.ts";
import type { Names } from "./names.ts";
import type { Subject } from "./subject.ts";

export interface Turn {
  readonly text: string;
  readonly kind: SegmentKind;
  /** Empty: none. */
  readonly system: string;
}

/** A finding of the case, in bytes and under its final name. */
export interface CaseFinding extends Mark {
  readonly score: number;
  readonly detector: string;
  readonly recognizer: string;
  /** Empty where the detector has none. */
  readonly pattern: string;
}

export interface Seen {
  /** In order of their starts. */
  readonly findings: readonly CaseFinding[];
  readonly dropped: readonly (CaseFinding & { readonly by: Dropped["by"] })[];
}

export interface Raw {
  readonly inspected: Inspected;
  /** Names of detectors that failed. */
  readonly failed: readonly string[];
}

/** `detector`: the only one whose findings count, though it be a shadow; undefined: all that are not. */
export async function askDetectors(
  { ensemble }: Subject,
  { text, kind, system }: Turn,
  detector: string | undefined,
  signal: AbortSignal,
): Promise<Raw> {
  const own: Segment = { kind, text, ref: "", turn: 0, isReadOnly: kind === "header" || kind === "query" };
  const before: Segment = { kind: "system", text: system, ref: "", turn: 1, isReadOnly: false };
  const segments = system === "" ? [own] : [before, own];
  const found: Found = await ensemble.run(segments, { signal });
  const byDetector =
    detector === undefined
      ? found.byDetector
      : found.byDetector.flatMap((one) => (one.detector === detector ? [{ ...one, mode: "inline" as const }] : []));
  return { inspected: { segments, found: byDetector }, failed: found.failures.map((failure) => failure.detector) };
}

/** `scoreThreshold` stands for the configured one. What was found in the system turn is left out. */
export function seenIn({ policy }: Subject, { inspected }: Raw, names: Names, scoreThreshold?: number): Seen {
  const last = inspected.segments.length - 1;
  const text = inspected.segments[last]?.text ?? "";
  const { annotations, dropped } = policy.annotate(inspected, scoreThreshold);
  const kept = annotations.filter(({ segment }) => segment === last);
  const gone = dropped.filter(({ annotation }) => annotation.segment === last);
  const places = [...kept, ...gone.map(({ annotation }) => annotation)]
    .flatMap(({ start, end }) => [start, end])
    .sort((a, b) => a - b);
  const offsets = utf8Offsets(text, places);
  const bytes = new Map(places.map((place, at) => [place, offsets[at] ?? 0]));
  const findingOf = (one: Annotation): CaseFinding => ({
    start: bytes.get(one.start) ?? 0,
    end: bytes.get(one.end) ?? 0,
    type: names(one.label),
    score: one.score,
    detector: one.detector,
    recognizer: one.recognizer,
    pattern: one.trace?.pattern ?? "",
  });
  return {
    findings: kept.map(findingOf),
    dropped: gone.map(({ annotation, by }) => ({ ...findingOf(annotation), by })),
  };
}
