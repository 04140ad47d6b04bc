/**
 * Messages between the main thread and the raft worker. They share one port and keep their order: the rows that a write
 * changed arrive before its answer.
 */

import type { Mutation } from "../core/state/index.ts";
import type { ArchiveMeta } from "./snapshots/archive.ts";
import type { ClusterOptions, ClusterStatus, SnapshotArchiveInfo } from "./types.ts";

/** A failure as it crosses the threads. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export type Ask =
  /** An encoded command, client and sequence included. */
  | { readonly kind: "write"; readonly command: Uint8Array; readonly timeoutMs: number }
  | { readonly kind: "read-barrier"; readonly timeoutMs: number }
  | { readonly kind: "prune"; readonly keep: readonly string[]; readonly timeoutMs: number }
  | { readonly kind: "remove"; readonly id: string; readonly timeoutMs: number }
  | { readonly kind: "transfer"; readonly to: string | undefined; readonly timeoutMs: number }
  | { readonly kind: "ask-member"; readonly id: string; readonly question: unknown; readonly timeoutMs: number }
  | { readonly kind: "save-snapshot"; readonly isStaleAllowed: boolean }
  | { readonly kind: "hand-over" }
  /** Shows that the thread is alive. */
  | { readonly kind: "ping" }
  | { readonly kind: "close" };

/** `worker` answers each ask once, under its id. */
export type ToWorker =
  | { readonly kind: "start"; readonly options: ClusterOptions }
  | { readonly kind: "ask"; readonly id: number; readonly ask: Ask }
  /** Nobody waits for the answer any longer. */
  | { readonly kind: "forget"; readonly id: number }
  /** To a `question`; undefined: there is no answer. */
  | { readonly kind: "reply"; readonly id: number; readonly body: Uint8Array | undefined }
  /** A slice of the whole state is in the view, and there was time for other work since. */
  | { readonly kind: "took" };

export type FromWorker =
  /** The node has its storage and its listeners, and knows its state as far as it is on its disk. */
  | { readonly kind: "started"; readonly clusterId: string | undefined; readonly warnings: readonly string[] }
  /** `now`: time of the log at `index`. */
  | {
      readonly kind: "applied";
      readonly index: number;
      readonly now: number;
      readonly mutations: readonly Mutation[];
    }
  /** Replacement of the whole state, in slices. */
  | { readonly kind: "replace-begin" }
  | { readonly kind: "replace-rows"; readonly rows: readonly (readonly [key: string, value: string])[] }
  | { readonly kind: "replace-end"; readonly index: number; readonly now: number }
  | { readonly kind: "status"; readonly status: ClusterStatus }
  /** Question of another member; a `reply` with the same id is expected. */
  | { readonly kind: "question"; readonly id: number; readonly question: unknown }
  | { readonly kind: "answer"; readonly id: number; readonly value: unknown }
  | { readonly kind: "failure"; readonly id: number; readonly failure: Failure }
  | {
      readonly kind: "log";
      readonly level: "debug" | "info" | "warn" | "error";
      readonly message: string;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  /** Seconds of each durable write of the log. */
  | { readonly kind: "timing"; readonly fsyncSeconds: readonly number[] }
  /** The end: nothing may be served from this disk any more. */
  | { readonly kind: "fault"; readonly name: string; readonly failure: Failure };

/** Answer to `save-snapshot`: a file that is not removed before the next snapshot is made. */
export interface SavedSnapshot {
  readonly info: SnapshotArchiveInfo;
  readonly path: string;
  /** Hex, of the file. */
  readonly sha256: string;
  readonly meta: Omit<ArchiveMeta, "created_at">;
}
