/**
 * Ports of the admin plane beyond the cluster's interface. `node/` implements these; each has an in-memory version for tests,
 * and one contract suite tests both.
 */

import type {
  A2aAgentRecord,
  AuditRecord,
  BackendFailure,
  BackendMember,
  BackendRecord,
  BudgetRecord,
  Configuration,
  FileStatus,
  LoginIssuer,
  McpServerRecord,
  ModelRecord,
  NodeStatus,
  ProfileRecord,
  RehearsalResult,
  RowOf,
  SecretRecord,
  SourceChange,
  SourceProblem,
  SourceRecord,
  SourceRevision,
  TableName,
} from "../../admin-api/index.ts";
import type { AuditEventName, Clock, Log } from "../../base/index.ts";
import type { Cluster, WriteOptions } from "../cluster/index.ts";
import type { Rehearsal, RehearsalQuestion } from "../core/guardrails/index.ts";

export interface Ports {
  readonly cluster: Cluster;
  readonly sources: Sources;
  readonly secrets: Secrets;
  readonly facts: NodeFacts;
  readonly backends: Backends;
  readonly governance: GovernanceLists;
  readonly rehearsals: Rehearsals;
  readonly guardrails: Guardrails;
  /** Rows of the lists that the admin plane shows without changes. */
  readonly rows: { readonly [T in ProvidedTable]: RowsOf<T> };
  readonly audit: AuditSink;
  /** Issuers that users can sign in with; empty if no issuer of the admin API has a `login` block. */
  readonly logins: readonly LoginIssuer[];
  readonly clock: Clock;
  /** Resolves once this process has the latest measurements of the node's worker processes, or after a short timeout. */
  readonly catchUp?: (() => Promise<void>) | undefined;
  /** Returns the type of a secret in the text, such as `GITHUB_TOKEN`; `undefined` if none is found. */
  readonly detectSecret: (text: string) => Promise<string | undefined>;
  /** Returns unpredictable bytes from `node:crypto`, except in tests. */
  readonly randomBytes: (length: number) => Uint8Array;
  readonly log: Log;
}

/** Lists whose rows the admin plane itself creates from the state and several ports. */
export type OwnTable =
  | "keys"
  | "profiles"
  | "budgets"
  | "backends"
  | "usage"
  | "models"
  | "mcp_servers"
  | "a2a_agents"
  | "suspensions"
  | "acknowledgements"
  | "secrets"
  | "sources"
  | "cluster_members"
  | "audit_heads";
export type ProvidedTable = Exclude<TableName, OwnTable>;

/** Rows of a list, without the column `node`. */
export interface RowsOf<T extends TableName> {
  /** Returns the current rows in their order. An iterable makes rows lazily, and can be iterated repeatedly. */
  list(): Iterable<Omit<RowOf<T>, "node">> | Promise<Iterable<Omit<RowOf<T>, "node">>>;
  /**
   * Registers a listener for changes of the configuration or state behind the rows, and at most once a second of measurements.
   * Returns a function that removes it.
   */
  onChange(listener: () => void): () => void;
}

/** Rows of a list that are available at once. */
export interface RowArrayOf<T extends TableName> extends RowsOf<T> {
  list(): readonly Omit<RowOf<T>, "node">[];
}

/** Document to write, in its original text (YAML or JSON). */
export interface DocumentWrite {
  readonly name: string;
  readonly document: string;
  /** Revision to replace, 0 for none; `undefined` replaces any. */
  readonly ifRevision: number | undefined;
}

