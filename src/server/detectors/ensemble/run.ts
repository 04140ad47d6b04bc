/** Runs detectors on the segments of a message: first those that discover, then those that confirm. */
import {
  type DetectionResult,
  DetectorError,
  type DetectorFindings,
  type Failure,
  type Finding,
  MAX_MESSAGE_FINDINGS,
  MAX_RAW_FINDINGS,
  type Segment,
  tooManyFindings,
  type Window,
} from "../../core/guardrails/index.ts";
import { ClientTimeout, type DetectorTimeout, startTimeout } from "./limit.ts";
import { cachedDetection, type IndexedText, type Scanning, type ScanRequest, scan } from "./scan-texts.ts";
import { withStubDetector } from "./stub-detector.ts";
import { narrowed, windowsAround } from "./text-windows.ts";
import type { Member, RunOptions, Schedule, StubFinding } from "./types.ts";

type Outcome = { readonly member: Member; readonly findings: DetectorFindings } | Failure;

const NOTHING: readonly Finding[] = [];

/** Failure for unexpected errors, without their message, which may contain parts of the text. */
const UNEXPECTED = { kind: "failed", message: "" } as const;

const isFailure = (outcome: Outcome): outcome is Failure => "isFatal" in outcome;

/** Runs the members on the segments. Detectors that confirm run last, on windows around the findings of the others. */
export function run(
  members: readonly Member[],
  segments: readonly Segment[],
  {
    signal,
    timeLeftMs,
    names,
    schedule,
    ignoresThresholds,
    stubFindings,
    earlier,
    tracer,
    isStreamSegment = false,
  }: RunOptions,
  remembering: Scanning,
): DetectionResult | Promise<DetectionResult> {
  const getSignal = typeof signal === "function" ? signal : () => signal;
  if (typeof signal !== "function") signal.throwIfAborted();
  // Stub findings must not be cached as findings of the text.
  const scanning = isStreamSegment || stubFindings !== undefined ? { ...remembering, entries: 0 } : remembering;
  const stubbed =
    stubFindings === undefined
      ? members
      : members.map((member) => replaceByStub(member, stubFindings.get(member.name)));
  const effectiveMembers =
    ignoresThresholds === true ? stubbed.map((member): Member => ({ ...member, threshold: 0 })) : stubbed;
  const selected = effectiveMembers.filter(({ name }) => names === undefined || names.has(name));
  const now = selected.filter((member) => schedule === undefined || runsIn(member.schedule, schedule));
  const runRole = (role: Member["role"], found: readonly DetectorFindings[]) =>
    now
      .filter((member) => member.role === role)
      .map((member) => {
        const texts = textsFor(member, segments, role === "confirm" ? found : undefined);
        const isRemembered = schedule !== undefined && member.schedule === "async";
        return runWithTimeout(member, segments, texts, scanning, {
          signal: getSignal,
          timeLeftMs,
          tracer,
          isStreamSegment,
          isRemembered,
        });
      });
  const before = earlier?.byDetector ?? [];
  return after(all(runRole("discover", before)), (discovered) => {
    const found = [...before, ...findingsOf(discovered)];
    return after(all(runRole("confirm", found)), (confirmed) =>
      mergeOutcomes(selected, [...discovered, ...confirmed], earlier),
    );
  });
}

const replaceByStub = (member: Member, findings: readonly StubFinding[] | undefined): Member =>
  findings === undefined ? member : withStubDetector(member, findings);

const runsIn = (own: Schedule, schedule: NonNullable<RunOptions["schedule"]>): boolean =>
  own === "overlap" ? schedule !== "sync" : schedule !== "overlap";

const findingsOf = (outcomes: readonly Outcome[]): readonly DetectorFindings[] =>
  outcomes.flatMap((outcome) => (isFailure(outcome) ? [] : [outcome.findings]));

/** Returns texts of the kinds that a detector reads; for a confirming one, only around other detectors' findings. */
function textsFor(
  { kinds, confirmWindow, name }: Member,
  segments: readonly Segment[],
  found: readonly DetectorFindings[] | undefined,
): readonly IndexedText[] {
  const texts: IndexedText[] = [];
  segments.forEach((segment, at) => {
    if (!kinds.has(segment.kind) || segment.text === "") return;
    let windows: readonly Window[] | undefined;
    if (found !== undefined) {
      // Shadow findings do not influence where other detectors look.
      const others = found.filter(({ mode, detector }) => mode === "inline" && detector !== name);
      windows = windowsAround(
        segment.text,
        others.flatMap(({ findings }) => findings[at] ?? NOTHING),
        confirmWindow,
      );
      if (windows.length === 0) return;
    }
    texts.push({ segmentIndex: at, scanned: { segment, windows } });
  });
  return texts;
}

