/**
 * What guards the texts of one population, as those see it who have texts judged: hops, and the inspector. Made by the
 * snapshot of detectors and policy. Source: design decisions, section 11.
 */
import type { QuestionTracer } from "../../../base/index.ts";
import type { DetectorFindings, GuardrailPolicy, Inspection, Judgement, Occasion } from "./judgement.ts";
import type { ReachSet, StreamTerms } from "./streams/index.ts";
import type { DetectorError, Segment, SegmentKind } from "./types.ts";

export interface Failure {
  /** Name of the detector. */
  readonly detector: string;
  readonly kind: DetectorError["kind"];
  /** For operators; names no text. Empty where the detector itself is at fault. */
  readonly reason: string;
  /** The request is refused: `guardrail_error`, and `overloaded` where the kind says so. */
  readonly isFatal: boolean;
}

export interface Found {
  /** In the order of the document. A detector that failed is left out. */
  readonly byDetector: readonly DetectorFindings[];
  readonly failures: readonly Failure[];
}

export interface Guarded {
  readonly found: Found;
  /** Undefined: `failures` holds one that is fatal, and the message is refused for it. */
  readonly judgement: Judgement | undefined;
  readonly failures: readonly Failure[];
}

/** How answers are inspected. */
export interface AnswerTerms extends StreamTerms {
  readonly policy: "window" | "buffer";
  /** Longest answer that is inspected whole. */
  readonly maxBodyBytes: number;
  readonly onOversize: "allow" | "deny";
  /** Of the detectors in force that prove text clean before its end; each bears its detector's name. */
  readonly reaches: ReachSet;
  /** Some detector in force proves nothing before the end of a text. */
  readonly isOpenEnded: boolean;
}

export interface Guard {
  /** Kinds of segment that some detector in force reads. */
  readonly kinds: ReadonlySet<SegmentKind>;
  readonly inspectsRequest: boolean;
  /** Some detector in force reads bodies of requests, and not their headers or query alone. */
  readonly inspectsBody: boolean;
  readonly inspectsOutput: boolean;
  /** Some detector in force reads what servers and agents answer: output, or results of tools. */
  readonly inspectsAnswers: boolean;
  /**
   * At once where every detector answers at once. Rejects with the signal's reason alone; a function is asked for the signal
   * where somebody has to wait. `timeLeftMs`: for which the client still waits, where it says so.
   */
  readonly request: (
    segments: readonly Segment[],
    occasion: Occasion,
    signal: AbortSignal | (() => AbortSignal),
    timeLeftMs?: number,
  ) => Guarded | Promise<Guarded>;
  /** Undefined: no detector in force runs beside the call. */
  readonly beside: InspectBeside | undefined;
  /**
   * As `request`, of a message that has no answer which could wait, as in a session: detectors of `overlap` are waited for,
   * and those of `async` follow by themselves.
   */
  readonly message: Guard["request"];
  /** Detectors of `schedule: async` go through a request that was let through; nobody waits for them. Never throws. */
  readonly afterwards: (segments: readonly Segment[], earlier: Guarded, tracer?: QuestionTracer) => void;
  readonly answers: AnswerTerms;
  /**
   * In a stretch of an answer that is streamed. `bounded`: by the detectors of `answers.reaches`; `open`: by all, of whom
   * those count that are not `bounded`. `except`: names of detectors that are not asked any more.
   */
  readonly stretch: (
    segment: Segment,
    by: "bounded" | "open",
    signal: AbortSignal,
    except: ReadonlySet<string>,
    tracer?: QuestionTracer,
  ) => Found | Promise<Found>;
  /** Of a whole answer, or of what else is whole in it; `inspection` holds the findings before it. */
  readonly answer: (
    segments: readonly Segment[],
    inspection: Inspection,
    signal: AbortSignal,
    tracer?: QuestionTracer,
  ) => Guarded | Promise<Guarded>;
  /** Begins the inspection of one answer. */
  readonly open: GuardrailPolicy["open"];
}

/**
 * Asks the detectors of `schedule: overlap` and judges the request again by all that was found. `earlier`: what it was let
 * through by, of which nothing is told again. At once where every detector answers at once; else as `request`.
 */
export type InspectBeside = (
  segments: readonly Segment[],
  occasion: Occasion,
  earlier: Guarded,
  signal: AbortSignal,
) => Guarded | Promise<Guarded>;
