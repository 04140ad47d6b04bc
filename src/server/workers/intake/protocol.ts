/** What the node process, its intake thread and workers say to each other about audit records. */
import type { MessagePort } from "node:worker_threads";
import type { AuditEventName } from "../../audit/index.ts";

export interface IntakeOptions {
  /** Paths to listen on, in order of preference: the first that works is used. */
  readonly paths: readonly string[];
  /** A connection says it first. */
  readonly token: string;
  /** Workers that share the queue. */
  readonly workers: number;
  /** Of the audit queue. */
  readonly queue: SharedArrayBuffer;
  /** Takes the records. */
  readonly port: MessagePort;
}

/** Where a worker hands its records over. */
export interface IntakeAddress {
  readonly path: string;
  readonly token: string;
}

/** What a record says to the statistics of the node. */
export interface Recorded {
  readonly event: AuditEventName;
  readonly controls: readonly string[];
  readonly at: number;
}

export type FromIntake =
  | { readonly kind: "listening"; readonly path: string }
  | { readonly kind: "refused"; readonly problems: readonly string[] }
  | { readonly kind: "recorded"; readonly records: readonly Recorded[] }
  /** All that workers wrote has been handed on. */
  | { readonly kind: "closed" };

/** A record on its way from a worker. */
export type Sent = readonly [event: AuditEventName, text: string, at: number, controls: readonly string[]];
