/** Types of evaluation data. Source: specification document 1, "Guardrail evaluation data". */

import type { SegmentKind } from "../../server/core/guardrails/index.ts";

/** Marked span of a text, in bytes of its UTF-8; the end is exclusive. */
export interface Mark {
  readonly start: number;
  readonly end: number;
  readonly type: string;
}

export interface EvalCase {
  /** Path as the operator wrote it. */
  readonly file: string;
  /** Line number from 1; for a sentence, its first line. */
  readonly line: number;
  readonly text: string;
  /** Marked spans; `undefined` if spans are not marked, empty if there is nothing to find. */
  readonly spans: readonly Mark[] | undefined;
  /** Marked labels; `undefined` if labels are not marked, empty if the text is clean. */
  readonly labels: readonly string[] | undefined;
  readonly tags: readonly string[];
  readonly kind: SegmentKind | undefined;
  /** Text of the system turn before the case; empty if there is none. */
  readonly system: string;
}

/** Invalid data. The message begins with the file and the line. */
export class DataError extends Error {
  override readonly name = "DataError";

  constructor(file: string, line: number, message: string) {
    super(`${file}:${line}: ${message}`);
  }
}
