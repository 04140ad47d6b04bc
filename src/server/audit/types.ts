/**
 * Interface of the audit trail: a chain of signed records for each node. Source: cluster reference, section 9; design
 * decisions, section 4.
 *
 * Appending costs the caller a copy and waits for nothing: the worker computes canonical form, hash and signature, and
 * writes journal and output. If the queue is full, `append` throws, so that an action that must be recorded and cannot
 * be is refused.
 */

import type { MessagePort } from "node:worker_threads";
import type { AuditEventName } from "../../base/index.ts";

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** Text shared by events that differ only in `request`, a member of `data`. */
export interface EventTemplate {
  /** Text before and after the value. `eventText` sets it from the first event. */
  parts?: { readonly before: string; readonly after: string };
}

/** Event to record. Never contains a prompt, matched text, credential or header value. */
export interface AuditEvent {
  readonly event: AuditEventName;
  /** Controls of the rule that decided. */
  readonly controls?: readonly string[];
  /** Data of the event. Texts are cut so that a record stays within `MAX_RECORD_BYTES`. */
  readonly data: { readonly [name: string]: JsonValue };
  /** Template that saves computing the text again. `request`: value of that member. */
  readonly prepared?: { readonly template: EventTemplate; readonly request: string } | undefined;
}

/** Record in the trail: one line in RFC 8785 canonical form. */
export interface AuditRecord {
  readonly audit: 1;
  readonly node: string;
  /** Thumbprint of the chain's Ed25519 key (RFC 7638). */
  readonly kid: string;
  readonly seq: number;
  /** Hash of the previous record, base64url; 32 zero bytes in the first. */
  readonly prev: string;
  /** Time in RFC 3339, UTC, with milliseconds. */
  readonly ts: string;
  readonly event: AuditEventName;
  readonly controls: readonly string[];
  readonly data: { readonly [name: string]: JsonValue };
  /** SHA-256 over the domain prefix and the canonical form without `hash`, `sig` and `proof`, base64url. */
  readonly hash: string;
  /** Ed25519 signature, base64url: over the 32 bytes of the hash, or with `proof` over the root of the record's group. */
  readonly sig: string;
  /**
   * Proof of a record that shares its signature: size of the group, index in it, and path to its root
   * (`size.index.path`).
   */
  readonly proof?: string;
}

export interface AuditHead {
  readonly kid: string;
  readonly seq: number;
  readonly hash: string;
}

/** Space in the queue for one record. Call exactly one of its methods, once. */
export interface AuditReservation {
  /** Records the event. Resolves once the record is in the journal on disk; rejects if the trail has failed. */
  record(event: AuditEvent): Promise<void>;
  release(): void;
}

/**
 * Port through which another thread hands records of other processes to the audit worker, so that a busy main thread
 * does not delay them.
 */
export interface AuditFeed {
  /** Port for the thread, which accepts `FedRecords`. Whatever was posted before the trail's close is recorded. */
  readonly port: MessagePort;
  /** Memory of the queue for `openQueue`. The thread must reserve space before it posts a record. */
  readonly queue: SharedArrayBuffer;
  /** Counts a record that was posted. */
  countRecord(event: AuditEventName): void;
  /** Ends the trail because the thread failed. */
  fail(error: unknown): void;
}

export interface FedRecords {
  /** Canonical texts from `eventText`. */
  readonly texts: readonly string[];
  /** Time of each event, in milliseconds since 1970. */
  readonly times: readonly number[];
}

export interface AuditTrail {
  /** Appends an event. Throws `audit_unavailable` if the queue is full or the trail has failed. */
  append(event: AuditEvent): void;
  /** Reserves space for a record whose content is known later. Throws like `append`. */
  reserve(): AuditReservation;
  openFeed(): AuditFeed;
  /**
   * Returns the last emitted records, newest last; with `event`, only those of that event. Keeps 1,000 records about
   * single requests, and 1,000 others.
   */
  recent(limit: number, event?: AuditEventName): readonly AuditRecord[];
  /** Head after the last emitted record. */
  readonly head: AuditHead | undefined;
  /** Resolves with the error that ended the trail; never resolves after `close`. */
  readonly ended: Promise<Error>;
  /** Writes `chain.pause`, empties the queue, and shows the last head to the cluster. */
  close(): Promise<void>;
}

export interface AuditOptions {
  readonly nodeId: string;
  /**
   * Absolute path of the directory of `audit.key` and `audit-head`. If `undefined`, the key lasts as long as the
   * process, and there is no journal.
   */
  readonly dir: string | undefined;
  /** File descriptor of the output: 2, except for tests and `gateway dev`. */
  readonly fd: number;
  /** Data of the process for `chain.start` and `chain.resume`. */
  readonly process: { readonly version: string; readonly pid: number };
  /**
   * Returns the newest head that the cluster has witnessed of this node; called once, at the start. A new chain names
   * it as its predecessor. A journal that is behind it, as after a restore, is not continued.
   */
  readonly witnessed: () => AuditHead | undefined;
  /**
   * Shows a head to the cluster: every 5 s, every 1,000 records, and at the close. A rejection is counted, and the next
   * call has a newer head.
   */
  readonly witness: (head: AuditHead, succeeds: AuditHead | null | undefined, signal: AbortSignal) => Promise<void>;
  /**
   * Called with each group of records, in order, after they were emitted. Records are parsed only if it is set. After a
   * crash the first ones may have been emitted by an earlier process too.
   */
  readonly onEmitted?: (records: readonly AuditRecord[]) => void;
}
