/** The ensemble: detectors with the document's settings of when and how each runs. */

import type { QuestionTracer } from "../../../base/index.ts";
import type { Path } from "../../core/config/index.ts";
import type { Category, Detector, Found, Segment, SegmentKind } from "../../core/guardrails/index.ts";

export type Schedule = "sync" | "overlap" | "async";

export interface Member {
  readonly detector: Detector;
  readonly name: string;
  readonly mode: "inline" | "shadow";
  readonly schedule: Schedule;
  readonly role: "discover" | "confirm";
  /** `apply_to`, with its default. */
  readonly kinds: ReadonlySet<SegmentKind>;
  /** Bytes on either side of a finding that a `confirm` detector sees. */
  readonly confirmWindow: number;
  readonly narrowsSpans: boolean;
  /** Lower scores are omitted. */
  readonly threshold: number;
  /** Lower scores are dropped by policy, whatever other detectors find. */
  readonly floor: number;
  /** Maximum time for one request, in milliseconds; `undefined` for as long as its client waits. */
  readonly timeoutMs: number | undefined;
  readonly failsClosed: boolean;
}

/** Finding that a rehearsal sets for a text as a whole. */
export interface StubFinding {
  readonly category: Category;
  readonly label: string;
  /** Between 0 and 1. */
  readonly score: number;
}

export interface RunOptions {
  /** Names of the detectors in force; `undefined` for all. */
  readonly names?: ReadonlySet<string> | undefined;
  /** A function is called only if a detector does not answer synchronously: creating a signal is expensive. */
  readonly signal: AbortSignal | (() => AbortSignal);
  /** Milliseconds for which the client still waits; `undefined` if it does not state them. */
  readonly timeLeftMs?: number | undefined;
  /**
   * Omitted to run every detector now, whatever its schedule, as rehearsals and answers need. `alone` runs those of `sync` and
   * of `overlap`, since there is no call to overlap with.
   */
  readonly schedule?: "sync" | "overlap" | "alone";
  /**
   * True for a segment of a stream, which is scanned once and waits for no other thread: nothing is remembered, and detectors
   * that can answer synchronously do, however long it is.
   */
  readonly isHere?: boolean;
  /** Findings by detector name, used for each text that it reads instead of running it. */
  readonly given?: ReadonlyMap<string, readonly StubFinding[]> | undefined;
  /** Treats every `threshold` as 0: reports findings of any score. */
  readonly isLowered?: boolean;
  /** Findings of the `sync` detectors, for the `overlap` detectors that confirm. */
  readonly earlier?: Found;
  /** Tracer of the request; `undefined` if it is not traced. */
  readonly tracer?: QuestionTracer | undefined;
}

export type RunLater = (
  segments: readonly Segment[],
  found: Found,
  names: ReadonlySet<string> | undefined,
  tracer?: QuestionTracer,
) => void;

export type ReadStretch = (
  segment: Segment,
  signal: AbortSignal,
  tracer: QuestionTracer | undefined,
) => Found | Promise<Found>;

export interface Ensemble {
  /** Detectors in the order of the document. */
  readonly members: readonly Member[];
  /**
   * Runs the detectors; synchronously if all of them can. A detector that fails is reported and does not throw; rejects only
   * with the signal's reason. With `sync` and `alone`, detectors of `async` return what they remember.
   */
  readonly run: (segments: readonly Segment[], options: RunOptions) => Found | Promise<Found>;
  /** Reads stretches of a stream by detectors of these names, as `run` does with `isHere`. */
  readonly stretchReader: (names: ReadonlySet<string>) => ReadStretch;
  /** Runs the `async` detectors on the segments, so that their findings are known at the next turn. Never throws. */
  readonly runLater: RunLater;
}

export interface EnsembleProblem {
  /** Path from the document's root. */
  readonly path: Path;
  readonly message: string;
}
