/**
 * Ports of the admin plane beyond the cluster's interface. `node/` implements these; each has an in-memory version for tests,
 * and one contract suite tests both.
 */

import type {
  A2aAgentRecord,
  ArtifactRecord,
  AuditEventName,
  AuditRecord,
  BackendFailure,
  BackendMember,
  BackendRecord,
  BudgetRecord,
  CertificateRecord,
  Configuration,
  ControlRecord,
  FileStatus,
  GuardrailRecord,
  HistoryRecord,
  LoginIssuer,
  McpServerRecord,
  ModelRecord,
  NodeStatus,
  ProfileRecord,
  ReconcileRecord,
  ReconcileVerdictRecord,
  RefusalRecord,
  RehearsalResult,
  RequestRecord,
  SecretRecord,
  SourceChange,
  SourceProblem,
  SourceRecord,
  SourceRevision,
} from "../../admin-api/index.ts";
import type { Clock, Log } from "../../base/index.ts";
import type { Cluster, WriteOptions } from "../cluster/index.ts";
import type { Rehearsal, RehearsalQuestion } from "../core/guardrails/index.ts";

export interface Ports {
  readonly cluster: Cluster;
  readonly sources: Sources;
  readonly secrets: Secrets;
  readonly facts: NodeFacts;
  readonly backends: Backends;
  readonly governed: Governed;
  readonly refusals: Refusals;
  readonly requests: Requests;
  readonly rehearsals: Rehearsals;
  readonly history: History;
  readonly reconciled: Reconciled;
  readonly guardrails: Guardrails;
  readonly controls: Controls;
  readonly artifacts: Artifacts;
  readonly certificates: Certificates;
  readonly audit: AuditSink;
  /** Empty if no issuer of the admin API has a `login` block. */
  readonly logins: readonly LoginIssuer[];
  readonly clock: Clock;
  /** Resolves once this process knows what the node's other processes have measured, or soon in any case. */
  readonly caughtUp?: (() => Promise<void>) | undefined;
  /** Returns the type of a secret in the text, such as `GITHUB_TOKEN`; `undefined` if none is found. */
  readonly secretIn: (text: string) => Promise<string | undefined>;
  /** Returns unpredictable bytes from `node:crypto`, except in tests. */
  readonly randomBytes: (length: number) => Uint8Array;
  readonly log: Log;
}

/** A document in its original text, YAML or JSON. */
export interface DocumentWrite {
  readonly name: string;
  readonly document: string;
  /** Revision to replace, 0 for none; `undefined` replaces any. */
  readonly ifRevision: number | undefined;
}

/** `refused` means that the whole would not compile with it; nothing was changed. */
export type SourceOutcome<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "refused"; readonly problems: readonly SourceProblem[] };

/**
 * Configuration sources. Writes reject as `Cluster.write` does, with `stale` for a revision that is not the newest, and with
 * `conflict` naming the key `deployment` of the node file if a file is their single writer.
 */
export interface Sources {
  /** Returns the sources in the order of their names; `state` shows whether this node serves the newest revision. */
  list(): readonly SourceRecord[];
  /** Called after the status of a source has changed; returns a function that removes the listener. */
  onStanding(listener: () => void): () => void;
  /** Returns the document of a revision, the newest if it is `undefined`; `undefined` if there is none. */
  document(name: string, revision: number | undefined, signal: AbortSignal): Promise<string | undefined>;
  /** Returns the revisions, newest first; `undefined` if there is no such source. */
  revisions(name: string): readonly SourceRevision[] | undefined;
  put(change: DocumentWrite, write: WriteOptions): Promise<SourceOutcome<SourceChange>>;
  /** Writes an earlier revision as the newest; rejects with `not_found` if it is not kept. */
  rollback(
    change: { readonly name: string; readonly to: number; readonly ifRevision: number | undefined },
    write: WriteOptions,
  ): Promise<SourceOutcome<SourceChange>>;
  /** Compiles and compares; writes nothing. */
  dryRun(change: DocumentWrite, signal: AbortSignal): Promise<SourceOutcome<SourceChange>>;
  /** Resolves with false if there is no such source. */
  delete(name: string, ifRevision: number | undefined, write: WriteOptions): Promise<SourceOutcome<boolean>>;
  config(): Configuration;
  reload(write: WriteOptions): Promise<
    SourceOutcome<{
      readonly applied: boolean;
      readonly revision: number | null;
      readonly file_status: FileStatus;
    }>
  >;
  /** Returns what a reload of the document now on disk would change; writes nothing. */
  tryReload(signal: AbortSignal): Promise<
    SourceOutcome<{
      readonly applied: false;
      readonly revision: number | null;
      readonly file_status: FileStatus;
      readonly differences: SourceChange["differences"];
      readonly warnings: SourceChange["warnings"];
    }>
  >;
}

