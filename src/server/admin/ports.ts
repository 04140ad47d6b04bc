/**
 * What the admin plane needs beyond the cluster's face. `node/` joins these; each has a twin in memory for tests, and one
 * contract suite over both.
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
  /** Empty where no issuer of the admin API has a `login` block. */
  readonly logins: readonly LoginIssuer[];
  readonly clock: Clock;
  /** Resolves once what other processes of this node have measured is known here, soon in any case. */
  readonly caughtUp?: (() => Promise<void>) | undefined;
  /** The type of a secret that the text holds, such as `GITHUB_TOKEN`; undefined: none is found. */
  readonly secretIn: (text: string) => Promise<string | undefined>;
  /** Unpredictable bytes: that of `node:crypto` but for tests. */
  readonly randomBytes: (length: number) => Uint8Array;
  readonly log: Log;
}

/** A document as it was written, YAML or JSON. */
export interface DocumentWrite {
  readonly name: string;
  readonly document: string;
  /** The revision that is to be replaced, 0 for none; undefined replaces whatever there is. */
  readonly ifRevision: number | undefined;
}

/** `refused`: the whole would not compile with it; nothing was changed. */
export type SourceOutcome<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "refused"; readonly problems: readonly SourceProblem[] };

/**
 * The configuration sources. Writes reject as `Cluster.write` does, with `stale` for a revision that is not the newest,
 * and with `conflict` naming the key `deployment` of the node file where a file is their single writer.
 */
