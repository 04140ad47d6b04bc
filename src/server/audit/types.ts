/**
 * The audit trail as the node uses it: a chain of signed records, one chain a node. Source: cluster reference, section 9;
 * design decisions, section 4.
 *
 * Appending costs the caller a copy and waits for nothing: canonical form, hash, signature, journal and output are the
 * worker's. A full queue refuses, so that what must be recorded and cannot be is not done.
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

/** Text that events share which differ only in `request`, a member of `data`. */
export interface EventTemplate {
  /** Set by `eventText` from the first of the events; the text before and after the value. */
  parts?: { readonly before: string; readonly after: string };
}

/** Event to record. Never contains a prompt, matched text, credential or header value. */
export interface AuditEvent {
  readonly event: AuditEventName;
  /** Controls of the rule that decided. */
  readonly controls?: readonly string[];
  /** Bounded: texts are cut, so that a record stays within `MAX_RECORD_BYTES`. */
  readonly data: { readonly [name: string]: JsonValue };
  /** Spares making the text again. `request`: the value of that member. */
  readonly prepared?: { readonly template: EventTemplate; readonly request: string } | undefined;
}

/** Record in the trail: one line in RFC 8785 canonical form. */
export interface AuditRecord {
  readonly audit: 1;
  readonly node: string;
  /** RFC 7638 thumbprint of the chain's Ed25519 key. */
  readonly kid: string;
  readonly seq: number;
  /** Hash of the record before, base64url; 32 zero bytes in the first. */
  readonly prev: string;
  /** RFC 3339, UTC, milliseconds. */
  readonly ts: string;
  readonly event: AuditEventName;
  readonly controls: readonly string[];
  readonly data: { readonly [name: string]: JsonValue };
  /** SHA-256 over the domain prefix and the canonical form without `hash`, `sig` and `proof`, base64url. */
  readonly hash: string;
  /** Ed25519, base64url: over the 32 bytes of the hash, or with `proof` over the root of the record's group. */
  readonly sig: string;
  /** For a record that shares its signature: size of the group, index in it, and path to its root (`size.index.path`). */
  readonly proof?: string;
}

export interface AuditHead {
  readonly kid: string;
  readonly seq: number;
  readonly hash: string;
}

/** Room in the queue for one record. Exactly one of its methods is called, once. */
export interface AuditRoom {
  /** Resolves once the record is in the journal on disk; rejects when the trail has failed. */
  record(event: AuditEvent): Promise<void>;
  release(): void;
}

/** Records of other processes, handed to the audit worker by a thread of its own: a busy main thread does not hold them up. */
export interface AuditFeed {
  /** Takes `FedRecords`; for the thread. What was posted before the trail's close is recorded. */
  readonly port: MessagePort;
  /** Memory of the queue, as `openQueue` takes it: room is taken before a record is posted. */
  readonly queue: SharedArrayBuffer;
  /** Counts a record that was posted. */
  recorded(event: AuditEventName): void;
  /** Ends the trail: the thread failed. */
  failed(error: unknown): void;
}

export interface FedRecords {
  /** Canonical texts, as `eventText` gives them. */
  readonly texts: readonly string[];
  /** Time of each event, in milliseconds since the epoch. */
  readonly times: readonly number[];
}

export interface AuditTrail {
  /** Throws `audit_unavailable` when the queue is full or the trail has failed. */
  append(event: AuditEvent): void;
  /** Same as `append`, for a record whose content is known later. */
  reserve(): AuditRoom;
  openFeed(): AuditFeed;
  /**
   * The last emitted records, newest last, of one event where one is named: at most 1,000 that tell of one request each,
   * and 1,000 others.
   */
  recent(limit: number, event?: AuditEventName): readonly AuditRecord[];
  /** Head after the last emitted record. */
  readonly head: AuditHead | undefined;
  /** Resolves with the error that ended the trail; never resolves after `close`. */
  readonly ended: Promise<Error>;
  /** Writes `chain.pause`, empties the queue, has the head witnessed. */
  close(): Promise<void>;
}

export interface AuditOptions {
  readonly nodeId: string;
  /** Directory of `audit.key` and `audit-head`, absolute; undefined: a key of the process's lifetime, and no journal. */
  readonly dir: string | undefined;
  /** File descriptor of the output: 2, but for tests and `gateway dev`. */
  readonly fd: number;
  /** Facts of the process for `chain.start` and `chain.resume`. */
  readonly process: { readonly version: string; readonly pid: number };
  /**
   * The newest head that the cluster has witnessed of this node; asked once, at the start. A new chain names it as its
   * predecessor, and a journal that is behind it, as after a restore, is not gone on from.
   */
  readonly witnessed: () => AuditHead | undefined;
  /**
   * Shows a head to the cluster: every 5 s, every 1,000 records, and at the close. A rejection is counted, and the next
   * one is of a newer head.
   */
  readonly witness: (head: AuditHead, succeeds: AuditHead | null | undefined, signal: AbortSignal) => Promise<void>;
  /**
   * Called with each group of emitted records, in order, after they are out. Without it no record is parsed. After a
   * crash the first ones may be some that an earlier process has emitted too.
   */
  readonly onEmitted?: (records: readonly AuditRecord[]) => void;
}