/** Sealed secrets. Values are sealed on this node before they are sent anywhere. */
export interface Secrets {
  /** Returns the secrets in the order of their names. */
  list(): readonly SecretRecord[];
  put(name: string, value: string, write: WriteOptions): Promise<SecretRecord>;
  /** Resolves with false if there is no such secret. */
  delete(name: string, write: WriteOptions): Promise<boolean>;
  rewrap(write: WriteOptions): Promise<{ readonly kek: string; readonly data_keys: number }>;
  /**
   * Returns the hex digest of a request with a value, under a key only the cluster knows: it is in the log beside an
   * idempotency key, and a plain hash of a short value could be guessed.
   */
  requestDigest(request: Uint8Array): string;
}

export interface NodeFacts {
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Returns milliseconds since then, by a monotonic clock. */
  uptimeMs(): number;
  listeners(): NodeStatus["listeners"];
  /** Returns whether the node can serve; not whether it can write. */
  readiness(): { readonly ready: boolean; readonly reasons: readonly string[] };
  configuration(): NodeStatus["configuration"];
  models(): NonNullable<NodeStatus["models"]>;
  workers(): NonNullable<NodeStatus["workers"]>;
  forwardProxies(): NonNullable<NodeStatus["forward_proxies"]>;
  /** Returns when this node last saw a key used, in milliseconds since 1970, to the minute; `undefined` if it has not. */
  keyLastUsedAt(id: string): number | undefined;
}

/** Providers as this node has measured them, and their models. */
export interface Backends {
  /** Returns the providers in the order of the configuration; without suspensions and budgets. */
  list(): readonly Omit<BackendRecord, "suspended_until" | "node">[];
  /** Returns the failures, newest first; `undefined` for a provider that is not configured. */
  failures(name: string): readonly Omit<BackendFailure, "node">[] | undefined;
  /**
   * Returns the members of its pool, failing ones first; empty without a pool; `undefined` for a provider that is not
   * configured.
   */
  members(name: string): readonly Omit<BackendMember, "node">[] | undefined;
  /** Returns the models in the order in which requests are matched. */
  models(): readonly ModelRecord[];
  /** Returns the servers in the order of the configuration; without suspensions. */
  servers(): readonly Omit<McpServerRecord, "suspended_until" | "node">[];
  agents(): readonly Omit<A2aAgentRecord, "suspended_until" | "node">[];
  /** Called when the configuration has changed, and at most once a second when measurements have. */
  onChange(listener: (what: "configuration" | "measurements") => void): () => void;
}

/** Callers and their budgets, from the running configuration and this node's state. */
export interface Governed {
  /** Returns the profiles in the order of the configuration; without their keys. */
  profiles(): readonly Omit<ProfileRecord, "keys">[];
  /** Returns the names of issuers whose tokens the data plane accepts. */
  issuers(): readonly string[];
  /** Returns the current buckets; each row is made lazily, with its values at that time. */
  budgets(): Promise<Iterable<BudgetRecord>>;
  /**
   * Called when the configuration has changed, and at most once a second when spending or grants have, or when a window with
   * usage has ended.
   */
  onChange(listener: (what: "configuration" | "measurements") => void): () => void;
}

