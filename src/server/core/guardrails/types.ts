/**
 * Types shared by code that reads texts (data plane, inspector, `guardrails eval`), detectors, and the policy. Source: design
 * decisions, section 11.
 *
 * Texts are JavaScript strings and positions are UTF-16 units, end exclusive, since slicing and writing JSON need that.
 * Everything that leaves the process, or is compared with the configuration (lengths, limits, evaluation data), counts UTF-8
 * bytes; `utf8Length` and `utf8Offsets` convert.
 */
import type { QuestionTracer } from "../../../base/index.ts";

/** Segment kinds: first those that a rule may rewrite, then those that it may only read. */
export const WRITABLE_KINDS = ["system", "user", "assistant", "tool_args", "tool_result", "output"] as const;
export const SEGMENT_KINDS = [...WRITABLE_KINDS, "header", "query"] as const;

export type SegmentKind = (typeof SEGMENT_KINDS)[number];

/** Kinds of request segments that a detector without `apply_to` inspects. */
export const REQUEST_KINDS: readonly SegmentKind[] = ["system", "user", "assistant", "tool_args", "tool_result"];

/** Namespaces of annotations. */
export const CATEGORIES = ["pii", "secret", "injection", "topic", "safety", "custom"] as const;

export type Category = (typeof CATEGORIES)[number];

/** One decoded text of a message and its kind. */
export interface Segment {
  readonly kind: SegmentKind;
  readonly text: string;
  /** Name of the field: `header:<lower-case name>`, `query:<name>`, `name`, `uri`; empty within bodies. */
  readonly ref: string;
  /** Number of turns after this one: 0 is the newest turn. */
  readonly turn: number;
  /** True if it can be read and refused, but never rewritten, whatever its kind (`name`, `uri`, a header). */
  readonly isReadOnly: boolean;
}

/** Reason for a finding; never the matched text. Source: guardrails reference, 2.5. */
export interface Trace {
  /** Name of the pattern; `entry N` for a deny list, since an entry is matched text. */
  readonly pattern: string;
  readonly scoreBase: number;
  /** Result of the check; `undefined` if the value can be neither proven nor disproven. */
  readonly validated: boolean | undefined;
  /** Context word from the recognizer's table. */
  readonly contextWord: string | undefined;
  readonly scoreContext: number;
}

/** Finding of a detector in one text. */
export interface Finding {
  readonly start: number;
  readonly end: number;
  readonly category: Category;
  /** Entity type or verdict: `EMAIL_ADDRESS`, `INJECTION`. */
  readonly label: string;
  /** Score from 0 to 1, after context enhancement. */
  readonly score: number;
  /** Name of the recognizer; empty if the detector has no recognizers. */
  readonly recognizer: string;
  readonly trace: Trace | undefined;
}

/** Finding in its segment, as rules read it. */
export interface Annotation extends Finding {
  /** Index of the judged segment. */
  readonly segment: number;
  /** Name of the detector. */
  readonly detector: string;
  /** Score that was added by `agreement_boost`. */
  readonly agreement: number;
}

/** Text as passed to a detector. */
export interface DetectorInput {
  readonly segment: Segment;
  /**
   * Parts of the text to examine, ascending and disjoint (`role: confirm`); `undefined` for all of it. Each finding is within
   * one of them.
   */
  readonly windows: readonly Window[] | undefined;
}

export interface Window {
  readonly start: number;
  readonly end: number;
}

/**
 * Maximum findings in the texts of one message, without those that `score_threshold` drops. Judging that many takes some 100
 * milliseconds of a thread that all callers share.
 */
export const MAX_MESSAGE_FINDINGS = 20_000;

/** Maximum findings including dropped ones, since tables of numbers contain many weak candidates. */
export const MAX_RAW_FINDINGS = 200_000;

/** Result of a detector: findings of each text in the order of the texts, ascending by start. */
export type Detection = readonly (readonly Finding[])[];

/** Compiled detector of the ensemble. Its caller handles schedules, roles, thresholds, caches and rules. */
export interface Detector {
  readonly name: string;
  /** Type in the document: `pii`, `remote`, `nlp`, `llm`, `classify`, `embed`. */
  readonly type: string;
  /** Hex digest of everything that its findings in a text depend on. Source: guardrails reference, 6. */
  readonly fingerprint: string;
  /** Kinds of segments that it reads as context of the judged one, so that its verdict depends on them too. */
  readonly readsContext: readonly SegmentKind[];
  /**
   * Detects findings. Returns synchronously if it works on this thread, otherwise a promise. Rejects (or throws) with a
   * `DetectorError`, or with the signal's reason. `all` are the segments of the message, for `readsContext`. `tracer` traces
   * model calls as part of the request.
   */
  readonly detect: (
    texts: readonly DetectorInput[],
    all: readonly Segment[],
    signal: AbortSignal,
    tracer?: QuestionTracer,
  ) => Detection | Promise<Detection>;
  /**
   * Detects synchronously on this thread, whatever the length of the texts. Used for streams, which are scanned in short
   * stretches. Absent if the detector cannot do so.
   */
  readonly detectSync?: (texts: readonly DetectorInput[]) => Detection;
  /**
   * Maximum UTF-16 units of all texts with which `detectSync` may be called directly, without a timeout and a signal, which
   * would cost as much as scanning a short text. If absent, it is never called directly.
   */
  readonly maxSyncUnits?: number;
  /**
   * Returns matches of its patterns that its checks disprove, for rehearsals, whose users may expect a finding there. Takes time
   * linear in the text. Absent if it has no checks.
   */
  readonly disprovedMatches?: (text: string) => readonly Finding[];
  /** Reach of its findings in a stream; `undefined` if no text is proven clean before its end. */
  readonly horizon: Horizon | undefined;
}

/**
 * Bounds of what the patterns of a detector can match, for streams. Source: guardrails reference, 5.2. Patterns of one
 * alphabet form one reach.
 */
export interface Horizon {
  readonly reaches: readonly Reach[];
}

export interface Reach {
  /** Name of a recognizer or a group, for counting text that was released without proof. */
  readonly name: string;
  /** Maximum length of a match in UTF-8 bytes of the original text; infinity if unbounded. */
  readonly maxBytes: number;
  /** Number of bytes that must follow a match before it is certain. */
  readonly rightBytes: number;
  /** Returns whether a character may occur within a match. Surrogate pairs are passed as one code point. */
  readonly mayContain: (codePoint: number) => boolean;
  /** Returns true if a contained character does not count in `maxBytes` and `rightBytes`. If absent, all count. */
  readonly isIgnored?: (codePoint: number) => boolean;
  /** Lowercase text that every match begins with, in any letter case; empty if there is none. */
  readonly prefix: string;
}

/** Error of a detector that failed. The message contains no inspected text. */
export class DetectorError extends Error {
  /**
   * `overloaded`: its queue or pool is full. `excess`: more than `MAX_MESSAGE_FINDINGS` findings. Both refuse the request, whatever
   * `on_error` says.
   */
  readonly kind: "failed" | "timeout" | "overloaded" | "excess";

  constructor(kind: DetectorError["kind"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DetectorError";
    this.kind = kind;
  }
}

export const tooManyFindings = (): DetectorError =>
  new DetectorError("excess", `it finds more than ${MAX_MESSAGE_FINDINGS}`);
