/** What passes between a session's thread and who asks it. */

import type { TokenLabelsSpec } from "../reading/token-labels.ts";
import type { TopicsSpec } from "../reading/topics.ts";
import type { Read } from "../reading/types.ts";
import type { VerdictsSpec } from "../reading/verdicts.ts";

/** Detectors that are open in one thread. Of more, both sides forget the one that was opened first. */
export const MOST_READERS = 64;

/** One graph in memory. Paths are absolute. */
export interface SessionSpec {
  readonly graph: string;
  /** Within one run. */
  readonly threads: number;
  /** Where the packages are, as `require` takes it. */
  readonly runtime: string;
  readonly tokenizers: string;
  /** Changes when the files do. */
  readonly identity: string;
}

/** How one detector reads texts with it. */
export interface ReaderSpec {
  readonly tokenizer: string;
  readonly maxTokens: number;
  readonly stride: number;
  readonly stripsMarks: boolean;
  /** In front of every window. */
  readonly prefix: string;
  readonly reading: TokenLabelsSpec | VerdictsSpec | TopicsSpec;
}

/** `key`: of the detector's object in the configuration. */
export interface SessionProblem {
  readonly key: "model" | "tokenizer" | "labels" | "stride" | "max_tokens" | "library" | "tokenizer_library";
  readonly message: string;
}

export type ToSession =
  | { readonly kind: "open"; readonly id: number; readonly reader: string; readonly spec: ReaderSpec }
  | { readonly kind: "read"; readonly id: number; readonly reader: string; readonly texts: readonly string[] }
  /** The one with this id is no longer wanted. */
  | { readonly kind: "cancel"; readonly id: number }
  /** Nothing is wanted any more: the thread ends by itself, as soon as the graph is not running. */
  | { readonly kind: "end" };

export type Question = Exclude<ToSession, { readonly kind: "cancel" | "end" }>;

export type FromSession =
  /** The first, of id 0: the graph is loaded, or why it is not. */
  | { readonly kind: "opened"; readonly id: number; readonly problem: SessionProblem | undefined }
  | { readonly kind: "found"; readonly id: number; readonly found: readonly (readonly Read[])[] }
  | { readonly kind: "failed"; readonly id: number; readonly message: string };