/** Refusals of this node in the last hour. */
export interface Refusals {
  list(): readonly Omit<RefusalRecord, "node">[];
  /** Called when the list may have changed, at most once a second. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** Last requests of this node. */
export interface Requests {
  /** Returns the current requests, newest first; each record is made as it is taken. Can be iterated repeatedly. */
  list(): Iterable<Omit<RequestRecord, "node">>;
  /** Called when the list has changed, at most once a second. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** Rehearsals: changes of the configuration, judged by recent requests of all nodes. */
export interface Rehearsals {
  /** Rejects with `busy` if too many wait, and with the signal's reason. */
  rehearse(asked: RehearsalAsked, signal: AbortSignal): Promise<SourceOutcome<RehearsalResult>>;
  /** Returns records of this node for the member that rehearses: a page of at most a mebibyte as JSON. */
  page(from: number, since: number): Uint8Array;
}

export interface RehearsalAsked {
  readonly source: string;
  /** `undefined` for the document in force. */
  readonly document: string | undefined;
  readonly sinceMs: number;
}

/** Measurements of this node in the last quarter of an hour. */
export interface History {
  /** Returns the series, each oldest first. */
  list(): readonly Omit<HistoryRecord, "node">[];
  /** Called when a bucket is complete. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** Metered usage compared with the providers' reports, from the replicated ledger. */
export interface Reconciled {
  /** Returns the providers in the order of their names. */
  providers(): readonly ReconcileRecord[];
  /** Returns the verdicts, newest day first, then by provider and class. */
  verdicts(): readonly ReconcileVerdictRecord[];
  /** Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** Detectors and rules of the running configuration. */
export interface Guardrails {
  /** Returns detectors, then rules, in the order of the document, with this node's counts. */
  list(): readonly Omit<GuardrailRecord, "node">[];
  /** Returns what would happen to texts; nothing of them is stored. Rejects with `busy` if too many rehearsals run. */
  rehearse(question: RehearsalQuestion, signal: AbortSignal): Promise<Rehearsal>;
  /**
   * Called when the configuration has changed, and at most once a second when counts have. Returns a function that removes the
   * listener.
   */
  onChange(listener: () => void): () => void;
}

/** Model files in the cache of this node, and those to be fetched. */
export interface Artifacts {
  /** Returns the models that the newest configuration needs, in its order, then the unused files. Reads the disk. */
  list(): Promise<readonly Omit<ArtifactRecord, "node">[]>;
  /** Called when the configuration has changed, a model has come or failed, and at most once a second while one comes. */
  onChange(listener: () => void): () => void;
}

/** Certificates of the data listener; none if it serves plain HTTP. */
export interface Certificates {
  list(): readonly Omit<CertificateRecord, "node">[];
  /** Called after a change; returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** Controls that rules of the running configuration cite, or have cited in the last 24 hours. */
export interface Controls {
  /** Returns the controls ordered by identifier. */
  list(): Promise<readonly Omit<ControlRecord, "node">[]>;
  /**
   * Called when the configuration has changed, and at most once a second when counts have. Returns a function that removes the
   * listener.
   */
  onChange(listener: () => void): () => void;
}

/** Entry that the admin plane writes to the audit trail of the node. */
export interface AuditEntry {
  readonly event: "admin.write" | "access.decision" | "auth.failure";
  readonly data: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
}

export interface AuditSink {
  /** Reserves room for one record, before the recorded action. Throws `audit_unavailable`. */
  reserve(): {
    /** Resolves once the record is on disk. */
    record(entry: AuditEntry): Promise<void>;
    release(): void;
  };
  /** Records a failure without waiting; sampled to 10 a second, the rest is counted. Never throws. */
  authFailure(data: AuditEntry["data"]): void;
  /** Returns records, newest last; only those of `event` if it is given. */
  recent(limit: number, event?: AuditEventName): readonly AuditRecord[];
}
