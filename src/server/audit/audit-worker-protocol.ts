/** Messages between the main thread and the audit worker, over one port, in order. */

import type { MessagePort } from "node:worker_threads";
import type { AuditErrorCode } from "./audit-error.ts";
import type { AuditHead, AuditOptions } from "./types.ts";

/**
 * Options of the threads in this folder. They have few short-lived objects; with Node's default, three times as many would
 * accumulate before they are collected.
 */
export const THREAD_OPTIONS = { resourceLimits: { maxYoungGenerationSizeMb: 16 } };

export interface StartOptions extends Pick<AuditOptions, "nodeId" | "dir" | "fd" | "process"> {
  /** Newest head of this node that the cluster has witnessed. */
  readonly witnessed: AuditHead | undefined;
  readonly now: number;
}

/** Records in order, one per line, with newlines between them. */
export interface RecordLines {
  readonly text: string;
  readonly count: number;
  /** Indices of the records that are not about a single request. */
  readonly changeIndices: readonly number[];
}

export type ToWorker =
  | { readonly kind: "start"; readonly options: StartOptions }
  /**
   * Events as texts from `eventText`, and the time of each, in milliseconds since 1970. They form one group, unless it
   * is too large.
   */
  | { readonly kind: "append"; readonly texts: readonly string[]; readonly times: readonly number[] }
  /** Port that accepts `FedRecords` of another thread. */
  | { readonly kind: "feed"; readonly port: MessagePort }
  /**
   * Writes `chain.pause` and empties the queue. Records that the output has not taken after `timeoutMs` stay in the
   * journal.
   */
  | { readonly kind: "close"; readonly now: number; readonly timeoutMs: number };

export type FromWorker =
  | {
      readonly kind: "started";
      readonly kid: string;
      /** Predecessor named by the first record of a chain that the cluster has not witnessed yet; otherwise `undefined`. */
      readonly succeeds: AuditHead | null | undefined;
      /** Last records of the journal that an earlier process has emitted. */
      readonly recent: RecordLines;
      readonly warnings: readonly string[];
    }
  /** Number of events of the main thread on disk since the start. */
  | { readonly kind: "journaled"; readonly events: number; readonly seconds: number }
  /** Records that were emitted, in order. `events` and `units` (of their texts) are those that leave the queue. */
  | {
      readonly kind: "emitted";
      readonly records: RecordLines;
      readonly head: AuditHead;
      readonly events: number;
      readonly units: number;
      /** Error code if the output's reader has gone. */
      readonly goneCode: string | undefined;
    }
  | { readonly kind: "blocked"; readonly code: string }
  | { readonly kind: "closed"; readonly remaining: number }
  /** Failure that ended the trail: nothing is recorded after it. */
  | { readonly kind: "fault"; readonly code: AuditErrorCode; readonly message: string };
