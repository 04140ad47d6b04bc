/**
 * Guard of the texts of one population, used by the data plane and the inspector. The snapshot builds it from detectors and
 * policy. Source: design decisions, section 11.
 */
import type { QuestionTracer } from "../../../base/index.ts";
import type { DetectorFindings, GuardrailPolicy, Inspection, InspectionContext, Judgement } from "./judgement.ts";
import type { ReachSet, StreamTerms } from "./streams/index.ts";
import type { DetectorError, Segment, SegmentKind } from "./types.ts";

export interface Failure {
  /** Name of the detector. */
  readonly detector: string;
  readonly kind: DetectorError["kind"];
  /** Reason for operators, without any inspected text. Empty if it is not known. */
  readonly reason: string;
  /** True if the request is refused: with `overloaded` if that is the `kind`, otherwise with `guardrail_error`. */
  readonly isFatal: boolean;
}

export interface DetectionResult {
  /** Findings in document order, without detectors that failed. */
  readonly byDetector: readonly DetectorFindings[];
  readonly failures: readonly Failure[];
}

export interface GuardResult {
  readonly found: DetectionResult;
  /** Judgement; `undefined` if a failure is fatal, so that the message is refused. */
  readonly judgement: Judgement | undefined;
  readonly failures: readonly Failure[];
}

/** Settings for the inspection of answers. */
export interface AnswerTerms extends StreamTerms {
  readonly policy: "window" | "buffer";
  /** Maximum size of an answer that is inspected completely. */
  readonly maxBodyBytes: number;
  readonly onOversize: "allow" | "deny";
  /** Reaches of the active detectors that can prove text clean before its end, with their names. */
  readonly reaches: ReachSet;
  /** True if an active detector proves nothing before the end of a text. */
  readonly isOpenEnded: boolean;
}

export interface Guard {
  /** Kinds of segment that active detectors read. */
  readonly kinds: ReadonlySet<SegmentKind>;
  readonly readsRequests: boolean;
  /** True if an active detector reads request bodies, and not only headers or query. */
  readonly readsBodies: boolean;
  readonly readsOutput: boolean;
  /** True if an active detector reads answers of servers and agents: output, or results of tools. */
  readonly readsAnswers: boolean;
  /**
   * Inspects a request. Returns synchronously if every detector does. Rejects only with the signal's reason. The signal is
   * created by calling the function, if there is something to wait for. `timeLeftMs` is the time that the client still waits, if
   * known.
   */
  readonly request: (
    segments: readonly Segment[],
    occasion: InspectionContext,
    signal: AbortSignal | (() => AbortSignal),
    timeLeftMs?: number,
  ) => GuardResult | Promise<GuardResult>;
  /** Inspects with the detectors that run during the upstream call; `undefined` if there are none. */
  readonly inspectOverlap: InspectOverlap | undefined;
  /**
   * Inspects a message without an answer that could be held back, as in a session. Like `inspectRequest`, but it waits for `overlap`
   * detectors; `async` ones run independently.
   */
  readonly inspectMessage: Guard["request"];
  /** Runs detectors with `schedule: async` on a request that was let through, without delaying it. Never throws. */
  readonly inspectAsync: (segments: readonly Segment[], earlier: GuardResult, tracer?: QuestionTracer) => void;
  readonly answers: AnswerTerms;
  /**
   * Inspects a stretch of a streamed answer. `bounded` runs the detectors of `answers.reaches`; `open` runs all, but counts only
   * those that are not `bounded`. `except` are detectors that are no longer run.
   */
  readonly scanStretch: (
    segment: Segment,
    by: "bounded" | "open",
    signal: AbortSignal,
    except: ReadonlySet<string>,
    tracer?: QuestionTracer,
  ) => DetectionResult | Promise<DetectionResult>;
  /** Inspects a whole answer, or complete parts of one. `inspection` contains the earlier findings. */
  readonly inspectAnswer: (
    segments: readonly Segment[],
    inspection: Inspection,
    signal: AbortSignal,
    tracer?: QuestionTracer,
  ) => GuardResult | Promise<GuardResult>;
  /** Evaluates rules on recorded findings, for rehearsals. */
  readonly weigh: GuardrailPolicy["weigh"];
  /** Begins the inspection of one answer. */
  readonly open: GuardrailPolicy["open"];
}

/**
 * Runs `schedule: overlap` detectors, and judges the request again with all findings. `earlier` is the judgement that let it
 * through, which is not reported again. Returns synchronously if every detector does; otherwise like `inspectRequest`.
 */
export type InspectOverlap = (
  segments: readonly Segment[],
  occasion: InspectionContext,
  earlier: GuardResult,
  signal: AbortSignal,
) => GuardResult | Promise<GuardResult>;
