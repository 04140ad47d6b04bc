/** Messages between the main thread and the audit worker, over one port, in order. */

import type { MessagePort } from "node:worker_threads";
import type { AuditErrorCode } from "./audit-error.ts";
import type { AuditHead, AuditOptions } from "./types.ts";

/** Options of the threads of this folder. They have few short-lived objects; the default lets three times as many accumulate. */
export const THREAD_OPTIONS = { resourceLimits: { maxYoungGenerationSizeMb: 16 } };

export interface StartOptions extends Pick<AuditOptions, "nodeId" | "dir" | "fd" | "process"> {
  /** The newest head of this node that the cluster has seen. */
  readonly witnessed: AuditHead | undefined;
  readonly now: number;
}

/** Records in order, a line each, with newlines between them. */
export interface RecordLines {
  readonly text: string;
  readonly count: number;
  /** Which of them, counted from 0, tell of something else than one request. */
  readonly changes: readonly number[];
}

export type ToWorker =
  | { readonly kind: "start"; readonly options: StartOptions }
  /** Events as `eventText` gives them, and when each was made, in milliseconds since the epoch. One group, if not too large. */
  | { readonly kind: "append"; readonly texts: readonly string[]; readonly times: readonly number[] }
  /** Takes `FedRecords` of another thread. */
  | { readonly kind: "feed"; readonly port: MessagePort }
  /** Writes `chain.pause` and empties the queue; what the output has not taken `limitMs` later stays in the journal. */
  | { readonly kind: "close"; readonly now: number; readonly limitMs: number };

export type FromWorker =
  | {
      readonly kind: "started";
      readonly kid: string;
      /** Predecessor named by the first record of a chain that the cluster has not seen yet; otherwise `undefined`. */
      readonly succeeds: AuditHead | null | undefined;
      /** The last records of the journal that were emitted by an earlier process. */
      readonly recent: RecordLines;
      readonly warnings: readonly string[];
    }
  /** Number of events of the main thread that are on disk, counted since the start. */
  | { readonly kind: "journaled"; readonly events: number; readonly seconds: number }
  /** Records are out, in order. `events` and `units` (of their texts) are those that leave the queue. */
  | {
      readonly kind: "emitted";
      readonly records: RecordLines;
      readonly head: AuditHead;
      readonly events: number;
      readonly units: number;
      /** Why the reader has gone. */
      readonly gone: string | undefined;
    }
  | { readonly kind: "blocked"; readonly code: string }
  | { readonly kind: "closed"; readonly left: number }
  /** The end: nothing is recorded any more. */
  | { readonly kind: "fault"; readonly code: AuditErrorCode; readonly message: string };