/** Outcome of a write. `refused`: the configuration would not compile with the document, and nothing was changed. */
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
  /** Registers a listener for changes of a source's status. Returns a function that removes it. */
  onStatus(listener: () => void): () => void;
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
  /** Compiles a document and compares it with the one in force. Writes nothing. */
  dryRun(
    change: DocumentWrite & { readonly isRollback?: boolean },
    signal: AbortSignal,
  ): Promise<SourceOutcome<SourceChange>>;
  /** Deletes a source. Resolves with false if there is no such source. */
  delete(name: string, ifRevision: number | undefined, write: WriteOptions): Promise<SourceOutcome<boolean>>;
  config(): Configuration;
  reload(write: WriteOptions): Promise<
    SourceOutcome<{
      readonly applied: boolean;
      readonly revision: number | null;
      readonly file_status: FileStatus;
    }>
  >;
  /** Returns what a reload of the deployment file would change. Writes nothing. */
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
  /** Deletes a secret. Resolves with false if there is no such secret. */
  delete(name: string, write: WriteOptions): Promise<boolean>;
  rewrap(write: WriteOptions): Promise<{ readonly kek: string; readonly data_keys: number }>;
  /**
   * Returns the hex digest of a request that contains a secret value. It is keyed with a key of the cluster, because the log
   * stores it with the idempotency key, and a short value could be guessed from a plain hash.
   */
  requestDigest(request: Uint8Array): string;
}

interface NodeFacts {
  readonly version: string;
  /** Start of the process, in milliseconds since 1970. */
  readonly startedAt: number;
  /** Returns the time since the start by a monotonic clock, in milliseconds. */
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
   * Returns the members of a provider's pool, failing ones first; none without a pool; `undefined` for a provider that is not
   * configured.
   */
  members(name: string): readonly Omit<BackendMember, "node">[] | undefined;
  /** Returns the models in the order in which requests are matched. */
  models(): readonly ModelRecord[];
  /** Returns the servers in the order of the configuration; without suspensions. */
  servers(): readonly Omit<McpServerRecord, "suspended_until" | "node">[];
  agents(): readonly Omit<A2aAgentRecord, "suspended_until" | "node">[];
  /** Registers a listener for changes of the configuration, and at most once a second of measurements. */
  onChange(listener: (what: "configuration" | "measurements") => void): () => void;
}

/** Callers and their budgets, from the running configuration and this node's state. */
export interface GovernanceLists {
  /** Returns the profiles in the order of the configuration; without their keys. */
  profiles(): readonly Omit<ProfileRecord, "keys">[];
  /** Returns the names of issuers whose tokens the data plane accepts. */
  issuers(): readonly string[];
  /** Returns the current buckets; each row is made lazily, with its values at that time. */
  budgets(): Promise<Iterable<BudgetRecord>>;
  /**
   * Registers a listener for changes of the configuration, and at most once a second of spending or grants, or when a window with
   * usage has ended.
   */
  onChange(listener: (what: "configuration" | "measurements") => void): () => void;
}

/** Rehearsals of configuration changes on recent requests of all nodes. */
export interface Rehearsals {
  /** Rehearses a change. Rejects with `busy` if too many rehearsals wait, or with the signal's reason. */
  rehearse(asked: RehearsalInput, signal: AbortSignal): Promise<SourceOutcome<RehearsalResult>>;
  /** Returns records of this node for the member that rehearses: a page of at most a mebibyte as JSON. */
  recordPage(from: number, since: number): Uint8Array;
}

export interface RehearsalInput {
  readonly source: string;
  /** Document to rehearse; `undefined` for the one in force. */
  readonly document: string | undefined;
  readonly sinceMs: number;
}

/** Guardrails of the running configuration. */
export interface Guardrails {
  /** Returns what guardrails would do to texts, which are not stored. Rejects with `busy` if too many rehearsals run. */
  rehearse(question: RehearsalQuestion, signal: AbortSignal): Promise<Rehearsal>;
}

/** Entry that the admin plane writes to the audit trail of the node. */
export interface AuditEntry {
  readonly event: "admin.write" | "access.decision" | "auth.failure";
  readonly data: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
}

export interface AuditSink {
  /** Reserves room for one record, before the recorded action. Throws `audit_unavailable`. */
  reserve(): {
    /** Writes the record. Resolves once it is on disk. */
    record(entry: AuditEntry): Promise<void>;
    release(): void;
  };
  /** Records a failure without waiting; sampled to 10 a second, the rest is counted. Never throws. */
  authFailure(data: AuditEntry["data"]): void;
  /** Returns records, newest last; only those of `event` if it is given. */
  recent(limit: number, event?: AuditEventName): readonly AuditRecord[];
}
