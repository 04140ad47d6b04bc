/**
 * What the console reads, and how it stands. A view names its needs; the watch keeps each with one blocking read while it
 * is on the screen (design decisions, section 3), and what the store holds of it is a `Reading`.
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

/** Reads whose answer is kept up to date. Lists hold their items. */
export type Readable = { readonly [T in TableName as `list_${T}`]: readonly RowOf<T>[] } & {
  readonly get_status: NodeStatus;
  readonly get_whoami: OperationAnswer<"get_whoami">;
  readonly get_config: Configuration;
  readonly list_query_tables: QueryTables["items"];
  readonly list_audit_records: readonly AuditRecord[];
  /** Of the provider `name`. */
  readonly list_backend_errors: readonly BackendFailure[];
  /** Of the provider `name`. */
  readonly list_backend_members: readonly BackendMember[];
  /** Of the source `name`. */
  readonly list_source_revisions: readonly SourceRevision[];
  /** Packs and what a document holds of each; `name` is the subject of the view. Worked out on this machine. */
  readonly packs: PackShelf;
  /** What adding a pack comes to; `name` by `namedOf`. */
  readonly pack_trial: PackTrial;
  /** What writing a `score_threshold` comes to; `name` by `namedOf`. */
  readonly threshold_trial: Trial;
  /** Series of the metrics address given; never an operation of the admin API. */
  readonly metrics: Metrics;
};

export type ReadableId = keyof Readable;

/** One thing to read: an operation and its path parameters. */
export interface Need<Id extends ReadableId = ReadableId> {
  readonly id: Id;
  /** The `name` of its path; undefined for a read without one. */
  readonly name?: string;
}

/** Two needs of one key are one read. */
export const keyOf = ({ id, name }: Need): string => (name === undefined ? id : `${id}:${name}`);

/** What went wrong, in words that may be shown. */
export interface Failure {
  /** Of the answer; 0: there was none. */
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** What an answer about every node leaves out, by the ids of the nodes. */
export interface Gaps {
  /** Gave no answer in time. */
  readonly unanswered: readonly string[];
  /** Had more than an answer takes. */
  readonly cut: readonly string[];
  /** The node asked is of an earlier version, and told of itself alone. */
  readonly isOfOne?: boolean;
}

export interface Reading<T> {
  /** The last good answer; undefined until there was one. It stays through failures. */
  readonly value: T | undefined;
  /** Of `value`; undefined: nothing is left out of it. */
  readonly gaps?: Gaps | undefined;
  /** When `value` was last known to be what the gateway has; milliseconds since 1970. */
  readonly freshAt: number | undefined;
  /** Since when it is asked for; milliseconds since 1970. */
  readonly askedAt: number;
  /** What the newest read failed with; undefined once one succeeded. A `forbidden` is not asked again until `r`. */
  readonly failure: Failure | undefined;
  /** Of what this machine works out: how far it is, in one line; undefined: nothing is under way. */
  readonly progress?: string | undefined;
}

/** Readings by `keyOf`. Replaced whole with each change; a reading that did not change is the same object. */
export interface Data {
  get<Id extends ReadableId>(need: Need<Id>): Reading<Readable[Id]> | undefined;
}

/** Rows of a list, none while it is not known. */
export function rowsOf<T extends TableName>(data: Data, table: T): readonly RowOf<T>[] {
  const reading = data.get({ id: `list_${table}` as ReadableId });
  return (reading?.value ?? []) as readonly RowOf<T>[];
}

/** What a Prometheus text page came to, over the last scrapes. */
export interface Metrics {
  /** Every `SCRAPE_MS`, oldest first, at most `KEPT_POINTS`: a second's rate, or a value; null: no scrape. */
  readonly requests: readonly (number | null)[];
  readonly errors: readonly (number | null)[];
  readonly inFlight: readonly (number | null)[];
  /** Milliseconds that the gateway itself added, of the newest interval; null: no request in it. */
  readonly overhead: { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null };
}

export const SCRAPE_MS = 2_000;
export const KEPT_POINTS = 60;
