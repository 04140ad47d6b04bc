/**
 * Messages between the main thread and the raft worker. They share one port and keep their order: the rows that a write
 * changed arrive before its answer.
 */

import type { Mutation } from "../core/state/index.ts";
import type { ArchiveMeta } from "./snapshots/archive.ts";
import type { ClusterOptions, ClusterStatus, SnapshotArchiveInfo } from "./types.ts";

/** Failure in the form in which it crosses threads. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export type Ask =
  /** Encoded command, including client and sequence. */
  | {
      readonly kind: "write";
      readonly command: Uint8Array;
      readonly timeoutMs: number;
      readonly waitsForApply: boolean;
    }
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

/** Messages to the worker, which answers each ask once, under its id. */
export type ToWorker =
  | { readonly kind: "start"; readonly options: ClusterOptions }
  | { readonly kind: "ask"; readonly id: number; readonly ask: Ask }
  /** The caller no longer waits for the answer. */
  | { readonly kind: "forget"; readonly id: number }
  /** Reply to a `question`; `undefined` if there is none. */
  | { readonly kind: "reply"; readonly id: number; readonly body: Uint8Array | undefined }
  /** The view has taken in a slice of the whole state, and other work had time to run since. */
  | { readonly kind: "took" };

export type FromWorker =
  /** Storage and listeners are open, and the state on the disk is loaded. */
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
  /** The worker ends; nothing may be served from this disk any more. */
  | { readonly kind: "fault"; readonly name: string; readonly failure: Failure };

/** Answer to `save-snapshot`: a file that exists until the next snapshot is made. */
export interface SavedSnapshot {
  readonly info: SnapshotArchiveInfo;
  readonly path: string;
  /** Hex digest of the file. */
  readonly sha256: string;
  readonly meta: Omit<ArchiveMeta, "created_at">;
}