/** Throws a `DetectorError` if there are more findings than the policy accepts. */
function outcomeOf(
  member: Member,
  segments: readonly Segment[],
  texts: readonly IndexedText[],
  detection: readonly (readonly Finding[])[],
): Outcome {
  const findings = segments.map(() => NOTHING);
  let raw = 0;
  let count = 0;
  texts.forEach(({ segmentIndex: at }, i) => {
    const all = detection[i] ?? NOTHING;
    const kept = member.threshold === 0 ? all : all.filter(({ score }) => score >= member.threshold);
    findings[at] = kept;
    raw += kept.length;
    for (const { score } of kept) if (score >= member.floor) count += 1;
  });
  if (count > MAX_MESSAGE_FINDINGS || raw > MAX_RAW_FINDINGS) throw tooManyFindings();
  return { member, findings: { detector: member.name, mode: member.mode, findings } };
}

interface TimedScan extends ScanRequest {
  readonly timeLeftMs: number | undefined;
  /** True to use only remembered findings and scan nothing. */
  readonly isRemembered: boolean;
}

/** Runs one synchronous detector on a segment of a stream. */
export function runSync(
  member: Member,
  segment: Segment,
  scanning: Scanning,
  { signal, tracer }: Pick<ScanRequest, "tracer"> & { readonly signal: AbortSignal },
): Outcome {
  const segments = [segment];
  const asked = { signal: () => signal, timeLeftMs: undefined, tracer, isStreamSegment: true, isRemembered: false };
  const texts = textsFor(member, segments, undefined);
  const outcome = runWithTimeout(member, segments, texts, { ...scanning, entries: 0 }, asked);
  if (outcome instanceof Promise) throw new Error("the detector always answers at once");
  return outcome;
}

/**
 * Runs a detector with its timeout. A failure is returned as an outcome; rejects only with the reason of the request's
 * own signal.
 */
function runWithTimeout(
  member: Member,
  segments: readonly Segment[],
  texts: readonly IndexedText[],
  scanning: Scanning,
  { signal, timeLeftMs, tracer, isStreamSegment, isRemembered }: TimedScan,
): Outcome | Promise<Outcome> {
  if (texts.length === 0) return outcomeOf(member, segments, texts, []);
  let limit: DetectorTimeout | undefined;
  const timeoutSignal = (): AbortSignal => {
    limit ??= startTimeout(member, timeLeftMs, signal());
    return limit.signal;
  };
  const failed = (error: unknown): Failure => {
    signal().throwIfAborted();
    scanning.metrics.countFailure(member.name);
    const { kind, message: reason } = error instanceof DetectorError ? error : UNEXPECTED;
    const isAlways = kind === "overloaded" || kind === "excess" || error instanceof ClientTimeout;
    const isFatal = member.mode === "inline" && (isAlways || member.failsClosed);
    return { detector: member.name, kind, reason, isFatal };
  };
  try {
    const detection = isRemembered
      ? cachedDetection(member, texts, segments, scanning)
      : scan(member, texts, segments, scanning, { signal: timeoutSignal, tracer, isStreamSegment });
    if (!(detection instanceof Promise)) {
      limit?.close();
      return outcomeOf(member, segments, texts, detection);
    }
    return Promise.race([detection, aborted(timeoutSignal())])
      .then((found) => outcomeOf(member, segments, texts, found))
      .catch(failed)
      .finally(() => limit?.close());
  } catch (error) {
    limit?.close();
    return failed(error);
  }
}

/** Returns a promise that rejects on abort, so that a detector that ignores its signal does not delay the request. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });

function mergeOutcomes(
  inForce: readonly Member[],
  outcomes: readonly Outcome[],
  earlier: DetectionResult | undefined,
): DetectionResult {
  const found = new Map((earlier?.byDetector ?? []).map((one) => [one.detector, one]));
  for (const one of findingsOf(outcomes)) found.set(one.detector, one);
  for (const outcome of outcomes) {
    if (isFailure(outcome) || !outcome.member.narrowsSpans || outcome.member.mode === "shadow") continue;
    for (const { name, role, mode } of inForce) {
      const one = found.get(name);
      if (one === undefined || role === "confirm" || mode === "shadow") continue;
      const findings = one.findings.map((all, at) => narrowed(all, outcome.findings.findings[at] ?? NOTHING));
      found.set(name, { ...one, findings });
    }
  }
  return {
    byDetector: inForce.flatMap(({ name }) => found.get(name) ?? []),
    failures: [...(earlier?.failures ?? []), ...outcomes.filter(isFailure)],
  };
}

const all = (outcomes: readonly (Outcome | Promise<Outcome>)[]): readonly Outcome[] | Promise<readonly Outcome[]> =>
  outcomes.some((one) => one instanceof Promise) ? Promise.all(outcomes) : (outcomes as readonly Outcome[]);

const after = <Value, Made>(value: Value | Promise<Value>, make: (value: Value) => Made | Promise<Made>) =>
  value instanceof Promise ? value.then(make) : make(value);
