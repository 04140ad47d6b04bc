/** The ensemble: detectors with what the document says of when and how each is asked. */

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
  /** Findings that score less are left out. */
  readonly threshold: number;
  /** Findings that score less are dropped by policy, whatever other detectors find. */
  readonly floor: number;
  /** Longest work on one request, in milliseconds; undefined: as long as its client waits. */
  readonly timeoutMs: number | undefined;
  readonly failsClosed: boolean;
}

/** Said of a text as a whole, for rehearsals. */
export interface GivenFinding {
  readonly category: Category;
  readonly label: string;
  /** From 0 to 1. */
  readonly score: number;
}

export interface RunOptions {
  /** Names of those in force; undefined: all. */
  readonly names?: ReadonlySet<string> | undefined;
  /** As a function it is asked for only where a detector does not answer at once: to make one is dear. */
  readonly signal: AbortSignal | (() => AbortSignal);
  /** Milliseconds for which the client still waits; undefined: it does not say. */
  readonly timeLeftMs?: number | undefined;
  /**
   * Left out: every detector is asked now, whatever its schedule, as a rehearsal and an answer want it. `alone`: those of
   * `sync` and of `overlap`, since there is no call that could go on beside.
   */
  readonly schedule?: "sync" | "overlap" | "alone";
  /**
   * Of a stretch of a stream, which is read once and waits for no other thread: nothing is remembered of it, and detectors
   * that can answer at once do, however long it is.
   */
  readonly isHere?: boolean;
  /** By the name of a detector, what it finds in each text that it reads, in place of asking it. */
  readonly given?: ReadonlyMap<string, readonly GivenFinding[]> | undefined;
  /** Every `threshold` counts as 0: what is found at any score. */
  readonly isLowered?: boolean;
  /** What the detectors of `sync` found, for those of `overlap` that confirm. */
  readonly earlier?: Found;
  /** Of the request; undefined: nobody traces it. */
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
  /** In the order of the document. */
  readonly members: readonly Member[];
  /**
   * At once where every detector that is asked answers at once. A detector that fails is told of and does not throw;
   * rejects with the signal's reason alone. With `sync` and `alone`, detectors of `async` give what they remember.
   */
  readonly run: (segments: readonly Segment[], options: RunOptions) => Found | Promise<Found>;
  /** Reads stretches of a stream by detectors of these names, as `run` does with `isHere`. */
  readonly stretchReader: (names: ReadonlySet<string>) => ReadStretch;
  /** Detectors of `async` go through the segments, so that their findings are known at the next turn. Never throws. */
  readonly runLater: RunLater;
}

export interface EnsembleProblem {
  /** Begins at the document's root. */
  readonly path: Path;
  readonly message: string;
}
