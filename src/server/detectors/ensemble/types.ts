/** Types of the ensemble: the detectors of a document with their settings. */

import type { QuestionTracer } from "../../../base/index.ts";
import type { Path } from "../../core/config/index.ts";
import type { Category, DetectionResult, Detector, Segment, SegmentKind } from "../../core/guardrails/index.ts";

export type Schedule = "sync" | "overlap" | "async";

export interface Member {
  readonly detector: Detector;
  readonly name: string;
  readonly mode: "inline" | "shadow";
  readonly schedule: Schedule;
  readonly role: "discover" | "confirm";
  /** Kinds of segments to read (`apply_to`, with its default). */
  readonly kinds: ReadonlySet<SegmentKind>;
  /** Number of bytes on either side of a finding that a `confirm` detector reads. */
  readonly confirmWindow: number;
  readonly narrowsSpans: boolean;
  /** Minimum score; lower ones are omitted. */
  readonly threshold: number;
  /** Minimum score of the policy; lower ones are dropped whatever other detectors find. */
  readonly floor: number;
  /** Timeout for one request, in milliseconds; `undefined` for as long as its client waits. */
  readonly timeoutMs: number | undefined;
  readonly failsClosed: boolean;
}

/** Finding that a rehearsal sets for a whole text. */
export interface StubFinding {
  readonly category: Category;
  readonly label: string;
  /** Score between 0 and 1. */
  readonly score: number;
}

export interface RunOptions {
  /** Names of the detectors to run; `undefined` for all. */
  readonly names?: ReadonlySet<string> | undefined;
  /**
   * Signal of the request. A function is called only if a detector is not synchronous, since creating a signal is
   * expensive.
   */
  readonly signal: AbortSignal | (() => AbortSignal);
  /** Milliseconds for which the client still waits; `undefined` if it does not state them. */
  readonly timeLeftMs?: number | undefined;
  /**
   * Schedule to run. If omitted, every detector runs now, as rehearsals and answers need. `alone` runs those of `sync`
   * and of `overlap`, since there is no call to overlap with.
   */
  readonly schedule?: "sync" | "overlap" | "alone";
  /**
   * True for a segment of a stream, which is scanned once and does not wait for another thread: nothing is remembered,
   * and detectors that can be synchronous are, however long the text is.
   */
  readonly isStreamSegment?: boolean;
  /** Findings by detector name, which replace the scans of that detector for each text. */
  readonly stubFindings?: ReadonlyMap<string, readonly StubFinding[]> | undefined;
  /** Treats every `threshold` as 0: reports findings of any score. */
  readonly ignoresThresholds?: boolean;
  /** Findings of the `sync` detectors, for the `overlap` detectors that confirm. */
  readonly earlier?: DetectionResult;
  /** Tracer of the request; `undefined` if it is not traced. */
  readonly tracer?: QuestionTracer | undefined;
}

export type RunLater = (
  segments: readonly Segment[],
  found: DetectionResult,
  names: ReadonlySet<string> | undefined,
  tracer?: QuestionTracer,
) => void;

export type ReadStretch = (
  segment: Segment,
  signal: AbortSignal,
  tracer: QuestionTracer | undefined,
) => DetectionResult | Promise<DetectionResult>;

export interface Ensemble {
  /** Detectors in the order of the document. */
  readonly members: readonly Member[];
  /**
   * Runs the detectors, synchronously if all of them can. The failure of a detector is reported and not thrown; rejects
   * only with the signal's reason. With `sync` and `alone`, `async` detectors return what they remember.
   */
  readonly run: (segments: readonly Segment[], options: RunOptions) => DetectionResult | Promise<DetectionResult>;
  /** Returns a function that scans stretches of a stream with the named detectors, like `run` with `isStreamSegment`. */
  readonly stretchReader: (names: ReadonlySet<string>) => ReadStretch;
  /** Runs the `async` detectors on the segments, so that their findings are available for the next turn. Never throws. */
  readonly runLater: RunLater;
}

export interface EnsembleProblem {
  /** Path from the root of the document. */
  readonly path: Path;
  readonly message: string;
}
