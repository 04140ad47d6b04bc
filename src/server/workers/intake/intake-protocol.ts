/** Defines the messages between the node process, its intake thread and workers about audit records. */
import type { MessagePort } from "node:worker_threads";
import type { AuditEventName } from "../../../base/index.ts";

export interface IntakeOptions {
  /** Paths to listen on, in order of preference. The first that works is used. */
  readonly paths: readonly string[];
  /** Secret that a connection must send first. */
  readonly token: string;
  /** Number of workers that share the queue. */
  readonly workers: number;
  /** Memory of the audit queue. */
  readonly queue: SharedArrayBuffer;
  /** Port to the thread that writes the records. */
  readonly port: MessagePort;
}

/** Address to which a worker sends its records. */
export interface IntakeAddress {
  readonly path: string;
  readonly token: string;
}

/** Part of a record that the node's statistics use. */
export interface RecordSummary {
  readonly event: AuditEventName;
  readonly controls: readonly string[];
  readonly at: number;
}

export type FromIntake =
  | { readonly kind: "listening"; readonly path: string }
  | { readonly kind: "refused"; readonly problems: readonly string[] }
  | { readonly kind: "recorded"; readonly records: readonly RecordSummary[] }
  /** Everything that workers wrote has been passed on to the trail. */
  | { readonly kind: "closed" };

/** Record on its way from a worker. */
export type SentRecord = readonly [event: AuditEventName, text: string, at: number, controls: readonly string[]];