export interface Sources {
  /** As they stand here, in the order of their names; `state` says whether this node serves the newest revision. */
  list(): readonly SourceRecord[];
  /** Called after the standing of a source has changed; returns the way to end it. */
  onStanding(listener: () => void): () => void;
  /** The document of a revision, the newest when it is undefined; undefined where there is none. */
  document(name: string, revision: number | undefined, signal: AbortSignal): Promise<string | undefined>;
  /** Newest first; undefined where there is no such source. */
  revisions(name: string): readonly SourceRevision[] | undefined;
  put(change: DocumentWrite, write: WriteOptions): Promise<SourceOutcome<SourceChange>>;
  /** Writes an earlier revision as the newest; rejects with `not_found` where it is not kept. */
  rollback(
    change: { readonly name: string; readonly to: number; readonly ifRevision: number | undefined },
    write: WriteOptions,
  ): Promise<SourceOutcome<SourceChange>>;
  /** Compiles and compares; writes nothing. */
  dryRun(change: DocumentWrite, signal: AbortSignal): Promise<SourceOutcome<SourceChange>>;
  /** False where there is no such source. */
  delete(name: string, ifRevision: number | undefined, write: WriteOptions): Promise<SourceOutcome<boolean>>;
  config(): Configuration;
  reload(write: WriteOptions): Promise<
    SourceOutcome<{
      readonly applied: boolean;
      readonly revision: number | null;
      readonly file_status: FileStatus;
    }>
  >;
  /** What a reload would change, of the document as it is on disk now; writes nothing. */
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

/** Sealing happens on this node, before a value goes anywhere. */
export interface Secrets {
  /** In the order of their names. */
  list(): readonly SecretRecord[];
  put(name: string, value: string, write: WriteOptions): Promise<SecretRecord>;
  /** False where there is no such secret. */
  delete(name: string, write: WriteOptions): Promise<boolean>;
  rewrap(write: WriteOptions): Promise<{ readonly kek: string; readonly data_keys: number }>;
  /**
   * Hex digest of a request that carries a value, under a key only the cluster knows: it stands in the log beside an
   * idempotency key, and a plain hash of a short value could be guessed.
   */
  requestDigest(request: Uint8Array): string;
}

export interface NodeFacts {
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Milliseconds since then, by a clock that is never set. */
  uptimeMs(): number;
  listeners(): NodeStatus["listeners"];
  /** Whether it can serve; not whether it can write. */
  readiness(): { readonly ready: boolean; readonly reasons: readonly string[] };
  configuration(): NodeStatus["configuration"];
  models(): NonNullable<NodeStatus["models"]>;
  workers(): NonNullable<NodeStatus["workers"]>;
  forwardProxies(): NonNullable<NodeStatus["forward_proxies"]>;
  /** When this node last saw a key used, milliseconds since 1970, to the minute; undefined when it has not. */
  keyLastUsedAt(id: string): number | undefined;
}

/** Providers as this node has met them, and what they serve. */
export interface Backends {
  /** In the order of the configuration; without what suspensions and budgets know. */
  list(): readonly Omit<BackendRecord, "suspended_until" | "node">[];
  /** Newest first; undefined for a provider that is not configured. */
  failures(name: string): readonly Omit<BackendFailure, "node">[] | undefined;
  /** Of its pool, failing ones first; none where it is no pool; undefined for a provider that is not configured. */
  members(name: string): readonly Omit<BackendMember, "node">[] | undefined;
  /** In the order in which requests are matched. */
  models(): readonly ModelRecord[];
  /** In the order of the configuration; without what suspensions know. */
  servers(): readonly Omit<McpServerRecord, "suspended_until" | "node">[];
  agents(): readonly Omit<A2aAgentRecord, "suspended_until" | "node">[];
  /** Called when the configuration has changed, and at most once a second when measurements have. */
  onChange(listener: (what: "configuration" | "measurements") => void): () => void;
}

/** Who may call and what they may spend, as the running configuration says and as this node knows. */
export interface Governed {
  /** In the order of the configuration; without what the keys know. */
  profiles(): readonly Omit<ProfileRecord, "keys">[];
  /** Issuers whose tokens the data plane accepts, by name. */
  issuers(): readonly string[];
  /** The buckets there are now; rows are made one by one as they are wanted, each as it stands then. */
  budgets(): Promise<Iterable<BudgetRecord>>;
  /**
   * Called when the configuration has changed, and at most once a second when what is spent or granted has, or a window
   * has ended in which something was.
   */
  onChange(listener: (what: "configuration" | "measurements") => void): () => void;
}

/** What this node refused in the last hour. */
export interface Refusals {
  list(): readonly Omit<RefusalRecord, "node">[];
  /** Called when the list may be another, at most once a second. Returns the way to end it. */
  onChange(listener: () => void): () => void;
}

/** The last requests of this node. */
export interface Requests {
  /** Newest first, as they stand now; each is put into words as it is taken. May be gone through again and again. */
  list(): Iterable<Omit<RequestRecord, "node">>;
  /** Called when the list is another, at most once a second. Returns the way to end it. */
  onChange(listener: () => void): () => void;
}

/** Changes of the configuration, judged by the requests that all nodes served lately. */
export interface Rehearsals {
  /** Rejects with `busy` where too many wait, and with the signal's reason. */
  rehearse(asked: RehearsalAsked, signal: AbortSignal): Promise<SourceOutcome<RehearsalResult>>;
  /** Records of this node, for the member that rehearses: a page of at most a mebibyte as JSON. */
  page(from: number, since: number): Uint8Array;
}

export interface RehearsalAsked {
  readonly source: string;
  /** `undefined`: what is in force. */
  readonly document: string | undefined;
  readonly sinceMs: number;
}

/** What this node measured in the last quarter of an hour. */
export interface History {
  /** By series, each oldest first. */
  list(): readonly Omit<HistoryRecord, "node">[];
  /** Called when a bucket is over. Returns the way to end it. */
  onChange(listener: () => void): () => void;
}

/** Metered usage against the providers' reports, as the replicated ledger has it. */
export interface Reconciled {
  /** In the order of the providers' names. */
  providers(): readonly ReconcileRecord[];
  /** Newest day first, then by provider and class. */
  verdicts(): readonly ReconcileVerdictRecord[];
  /** Returns the way to end it. */
  onChange(listener: () => void): () => void;
}

/** Detectors and rules of the running configuration. */
export interface Guardrails {
  /** Detectors, then rules, in the order of the document, with what this node counted of them. */
  list(): readonly Omit<GuardrailRecord, "node">[];
  /** What would become of texts; nothing of them is kept. Rejects with `busy` where too many are tried at once. */
  rehearse(question: RehearsalQuestion, signal: AbortSignal): Promise<Rehearsal>;
  /** Called when the configuration has changed, and at most once a second when counts have. Returns the way to end it. */
  onChange(listener: () => void): () => void;
}

/** Files of models in the cache of this node, or to come there. */
export interface Artifacts {
  /** Those that the newest configuration needs, in its order, then what nothing needs. Looks at the disk. */
  list(): Promise<readonly Omit<ArtifactRecord, "node">[]>;
  /** Called when the configuration has changed, a model has come or failed, and at most once a second while one comes. */
  onChange(listener: () => void): () => void;
}

/** Of the front door; none where it serves plain HTTP. */
export interface Certificates {
  list(): readonly Omit<CertificateRecord, "node">[];
  /** Called after a change; returns the way to end it. */
  onChange(listener: () => void): () => void;
}

/** Controls that rules of the running configuration carry, or have carried in the last 24 hours. */
export interface Controls {
  /** By identifier. */
  list(): Promise<readonly Omit<ControlRecord, "node">[]>;
  /** Called when the configuration has changed, and at most once a second when counts have. Returns the way to end it. */
  onChange(listener: () => void): () => void;
}

/** What the admin plane records; the audit trail of the node. */
export interface AuditEntry {
  readonly event: "admin.write" | "access.decision" | "auth.failure";
  readonly data: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
}

export interface AuditSink {
  /** Room for one record, before what it will tell of is done. Throws `audit_unavailable`. */
  reserve(): {
    /** Resolves once the record is on disk. */
    record(entry: AuditEntry): Promise<void>;
    release(): void;
  };
  /** Of what need not be waited for; sampled to 10 a second, the rest is counted. Never throws. */
  authFailure(data: AuditEntry["data"]): void;
  /** Newest last; of one event where one is named. */
  recent(limit: number, event?: AuditEventName): readonly AuditRecord[];
}
