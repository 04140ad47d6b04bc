/**
 * Data that the console reads, with its freshness. A view names its needs; while the view is on the screen, the watch keeps
 * each one up to date with one blocking read (design decisions, section 3). The store keeps the result as a `Reading`.
 */

import type {
  AuditRecord,
  BackendFailure,
  BackendMember,
  Configuration,
  NodeStatus,
  OperationAnswer,
  QueryTables,
  RowOf,
  SourceRevision,
  TableName,
} from "../../admin-api/index.ts";
import type { PackShelf, PackTrial, Trial } from "./documents.ts";

/** Reads whose answer is kept up to date. A list holds its items. */
export type Readable = { readonly [T in TableName as `list_${T}`]: readonly RowOf<T>[] } & {
  readonly get_status: NodeStatus;
  readonly get_whoami: OperationAnswer<"get_whoami">;
  readonly get_config: Configuration;
  readonly list_query_tables: QueryTables["items"];
  readonly list_audit_records: readonly AuditRecord[];
  /** Errors of the provider `name`. */
  readonly list_backend_errors: readonly BackendFailure[];
  /** Members of the provider `name`. */
  readonly list_backend_members: readonly BackendMember[];
  /** Revisions of the source `name`. */
  readonly list_source_revisions: readonly SourceRevision[];
  /** Available packs and what a document contains of each; `name` is the subject of the view. Computed on this machine. */
  readonly packs: PackShelf;
  /** Result of adding a pack; `name` is built by `namedOf`. */
  readonly pack_trial: PackTrial;
  /** Result of writing a `score_threshold`; `name` is built by `namedOf`. */
  readonly threshold_trial: Trial;
  /** Series of the configured metrics address; not an operation of the admin API. */
  readonly metrics: Metrics;
};

export type ReadableId = keyof Readable;

/** One read: an operation and its path parameter. */
export interface Need<Id extends ReadableId = ReadableId> {
  readonly id: Id;
  /** Path parameter `name`; `undefined` for a read without one. */
  readonly name?: string;
}

/** Returns the key of a read. Two needs with the same key share one read. */
export const keyOf = ({ id, name }: Need): string => (name === undefined ? id : `${id}:${name}`);

/** Error of a read. The message is safe to show. */
export interface Failure {
  /** Status of the answer; 0 if there was none. */
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Time in milliseconds since 1970. */
  readonly at: number;
}

/** Nodes that are missing from an answer about every node, by id. */
export interface Gaps {
  /** Nodes that did not answer in time. */
  readonly unanswered: readonly string[];
  /** Nodes with more rows than an answer can carry. */
  readonly cut: readonly string[];
  /** True if the queried node runs an earlier version and answered for itself only. */
  readonly isOfOne?: boolean;
}

export interface Reading<T> {
  /** Last good answer; `undefined` until there was one. Failures do not clear it. */
  readonly value: T | undefined;
  /** Nodes missing from `value`; `undefined` if it is complete. */
  readonly gaps?: Gaps | undefined;
  /** Time at which `value` was last known to be current, in milliseconds since 1970. */
  readonly freshAt: number | undefined;
  /** Time of the first request, in milliseconds since 1970. */
  readonly requestedAt: number;
  /**
   * Error of the newest read; `undefined` once one succeeded. After `forbidden`, the console reads again only when the operator
   * presses `r`.
   */
  readonly failure: Failure | undefined;
  /** Progress of a local computation, in one line; `undefined` if none is running. */
  readonly progress?: string | undefined;
}

/** Readings by `keyOf`. Immutable: each change makes a new object, and an unchanged reading stays the same object. */
export interface Data {
  get<Id extends ReadableId>(need: Need<Id>): Reading<Readable[Id]> | undefined;
}

/** Returns the rows of a list; empty until the list is known. */
export function rowsOf<T extends TableName>(data: Data, table: T): readonly RowOf<T>[] {
  const reading = data.get({ id: `list_${table}` as ReadableId });
  return (reading?.value ?? []) as readonly RowOf<T>[];
}

/** Values derived from the last scrapes of a Prometheus text page. */
export interface Metrics {
  /**
   * One point per `SCRAPE_MS`, oldest first, at most `KEPT_POINTS`: a rate per second or a value; null if the scrape is
   * missing.
   */
  readonly requests: readonly (number | null)[];
  readonly errors: readonly (number | null)[];
  readonly inFlight: readonly (number | null)[];
  /** Latency that the gateway itself added in the newest interval, in milliseconds; null if it had no request. */
  readonly overhead: { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null };
}

export const SCRAPE_MS = 2_000;
export const KEPT_POINTS = 60;
