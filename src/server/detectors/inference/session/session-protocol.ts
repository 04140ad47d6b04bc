/** Messages between a session's thread and its caller. */

import type { TokenLabelsSpec } from "../reading/token-labels.ts";
import type { TopicsSpec } from "../reading/topics.ts";
import type { ModelFinding } from "../reading/types.ts";
import type { VerdictsSpec } from "../reading/verdicts.ts";

/** Maximum number of open detectors per thread. Above it, both sides drop the one that was opened first. */
export const MAX_READERS = 64;

/**
 * Specification of a session: a graph in memory or on a server. Package paths are in the form that `require` takes;
 * file paths are absolute.
 */
export interface SessionSpec {
  readonly graph: FileGraph | ServedGraph;
  readonly tokenizers: string;
  /** Identity, which changes with the files, or with the server's settings. */
  readonly identity: string;
}

interface FileGraph {
  readonly kind: "file";
  readonly path: string;
  /** Number of threads within one run. */
  readonly threads: number;
  readonly runtime: string;
}

/** Graph on a server of the v2 inference protocol. */
export interface ServedGraph {
  readonly kind: "served";
  readonly origin: string;
  /** Path of the server's metadata at the origin. `model`: path of the model's metadata. */
  readonly server: string;
  readonly model: string;
}

/** Specification of how one detector reads texts with the graph. */
export interface ReaderSpec {
  readonly tokenizer: string;
  readonly maxTokens: number;
  readonly stride: number;
  readonly stripsMarks: boolean;
  /** Text that is put before every window. */
  readonly prefix: string;
  readonly reading: TokenLabelsSpec | VerdictsSpec | TopicsSpec;
}

/** Problem of a session. `key`: key of the detector's object in the configuration. */
export interface SessionProblem {
  readonly key: "model" | "tokenizer" | "labels" | "stride" | "max_tokens" | "library" | "tokenizer_library";
  readonly message: string;
}

export type ToSession =
  | { readonly kind: "open"; readonly id: number; readonly reader: string; readonly spec: ReaderSpec }
  | { readonly kind: "read"; readonly id: number; readonly reader: string; readonly texts: readonly string[] }
  /** Cancels the question with this id. */
  | { readonly kind: "cancel"; readonly id: number }
  /** Result of a call to the server. */
  | { readonly kind: "answered"; readonly call: number; readonly answer: ServerAnswer }
  | { readonly kind: "unanswered"; readonly call: number; readonly failure: Failure }
  /** Ends the session: the thread ends as soon as the graph is not running. */
  | { readonly kind: "end" };

export type Question = Extract<ToSession, { readonly kind: "open" | "read" }>;

/** Failure whose message contains no text and no output of a server. */
export interface Failure {
  readonly kind: "failed" | "timeout" | "overloaded";
  readonly message: string;
}

/** Call that the process makes for the thread, since the process has the connections. */
export interface ServerAsk {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Names and values, alternating, in addition to the configured ones. */
  readonly headers: readonly string[];
  readonly body: Uint8Array<ArrayBuffer> | null;
  /** Maximum size of the answer, in bytes. */
  readonly maxBytes: number;
}

export interface ServerAnswer {
  readonly status: number;
  /** Value of `Inference-Header-Content-Length`, if the answer has exactly one. */
  readonly headerLength: string | undefined;
  /** Body; empty unless the answer is a success. */
  readonly body: Uint8Array<ArrayBuffer>;
}

export type FromSession = SessionReply | CallMessage;

export type CallMessage =
  | { readonly kind: "call"; readonly call: number; readonly ask: ServerAsk }
  /** Cancels a call. */
  | { readonly kind: "hang-up"; readonly call: number };

export type SessionReply =
  /** First message, with id 0: the graph was loaded, or why it was not. */
  | { readonly kind: "opened"; readonly id: number; readonly problem: SessionProblem | undefined }
  | { readonly kind: "found"; readonly id: number; readonly found: readonly (readonly ModelFinding[])[] }
  | { readonly kind: "failed"; readonly id: number; readonly failure: Failure };

/** Interface of a thread, or of a process that replaces it. */
export interface SessionWorker {
  /** Process id, if it is a process. */
  readonly pid?: number | undefined;
  on(event: "message", listener: (message: FromSession) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "exit", listener: () => void): unknown;
  postMessage(message: ToSession, transfer?: readonly ArrayBuffer[]): void;
  ref(): void;
  unref(): void;
}
