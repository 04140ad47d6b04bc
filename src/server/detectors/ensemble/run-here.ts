/** Runs detectors on segments of a stream: synchronous ones are called directly, without the preparation of a request. */
import {
  type DetectionResult,
  type DetectorFindings,
  type Failure,
  type Finding,
  MAX_MESSAGE_FINDINGS,
  type Segment,
} from "../../core/guardrails/index.ts";
import { run, runSync } from "./run.ts";
import type { Scanning } from "./scan-texts.ts";
import type { Member, ReadStretch } from "./types.ts";

const NOTHING: readonly Finding[] = [];
const NO_FAILURES: readonly Failure[] = [];

interface SyncMember {
  readonly member: Member;
  readonly detect: NonNullable<Member["detector"]["detectSync"]>;
  /** Result for a text without findings, or one that the detector does not read. */
  readonly none: DetectorFindings;
}

/** Returns a function that scans stretches with the named members. It answers synchronously if all of them do. */
export function createStretchReader(
  members: readonly Member[],
  names: ReadonlySet<string>,
  scanning: Scanning,
): ReadStretch {
  const selected = members.filter(({ name }) => names.has(name));
  const direct = selected.flatMap((member): SyncMember[] => {
    const { detector, role, narrowsSpans, name, mode } = member;
    const { detectSync } = detector;
    if (detectSync === undefined || role !== "discover" || narrowsSpans) return [];
    const none = Object.freeze({ detector: name, mode, findings: Object.freeze([NOTHING]) });
    return [{ member, detect: (texts) => detectSync.call(detector, texts), none }];
  });
  if (direct.length < selected.length) {
    return (segment, signal, tracer) =>
      run(members, [segment], { names, signal, tracer, isStreamSegment: true }, scanning);
  }
  return (segment, signal, tracer) => {
    signal.throwIfAborted();
    const byDetector: DetectorFindings[] = [];
    let failures = NO_FAILURES;
    for (const one of direct) {
      const findings = detectStretch(one, segment, scanning);
      if (findings !== undefined) {
        byDetector.push(findings);
        continue;
      }
      const outcome = runSync(one.member, segment, scanning, { signal, tracer });
      if ("isFatal" in outcome) failures = [...failures, outcome];
      else byDetector.push(outcome.findings);
    }
    return { byDetector, failures } satisfies DetectionResult;
  };
}

/** Runs a detector. Returns `undefined` if it failed, or if its findings are too many to keep one by one. */
function detectStretch(
  { member, detect, none }: SyncMember,
  segment: Segment,
  { metrics, now }: Scanning,
): DetectorFindings | undefined {
  const { name, mode, kinds, threshold } = member;
  if (segment.text === "" || !kinds.has(segment.kind)) return none;
  const begun = now();
  let all: readonly Finding[] | undefined;
  try {
    const detection = detect([{ segment, windows: undefined }]);
    all = detection.length === 1 ? detection[0] : undefined;
  } catch {
    return undefined;
  }
  if (all === undefined || all.length > MAX_MESSAGE_FINDINGS) return undefined;
  metrics.observeDuration(name, (now() - begun) / 1_000);
  if (all.length === 0) return none;
  metrics.countFindings(name, all);
  const kept = threshold === 0 ? all : all.filter(({ score }) => score >= threshold);
  return { detector: name, mode, findings: [kept] };
}
